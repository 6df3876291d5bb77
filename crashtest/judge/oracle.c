/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery and check of a workload on a crash state. See oracle.h. */
#include <check/check.h>

#include "../states/image.h"
#include "core/bounds.h"
#include "oracle.h"

enum { REPEAT_EVERY = 16, INTERRUPT_EVERY = 4 };

/* ---- One pool ------------------------------------------------------------------------------------------ */

/* Adds the work of a recovery to noted, unless that is NULL. */
static void note(struct ct_recoveries *noted, const struct nvw_pool *first, const struct nvw_recovery *report)
{
	struct ct_recoveries done = {.epochs_open = report->epochs_rolled_back,
		.entries_read = report->entries_read,
		.words_restored = report->words_restored};
	const struct nvw_pool *pool;

	if (!noted) {
		return;
	}
	for (unsigned i = 0; (pool = nvw_pool_number(first, i)); i++) {
		done.words_written += nvw_pool_words_written(pool);
	}
	ct_recoveries_join(noted, &done);
}

/* Its work is noted in noted, unless that is NULL. */
static int recover(const struct ct_oracle *o, struct nvw_pool *pool, struct ct_recoveries *noted,
	volatile uint32_t *phase)
{
	struct nvw_recovery report = {0};

	*phase = CT_PHASE_RECOVER;
	NVW_TRY(nvw_recover(pool, &report));
	if (o->workload->recover) {
		*phase = CT_PHASE_STRUCTURE;
		NVW_TRY(o->workload->recover(pool, &report));
	}
	note(noted, pool, &report);
	return 0;
}

static int refused(const char *what, struct nvw_findings *findings)
{
	return nvw_violation(findings, 0, "%s: %s", what, nvw_error_message());
}

static int check(const struct ct_oracle *o, struct nvw_pool *pool, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	*phase = CT_PHASE_CHECK;
	const uint64_t before = findings->count;
	const int error = o->workload->check(o->plan, pool, acks, findings);

	if (findings->count > before) {
		return NVW_E_INCONSISTENT;
	}
	if (error == NVW_E_INCONSISTENT) {
		return nvw_violation(findings, 0, "the check found an inconsistency but gave no description");
	}
	return error ? refused("the check gives up", findings) : 0;
}

int ct_oracle_judge_pool(const struct ct_oracle *o, struct nvw_pool *pool, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	if (recover(o, pool, NULL, phase)) {
		return refused("recovery refuses the pool", findings);
	}
	return check(o, pool, acks, findings, phase);
}

/* ---- An image ------------------------------------------------------------------------------------------ */

/* Counts recovery's writes, and stops it at one of them. */
struct tap {
	struct ct_image *image;
	uint64_t writes, stop;       /* UINT64_MAX: never */
	struct ct_recoveries *noted; /* NULL: not noted */
};

static int tapped_write(void *context, nvw_off off, const void *from, size_t n)
{
	struct tap *tap = context;

	NVW_FAIL_IF(tap->writes == tap->stop, NVW_E_STOPPED, "the power failed again");
	tap->writes++;
	return ct_image_write(tap->image, off, from, n);
}

static int open_image(struct tap *tap, struct nvw_pool **ret_pool)
{
	const struct nvw_pool_image image = {
		.image = tap->image->ro,
		.bytes = tap->image->bytes,
		.write = tapped_write,
		.context = tap,
		.reads = tap->image->reads,
	};

	return nvw_pool_open_image(&image, ret_pool);
}

static int judge_once(const struct ct_oracle *o, struct tap *tap, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	struct nvw_pool *pool;

	*phase = CT_PHASE_OPEN;
	if (open_image(tap, &pool)) {
		return refused("the pool does not open", findings);
	}
	const int verdict = recover(o, pool, tap->noted, phase) ?
				    refused("recovery refuses the pool", findings) :
				    check(o, pool, acks, findings, phase);

	nvw_pool_close(pool);
	return verdict;
}

