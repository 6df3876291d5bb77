/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Going on after a crash: what look-ups miss is found, by workloads and by the shipped structures.
 */
#include "common/skip.h"
#include "common/test.h"

#include <string.h>

#include "shipped.h"
#include "small_run.h"

enum { RIGHT = -1, LATE_MARK, STUCK, HASTY };
enum { FORGETFUL = 5 /* seeded bugs of the shipped structures, at least */ };

/* places.c */
extern const struct nvw_workload nvw_workload;

/* ---- Crash tests of it ------------------------------------------------------------------------------- */

static struct ct_result result;
static uint64_t states = 400;

static struct ct_options options_of(uint64_t operations)
{
	return (struct ct_options){.mode = CT_PERMITTED,
		.states = states,
		.seed = 1,
		.jobs = 1,
		.go_on = operations,
		.unexplained = true};
}

static void crash(const struct nvw_workload *w, const char *assignments, int mutation, uint64_t operations,
	unsigned jobs)
{
	struct ct_options o = options_of(operations);

	o.jobs = jobs;
	assert_ok(small_run(w, assignments, mutation, &o, &result));
}

TEST(look_ups_alone_are_right_in_every_state)
{
	crash(&nvw_workload, "", RIGHT, 0, 1);
	assert_true(result.consistent);
	crash(&nvw_workload, "", LATE_MARK, 0, 1);
	assert_true(result.consistent);
	assert_int_equal(result.recoveries.worked_on, 0);
}

TEST(going_on_shows_what_is_handed_out_twice)
{
	crash(&nvw_workload, "", LATE_MARK, 2, 1);
	assert_false(result.consistent);
	assert_has(result.finding[0].text, "after recovery, and going on: operation ");
	assert_has(result.finding[0].text, "has lost its place");
	assert_in_range(result.states_failing, 1, result.states_distinct - 1);
}

TEST(a_right_structure_passes_in_every_state_that_is_worked_on)
{
	crash(&nvw_workload, "", RIGHT, 2, 1);
	assert_true(result.consistent);
	assert_int_equal(result.recoveries.worked_on, result.states_distinct);
}

TEST(a_structure_that_cannot_go_on_is_a_finding)
{
	crash(&nvw_workload, "", STUCK, 1, 1);
	assert_false(result.consistent);
	assert_string_equal(result.finding[0].text, "going on after recovery: no place is left");
	assert_int_equal(result.states_failing, result.states_distinct);
}

TEST(the_result_is_the_same_in_any_number_of_jobs)
{
	crash(&nvw_workload, "", LATE_MARK, 2, 1);
	const struct ct_result one = result;
	char text[CT_TEXT_BYTES];

	memcpy(text, one.finding[0].text, sizeof text);
	const uint64_t failing = one.states_failing, distinct = one.states_distinct,
		       worked = one.recoveries.worked_on;

	crash(&nvw_workload, "", LATE_MARK, 2, 2);
	assert_int_equal(result.states_failing, failing);
	assert_int_equal(result.states_distinct, distinct);
	assert_int_equal(result.recoveries.worked_on, worked);
	assert_string_equal(result.finding[0].text, text);
}

/* ---- A second crash ---------------------------------------------------------------------------------- */

static void crash_twice(
	const struct nvw_workload *w, const char *assignments, int mutation, uint64_t operations)
{
	struct ct_options o = options_of(operations);

	o.crash_again = true;
	assert_ok(small_run(w, assignments, mutation, &o, &result));
}

TEST(a_second_crash_shows_what_is_wrong_in_the_operations_after_the_first)
{
	crash(&nvw_workload, "", HASTY, 4, 1);
	assert_true(result.consistent);
	crash_twice(&nvw_workload, "", HASTY, 4);
	assert_false(result.consistent);
	assert_has(result.finding[0].text, "after recovery, going on and a second crash ");
	assert_in_range(result.states_failing, 1, result.states_distinct - 1);
	crash_twice(&nvw_workload, "", RIGHT, 4);
	assert_true(result.consistent);
	assert_int_equal(result.recoveries.worked_on, result.states_distinct);
}

/* ---- Some of the states ------------------------------------------------------------------------------ */

static void crash_and_go_on_from(uint64_t wanted, int mutation, unsigned jobs)
{
	struct ct_options o = options_of(1);

	o.go_on_states = wanted;
	o.jobs = jobs;
	assert_ok(small_run(&nvw_workload, "", mutation, &o, &result));
}

TEST(if_all_states_pass_some_are_worked_on_and_what_fails_then_is_the_result)
{
	crash_and_go_on_from(8, RIGHT, 1);
	assert_true(result.consistent);
	const uint64_t distinct = result.states_distinct, some = result.recoveries.worked_on;

	assert_in_range(some, 1, 8);
	assert_true(distinct > 2 * some);
	crash_and_go_on_from(8, RIGHT, 3);
	assert_int_equal(result.recoveries.worked_on, some);
	crash_and_go_on_from(8, STUCK, 1);
	assert_string_equal(result.finding[0].text, "going on after recovery: no place is left");
	assert_int_equal(result.states_failing, some);
}

TEST(a_workload_that_cannot_go_on_is_not_asked_to_unless_all_states_are)
{
	struct ct_options o = options_of(1);
	struct nvw_workload unable = nvw_workload;

	unable.go_on = NULL;
	o.go_on_states = 64;
	assert_ok(small_run(&unable, "", RIGHT, &o, &result));
	assert_int_equal(result.recoveries.worked_on, 0);
}

/* ---- The shipped structures -------------------------------------------------------------------------- */

