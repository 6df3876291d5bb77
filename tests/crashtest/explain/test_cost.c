/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulated time that a cure costs: what a seeded bug saved, if the cure is the barrier that it took
 * away.
 */
#include "common/test.h"

#include <config/config.h>
#include <crashtest/crash.h>
#include <emu.h>

#include "../shipped.h"
#include "common/options.h"
#include "common/skip.h"

struct run {
	const struct nvw_workload *workload;
	const char *options;
};

static const struct run stack = {&nvw_workload_stack, "count=48 take=50"},
			kv = {&nvw_workload_kv, "count=1500 scope=workgroup writers=group"};

/* mutation NULL: the program as it is. */
static struct ct_result *test(const struct run *run, const char *mutation, enum ct_model model)
{
	static struct ct_result result[2];
	const struct ct_options options = {.mode = CT_PERMITTED,
		.model = model,
		.states = mutation ? 1000 : 1,
		.cures = mutation != NULL,
		.seed = 1,
		.jobs = 1};
	struct ct_result *const r = &result[mutation != NULL];
	struct nvw_options *const values = options_of(run->workload->options, run->options);
	struct emu_config config;

	emu_config_default(&config);
	assert_ok(emu_config_load(&config, "gope18"));
	config.seed = 1;
	const struct ct_subject subject = {.workload = run->workload,
		.options = values,
		.config = &config,
		.mutation = mutation_of(run->workload, mutation)};

	if (ct_run(&subject, &options, r)) {
		fail_msg("%s: %s", run->workload->name, nvw_error_message());
	}
	nvw__options_free(values);
	ct_result_free(r);
	return r;
}

/* The verified cure of the first finding that has one. */
static const struct ct_cure *cure_of(const struct ct_result *r)
{
	NVW_EACH(finding, r->finding, r->finding_count) {
		if (finding->cure.verified) {
			return &finding->cure;
		}
	}
	fail_msg("no cure is verified");
	return NULL;
}

/*
 * The mutation took away a barrier; the run with the cure takes as long as the run of the program without the
 * mutation.
 */
static void check_cost(const struct run *run, const char *mutation, enum ct_model model)
{
	const struct ct_result *const right = test(run, NULL, model), *const wrong =
									      test(run, mutation, model);
	const struct ct_cure *const c = cure_of(wrong);

	assert_true(c->costed);
	assert_int_equal(c->cost_of_ps, wrong->sim_time_ps);
	assert_int_not_equal(c->cost_ps, 0);
	assert_int_equal(wrong->sim_time_ps + (uint64_t)c->cost_ps, right->sim_time_ps);
}

TEST(a_barrier_costs_the_time_that_the_bug_saved)
{
	check_cost(&stack, "publish-unordered", CT_MODEL_BUFFERED);
	check_cost(&stack, "take-unordered", CT_MODEL_BUFFERED);
}

TEST(a_wider_barrier_costs_the_time_that_the_narrow_one_saved)
{
	skip_if_sanitized();
	check_cost(&kv, "narrow-scope", CT_MODEL_BUFFERED);
}

TEST(a_cure_that_is_no_barrier_has_no_cost)
{
	const struct ct_cure *const c = cure_of(test(&stack, "fill-after-publish", CT_MODEL_EPOCH));

	assert_int_equal(c->edit[0].kind, CT_EDIT_EXCHANGE);
	assert_false(c->costed);
}
