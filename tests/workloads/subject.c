/* SPDX-License-Identifier: BSD-3-Clause */
/* See subject.h. */
#include "common/test.h"

#include <string.h>

#include "common/options.h"

#include "subject.h"

void *subject_prepare(const struct nvw_workload *workload, const char *given, uint64_t seed, int mutation)
{
	void *plan = NULL;

	if (prepare_with(workload, given, seed, mutation, &plan) != 0) {
		fail_msg("prepare: %s", nvw_error_message());
	}
	return plan;
}

struct subject subject_begin(
	const struct nvw_workload *workload, const char *given, uint64_t seed, int mutation, uint64_t bytes)
{
	return (struct subject){.workload = workload,
		.plan = subject_prepare(workload, given, seed, mutation),
		.machine = ideal_create(bytes, seed)};
}

void subject_end(struct subject *s)
{
	s->workload->dispose(s->plan);
	ideal_destroy();
}

/*
 * Recovers a copy of the pool and checks it, also without the plan: true if it is consistent. Recovery must
 * have nothing left to do the second time.
 */
static bool survives(const struct subject *s, struct nvw_recovery *ret_report)
{
	const struct nvw_workload *const w = s->workload;
	struct nvw_pool *const copy = ideal_pool_copy();
	struct nvw_recovery again = {0};
	int error;

	*ret_report = (struct nvw_recovery){0};
	error = w->recover(copy, ret_report);
	if (error == 0) {
		error = w->check(s->plan, copy, ideal_acks(), ideal_findings());
	}
	if (error == 0) {
		error = w->check(NULL, copy, NULL, ideal_findings());
	}
	assert_int_equal(w->recover(copy, &again), error == NVW_E_DAMAGED ? error : 0);
	assert_int_equal(again.structure_repairs + again.blocks_freed, 0);
	ideal_pool_free(copy);
	return error == 0;
}

static void cut_power(void *context)
{
	struct subject *const s = context;
	struct nvw_recovery report;

	if (++s->stores % s->every == 0) {
		s->states++;
		s->inconsistent += !survives(s, &report);
	}
}

void subject_run(struct subject *s, int mutation, uint64_t every)
{
	struct nvw_recovery report;
	const char *why;

	s->every = every;
	ideal_on_store(every != 0 ? cut_power : NULL, s);
	if (s->workload->setup(s->plan, s->machine) != 0 || s->workload->run(s->plan, s->machine) != 0) {
		fail_msg("run: %s", nvw_error_message());
	}
	ideal_on_store(NULL, NULL);
	if (mutation >= 0) {
		return;
	}
	if (!survives(s, &report) || s->inconsistent != 0) {
		ideal_violations(&why);
		fail_msg("%lu of %lu states: %s", s->inconsistent, s->states, why);
	}
	assert_int_equal(report.blocks_freed, 0);
}

void subject_expect(const struct nvw_workload *workload, const char *given, subject_hook look,
	subject_hook damage, const char *part)
{
	struct subject s = subject_begin(workload, given, 1, -1, 1 << 20);
	struct nvw_recovery report = {0};
	struct nvw_pool *copy;
	const char *why;
	int error;

	assert_ok(workload->setup(s.plan, s.machine));
	assert_ok(workload->run(s.plan, s.machine));
	copy = ideal_pool_copy();
	look(copy);
	damage(copy);
	ideal_violations(&why);
	(void)workload->recover(copy, &report);
	error = workload->check(s.plan, copy, ideal_acks(), ideal_findings());
	if (ideal_violations(&why) == 0 ? part != NULL || error != 0 :
					  part == NULL || strstr(why, part) == NULL) {
		fail_msg("expected \"%s\" in \"%s\"", part ? part : "nothing", why);
	}
	ideal_pool_free(copy);
	subject_end(&s);
}

void subject_expect_each_refused(const struct nvw_workload *workload, int error,
	const struct subject_refusal *refusals, unsigned count)
{
	NVW_EACH(refusal, refusals, count) {
		void *plan = NULL;

		if (prepare_with(workload, refusal->option, 1, -1, &plan) != error || plan != NULL ||
			strstr(nvw_error_message(), refusal->part) == NULL) {
			fail_msg("--%s: expected \"%s\" in \"%s\"", refusal->option, refusal->part,
				nvw_error_message());
		}
	}
}

uint64_t *subject_words(struct nvw_pool *pool, nvw_off off)
{
	return (uint64_t *)(void *)(ideal_pool_bytes(pool) + off);
}

void subject_break_root(struct nvw_pool *pool, unsigned root)
{
	assert_ok(nvw_pool_write_word(pool, nvw_pool_root_off(nvw_pool_geometry(pool), root), 64));
}