TEST(the_shipped_structures_go_on_and_survive_a_second_crash)
{
	static const struct {
		const struct nvw_workload *workload;
		const char *options;
	} cases[] = {
		{&nvw_workload_kv, "count=120 batch=40 slots=32 mix=put=70,delete=30 records=40"},
		{&nvw_workload_kv, "count=100 batch=40 slots=32 scope=workgroup"},
		{&nvw_workload_btree, "count=120 preload=60 batch=60 group-size=16"},
		{&nvw_workload_btree, "count=120 preload=60 batch=60 group-size=16 scope=kernel"},
		{&nvw_workload_btree, "count=60 preload=60 batch=30 op=update"},
		{&nvw_workload_btree, "count=60 preload=60 batch=30 op=delete"},
		{&nvw_workload_queue, "count=96 producers=2 consumers=2 capacity=32 group-size=16"},
		{&nvw_workload_queue, "count=60 producers=2 consumers=1 capacity=32 group-size=8 payload=6 "
				      "release=visible scope=workgroup"},
		{&nvw_workload_stack, "count=96 stacks=4 groups=2 group-size=16"},
		{&nvw_workload_stack, "count=48 stacks=1 groups=2 group-size=16 scope=workgroup take=100"},
		{&nvw_workload_steal_log, "tasks=24 groups=4 depth=4 group-size=16"},
		{&nvw_workload_steal_log, "tasks=16 groups=2 depth=4 group-size=16 scenario=scoped"},
		{&nvw_workload_tiered, "count=60 groups=1 group-size=5 records=2 keys=1 words=1"},
		{&nvw_workload_saved_tasks, "program=nqueens n=5 entries=128 group-size=16"},
		{&nvw_workload_saved_tasks, "program=marks n=9 entries=64 group-size=16 recovery=undo"},
	};

	states = 80 / one_in(2);
	for_each(c, cases) {
		crash_twice(c->workload, c->options, RIGHT, 8);
		if (!result.consistent || result.recoveries.worked_on != result.states_distinct) {
			fail_msg("%s %s: %s", c->workload->name, c->options, result.finding[0].text);
		}
	}
}

/* ---- All that is left -------------------------------------------------------------------------------- */

static const struct nvw_workload *watched;
static bool has_gone_on; /* in the process that judges a state */
static uint64_t expected;

static int watched_go_on(
	void *plan, struct nvw_machine *machine, const struct nvw_acks *acks, uint64_t operations)
{
	has_gone_on = true;
	return watched->go_on(plan, machine, acks, operations);
}

static int watched_check(
	void *plan, struct nvw_pool *its, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	const bool is_after = has_gone_on;

	has_gone_on = false;
	if (is_after && nvw_acked_count(acks) != expected) {
		return nvw_violation(
			findings, 0, "%d operations are acknowledged", (int)nvw_acked_count(acks));
	}
	return watched->check(plan, its, acks, findings);
}

TEST(all_that_a_crash_has_left_is_carried_out_if_so_much_is_asked)
{
	static const struct {
		const struct nvw_workload *workload;
		const char *options;
		uint64_t operations;
	} cases[] = {
		{&nvw_workload_queue, "count=48 producers=2 consumers=2 capacity=32 group-size=16", 96},
		{&nvw_workload_stack, "count=48 stacks=4 groups=2 group-size=16 take=0", 48},
		{&nvw_workload_steal_log, "tasks=24 groups=4 depth=4 group-size=16 spawn=0", 24},
		{&nvw_workload_tiered, "count=60 groups=1 group-size=5 records=2 keys=1 words=1", 60},
	};

	states = 80 / one_in(2);
	for_each(c, cases) {
		struct nvw_workload w = *c->workload;

		watched = c->workload;
		expected = c->operations;
		w.go_on = watched_go_on;
		w.check = watched_check;
		w.parts = NULL;
		crash(&w, c->options, RIGHT, 1000, 1);
		if (!result.consistent) {
			fail_msg("%s: %s", w.name, result.finding[0].text);
		}
		crash(&w, c->options, RIGHT, 1, 1);
		assert_false(result.consistent); /* else nothing was left */
	}
}

/* ---- Bugs -------------------------------------------------------------------------------------------- */

/* The bug that goes on forgets what recovery has found; its twin is the structure itself. */
static unsigned find_by_going_on(const struct nvw_workload *w, int mutation)
{
	const char *const options = w->mutations[mutation].options;

	crash(w, options, mutation, 0, 1);
	assert_true(result.consistent);
	crash(w, options, mutation, 8, 1);
	if (result.consistent) {
		fail_msg("%s %s: nothing fails", w->name, w->mutations[mutation].name);
	}
	assert_has(result.finding[0].text, "going on");
	crash(w, options, RIGHT, 8, 1);
	assert_true(result.consistent);
	assert_int_equal(result.recoveries.worked_on, result.states_distinct);
	return 1;
}

TEST(what_a_structure_forgets_after_recovery_shows_only_when_it_goes_on)
{
	unsigned found = 0;

	states = 150 / one_in(2);
	for_each(one, shipped) {
		const struct nvw_mutation *const m = (*one)->mutations;

		for (int k = 0; m != NULL && m[k].name != NULL; k++) {
			found += !strcmp(m[k].found_by, "and-then") ? find_by_going_on(*one, k) : 0;
		}
	}
	assert_true(found >= FORGETFUL);
}

TEST(a_workload_that_cannot_go_on_is_refused)
{
	const struct ct_options o = {.mode = CT_PERMITTED, .go_on = 1};

	struct nvw_workload unable = nvw_workload;

	unable.go_on = NULL;
	assert_int_equal(small_run(&unable, "", RIGHT, &o, &result), NVW_E_USAGE);
	assert_string_equal(
		nvw_error_message(), "--and-then: places has no operations to go on with after a crash");
}