/* Checks that recovery of a recovered pool writes nothing. */
static int judge_repeated(const struct ct_oracle *o, struct ct_image *image, struct nvw_findings *findings,
	volatile uint32_t *phase)
{
	struct tap tap = {.image = image, .stop = UINT64_MAX};
	struct nvw_pool *pool;

	if (open_image(&tap, &pool)) {
		return refused("the recovered pool does not open", findings);
	}
	const int error = recover(o, pool, NULL, phase);

	nvw_pool_close(pool);
	if (error) {
		return refused("recovery refuses the recovered pool", findings);
	}
	if (tap.writes > 0) {
		return nvw_violation(findings, 0,
			"recovery is not idempotent: run on a recovered pool, it writes %llu words",
			(unsigned long long)tap.writes);
	}
	return 0;
}

/* Recovers the state; stop as in struct tap. Returns recovery's result. */
static int recover_image(const struct ct_oracle *o, struct tap *tap, volatile uint32_t *phase)
{
	struct nvw_pool *pool;

	NVW_TRY(open_image(tap, &pool));
	const int error = recover(o, pool, NULL, phase);

	nvw_pool_close(pool);
	return error;
}

/* Stops recovery at write number stop, restarts it, checks. */
static int judge_interrupted(const struct ct_oracle *o, struct ct_image *image, const struct nvw_acks *acks,
	uint64_t stop, struct nvw_findings *findings, volatile uint32_t *phase)
{
	struct tap tap = {.image = image, .stop = stop};

	if (!recover_image(o, &tap, phase)) {
		return 0;
	}
	tap.stop = UINT64_MAX;
	if (!judge_once(o, &tap, acks, findings, phase)) {
		return 0;
	}
	return nvw_violation(
		findings, 0, "after a second crash, at write %llu of recovery", (unsigned long long)stop + 1);
}

/* A crash before each write of recovery. The image has the state before and after this call. */
static int judge_nested(const struct ct_oracle *o, struct ct_image *image, struct nvw_findings *findings,
	volatile uint32_t *phase)
{
	const uint64_t state = image->undo_count;
	struct tap whole = {.image = image, .stop = UINT64_MAX};
	int verdict = recover_image(o, &whole, phase) ? refused("recovery refuses the pool", findings) : 0;
	const uint64_t wanted = image->hash;

	ct_image_undo(image, state);
	for (uint64_t stop = 0; stop < whole.writes && !verdict; stop++) {
		struct tap tap = {.image = image, .stop = stop};

		recover_image(o, &tap, phase); /* ends in NVW_E_STOPPED */
		tap.stop = UINT64_MAX;
		if (recover_image(o, &tap, phase)) {
			verdict = nvw_violation(findings, 0,
				"recovery fails after a second crash, before its write %llu: %s",
				(unsigned long long)stop + 1, nvw_error_message());
		} else if (image->hash != wanted) {
			verdict = nvw_violation(findings, 0,
				"recovery that crashed before its write %llu and ran again leaves a "
				"different "
				"pool than recovery without a crash",
				(unsigned long long)stop + 1);
		}
		ct_image_undo(image, state);
	}
	return verdict;
}

int ct_oracle_judge(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	const struct ct_oracle *o = context;
	const uint64_t state = image->undo_count, choice = image->hash;
	struct tap tap = {.image = image, .stop = UINT64_MAX, .noted = image->recoveries};
	int verdict = o->nested ? judge_nested(o, image, findings, phase) : 0;

	verdict = NVW_OR(verdict, judge_once(o, &tap, acks, findings, phase));

	if (verdict == 0 && choice % REPEAT_EVERY == 0) {
		verdict = judge_repeated(o, image, findings, phase);
	}
	if (verdict == 0 && tap.writes > 0 && choice / REPEAT_EVERY % INTERRUPT_EVERY == 0) {
		ct_image_undo(image, state);
		verdict = judge_interrupted(o, image, acks, choice / 1024 % tap.writes, findings, phase);
	}
	return verdict;
}
