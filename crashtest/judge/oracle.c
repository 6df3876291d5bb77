/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery and check of a workload on a crash state. See oracle.h. */
#include <check/check.h>

#include "../states/image.h"
#include "core/bounds.h"
#include "oracle.h"

enum { REPEAT_EVERY = 16, INTERRUPT_EVERY = 4 };

/* A state that is judged. Recovery of it is tapped: its writes are counted, and it stops at one of them. */
struct trial {
	const struct ct_oracle *o;
	const struct nvw_acks *acks;
	struct nvw_findings *findings;
	volatile uint32_t *phase;
	struct ct_image *image;
	uint64_t writes, stop;       /* UINT64_MAX: never */
	struct ct_recoveries *noted; /* NULL: not noted */
};

static int refused(const struct trial *t, const char *what)
{
	return nvw_violation(t->findings, 0, "%s: %s", what, nvw_error_message());
}

/* ---- One pool ------------------------------------------------------------------------------------------ */

/* Adds the work of a recovery. */
static void note(struct ct_recoveries *noted, const struct nvw_pool *first, const struct nvw_recovery *report)
{
	struct ct_recoveries done = {.epochs_open = report->epochs_rolled_back,
		.entries_read = report->entries_read,
		.words_restored = report->words_restored};
	const struct nvw_pool *pool;

	for (unsigned i = 0; (pool = nvw_pool_number(first, i)); i++) {
		done.words_written += nvw_pool_words_written(pool);
	}
	ct_recoveries_join(noted, &done);
}

static int recover(const struct trial *t, struct nvw_pool *pool)
{
	const struct nvw_workload *const w = t->o->workload;
	struct nvw_recovery report = {0};

	*t->phase = CT_PHASE_RECOVER;
	NVW_TRY(nvw_recover(pool, &report));
	if (w->recover) {
		*t->phase = CT_PHASE_STRUCTURE;
		NVW_TRY(w->recover(pool, &report));
	}
	if (t->noted) {
		note(t->noted, pool, &report);
	}
	return 0;
}

static int recover_and_check(const struct trial *t, struct nvw_pool *pool)
{
	if (recover(t, pool)) {
		return refused(t, "recovery refuses the pool");
	}
	*t->phase = CT_PHASE_CHECK;
	const uint64_t before = t->findings->count;
	const int error = t->o->workload->check(t->o->plan, pool, t->acks, t->findings);

	if (t->findings->count > before) {
		return NVW_E_INCONSISTENT;
	}
	if (error == NVW_E_INCONSISTENT) {
		return nvw_violation(
			t->findings, 0, "the check found an inconsistency but gave no description");
	}
	return error ? refused(t, "the check gives up") : 0;
}

int ct_oracle_judge_pool(const struct ct_oracle *o, struct nvw_pool *pool, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	const struct trial t = {.o = o, .acks = acks, .findings = findings, .phase = phase};

	return recover_and_check(&t, pool);
}

/* ---- An image ------------------------------------------------------------------------------------------ */

static int tapped_write(void *context, nvw_off off, const void *from, size_t n)
{
	struct trial *const t = context;

	NVW_FAIL_IF(t->writes == t->stop, NVW_E_STOPPED, "the power failed again");
	t->writes++;
	return ct_image_write(t->image, off, from, n);
}

static int open_image(struct trial *t, uint64_t stop, struct nvw_pool **ret_pool)
{
	const struct nvw_pool_image image = {
		.image = t->image->ro,
		.bytes = t->image->bytes,
		.write = tapped_write,
		.context = t,
		.reads = t->image->reads,
	};

	t->writes = 0;
	t->stop = stop;
	return nvw_pool_open_image(&image, ret_pool);
}

static int judge_once(struct trial *t)
{
	struct nvw_pool *pool;

	*t->phase = CT_PHASE_OPEN;
	if (open_image(t, UINT64_MAX, &pool)) {
		return refused(t, "the pool does not open");
	}
	const int verdict = recover_and_check(t, pool);

	nvw_pool_close(pool);
	return verdict;
}

/* Checks that recovery of a recovered pool writes nothing. */
static int judge_repeated(struct trial *t)
{
	struct nvw_pool *pool;

	if (open_image(t, UINT64_MAX, &pool)) {
		return refused(t, "the recovered pool does not open");
	}
	const int error = recover(t, pool);

	nvw_pool_close(pool);
	if (error) {
		return refused(t, "recovery refuses the recovered pool");
	}
	if (t->writes > 0) {
		return nvw_violation(t->findings, 0,
			"recovery is not idempotent: run on a recovered pool, it writes %llu words",
			(unsigned long long)t->writes);
	}
	return 0;
}

/* Recovers the state up to a write. Returns recovery's result. */
static int recover_image(struct trial *t, uint64_t stop)
{
	struct nvw_pool *pool;

	NVW_TRY(open_image(t, stop, &pool));
	const int error = recover(t, pool);

	nvw_pool_close(pool);
	return error;
}

/* Stops recovery at write number stop, restarts it, checks. */
static int judge_interrupted(struct trial *t, uint64_t stop)
{
	if (!recover_image(t, stop) || !judge_once(t)) {
		return 0;
	}
	return nvw_violation(t->findings, 0, "after a second crash, at write %llu of recovery",
		(unsigned long long)stop + 1);
}

/* A crash before each write of recovery. The image has the state before and after this call. */
static int judge_nested(struct trial *t)
{
	const uint64_t state = t->image->undo_count;
	int verdict = recover_image(t, UINT64_MAX) ? refused(t, "recovery refuses the pool") : 0;
	const uint64_t writes = t->writes, wanted = t->image->hash;

	ct_image_undo(t->image, state);
	for (uint64_t stop = 0; stop < writes && !verdict; stop++) {
		recover_image(t, stop); /* ends in NVW_E_STOPPED */
		if (recover_image(t, UINT64_MAX)) {
			verdict = nvw_violation(t->findings, 0,
				"recovery fails after a second crash, before its write %llu: %s",
				(unsigned long long)stop + 1, nvw_error_message());
		} else if (t->image->hash != wanted) {
			verdict = nvw_violation(t->findings, 0,
				"recovery that crashed before its write %llu and ran again leaves a "
				"different "
				"pool than recovery without a crash",
				(unsigned long long)stop + 1);
		}
		ct_image_undo(t->image, state);
	}
	return verdict;
}

int ct_oracle_judge(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	struct trial t = {.o = context, .acks = acks, .findings = findings, .phase = phase, .image = image};
	const uint64_t state = image->undo_count, choice = image->hash;
	int verdict = t.o->nested ? judge_nested(&t) : 0;

	t.noted = image->recoveries;
	verdict = NVW_OR(verdict, judge_once(&t));
	t.noted = NULL;
	const uint64_t writes = t.writes;

	if (verdict == 0 && choice % REPEAT_EVERY == 0) {
		verdict = judge_repeated(&t);
	}
	if (verdict == 0 && writes > 0 && choice / REPEAT_EVERY % INTERRUPT_EVERY == 0) {
		ct_image_undo(image, state);
		verdict = judge_interrupted(&t, choice / 1024 % writes);
	}
	return verdict;
}
