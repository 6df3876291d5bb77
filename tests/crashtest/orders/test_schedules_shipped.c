/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shipped structures under many orders of their wavefronts: 64 work-items in 4 work-groups. As they are
 * nothing fails; a seeded bug of order is found. With EVERY_CASE in the environment they are run under at
 * least 10,000 different orders each, which takes an evening.
 */
#include "common/test.h"

#include <stdlib.h>
#include <config/config.h>
#include <crashtest/crash.h>
#include <emu.h>

#include "../shipped.h"
#include "common/options.h"

enum { STATES = 50, MANY = 10000 };

/* Half of the schedules are random. These hardly repeat themselves, as PCT's do: MANY of them differ. */
static const struct shipped {
	const struct nvw_workload *workload;
	const char *options;
	uint64_t enough;
} kv = {&nvw_workload_kv,
	"count=64 batch=64 group-size=16 keys=zipfian records=8 mix=put=50,get=30,delete=20", 21000},
  one_key = {&nvw_workload_kv, "count=2 batch=2 group-size=1 preload=1 records=1 mix=put=50,delete=50", MANY},
  one_group = {&nvw_workload_btree, "count=80 group-size=128 preload=100", 4},
  undo_log = {&nvw_workload_btree, "count=64 group-size=16 preload=20", 21000},
  queue = {&nvw_workload_queue, "count=256 group-size=16 capacity=64 producers=2 consumers=2 payload=1",
	  21000},
  stack = {&nvw_workload_stack, "count=64 group-size=16 groups=4 stacks=4", 21000},
  steal_log = {&nvw_workload_steal_log, "tasks=16 groups=4 group-size=16 words=2", 21000};

static struct ct_result result;
static bool every_order; /* one run for each */

static struct ct_schedules run(
	const struct shipped *s, const char *mutation, uint64_t schedules, uint64_t seed)
{
	const struct ct_options options = {.mode = every_order ? CT_PERMITTED : CT_OBSERVED,
		.every_order = every_order,
		.states = STATES,
		.schedules = schedules,
		.schedule_depth = 3,
		.seed = seed};
	struct nvw_options *const values = options_of(s->workload->options, s->options);
	struct emu_config config;

	emu_config_default(&config);
	config.seed = seed;
	const struct ct_subject subject = {.workload = s->workload,
		.options = values,
		.config = &config,
		.mutation = mutation_of(s->workload, mutation)};

	if (ct_run_schedules(&subject, &options, true, &result) != 0) {
		fail_msg("%s: %s", s->workload->name, nvw_error_message());
	}
	nvw__options_free(values);
	ct_result_free(&result);
	return result.schedules;
}

static void expect_nothing(const struct shipped *s)
{
	const bool all = getenv("EVERY_CASE") != NULL;
	const uint64_t wanted = all ? MANY : 12;
	const struct ct_schedules found = run(s, NULL, all ? s->enough : 20, 1);

	print_message("# %s: %llu schedules, %llu different, %.3f s for each\n", s->workload->name,
		(unsigned long long)found.run, (unsigned long long)found.different,
		found.seconds / (double)found.run);
	if (found.finding_count > 0) {
		fail_msg("%s: %s", s->workload->name, found.finding[0].text);
	}
	assert_int_equal(result.states_failing, 0);
	assert_true(result.states_distinct >= found.different);
	assert_true(found.different >= wanted);
}

TEST(kv_survives_under_every_schedule)
{
	expect_nothing(&kv);
}

TEST(the_undo_log_of_btree_survives_under_every_schedule)
{
	expect_nothing(&undo_log);
}

TEST(queue_survives_under_every_schedule)
{
	expect_nothing(&queue);
}

TEST(stack_survives_under_every_schedule)
{
	expect_nothing(&stack);
}

TEST(steal_log_survives_under_every_schedule)
{
	expect_nothing(&steal_log);
}

/* Wrong results and races without a crash, and states that only a crash leaves. */
TEST(seeded_bugs_of_order_are_found)
{
	static const struct {
		const struct shipped *what;
		const char *mutation;
	} bugs[] = {{&stack, "racy-push"}, {&stack, "stale-link"}, {&stack, "local-head"},
		{&queue, "racy-tickets"}, {&queue, "narrow-acquire"}, {&steal_log, "racy-steal"},
		{&steal_log, "narrow-steal"}};

	for_each(bug, bugs) {
		const struct ct_schedules found = run(bug->what, bug->mutation, 6, 1);

		assert_false(result.consistent);
		print_message("# %s: %llu of %llu different schedules have findings\n", bug->mutation,
			(unsigned long long)found.failing, (unsigned long long)found.different);
	}
}

static void expect_nothing_by_time(const struct shipped *s, const char *mutation)
{
	const struct ct_schedules found = run(s, mutation, 1, 1);

	assert_int_equal(found.run, 1);
	assert_true(result.consistent);
}

/* In the machine's order no entry is overwritten. */
TEST(an_undo_log_that_two_wavefronts_count_is_found_in_another_order_alone)
{
	expect_nothing_by_time(&one_group, "racy-log");
	(void)run(&one_group, "racy-log", one_group.enough, 1);
	assert_false(result.consistent);
	(void)run(&one_group, NULL, one_group.enough, 1);
	assert_true(result.consistent);
}

/* The machine's order lets the put come later than both steps of the delete. */
TEST(a_put_that_a_delete_loses_is_found_in_another_order_alone)
{
	struct ct_schedules found;

	expect_nothing_by_time(&one_key, "racy-delete");
	every_order = true;
	found = run(&one_key, "racy-delete", one_key.enough, 1);
	print_message("# racy-delete: %llu of %llu orders have findings\n", (unsigned long long)found.failing,
		(unsigned long long)found.different);
	assert_false(result.consistent);
	assert_in_range(found.failing, 1, found.different - 1);

	found = run(&one_key, NULL, one_key.enough, 1);
	every_order = false;
	assert_true(result.consistent);
	assert_in_range(found.different, 2, one_key.enough - 1);
}

/* Everything of a result but the time that it took. */
TEST(the_same_seed_gives_the_same_result)
{
	struct ct_schedules first = run(&stack, NULL, 6, 3), again;
	const uint64_t states = result.states_distinct, equal = result.states_equal;

	again = run(&stack, NULL, 6, 3);
	first.seconds = again.seconds = 0;
	assert_memory_equal(&first, &again, sizeof first);
	assert_int_equal(result.states_distinct, states);
	assert_int_equal(result.states_equal, equal);
}
