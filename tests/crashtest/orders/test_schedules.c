/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules: which orders there are, that the same seed gives the same ones, and what is found under
 * them alone. */
#include "common/test.h"

#include <crashtest/crash.h>
#include <emu.h>

#include "ordered.h"

#define WG    NVW_SCOPE_WORKGROUP
#define AGENT NVW_SCOPE_AGENT

static bool every_order; /* one run for each */

static struct ct_schedules run_with(
	const struct ordered *program, uint64_t schedules, uint64_t seed, unsigned width, struct ct_result *r)
{
	const bool in_nvram = program->kind == ORDERED_CONSUME;
	const struct ct_options options = {.mode = CT_PERMITTED,
		.schedules = schedules,
		.schedule_depth = 3,
		.every_order = every_order,
		.seed = seed,
		.states = 100};
	struct emu_config config;
	const struct ct_subject subject = {.workload = in_nvram ? &ordered_in_nvram : &ordered_workload,
		.config = &config,
		.mutation = -1};

	emu_config_default(&config);
	config.wavefront_width = width;
	config.seed = seed;
	ordered_choose(program);
	assert_ok(ct_run_schedules(&subject, &options, in_nvram, r));
	const struct ct_schedules found = r->schedules;

	ct_result_free(r);
	return found;
}

static struct ct_result result;

static struct ct_schedules run(const struct ordered *program, uint64_t schedules)
{
	return run_with(program, schedules, 1, 64, &result);
}

/* ---- Orders -------------------------------------------------------------------------------------------- */

TEST(orders_of_accesses_without_conflict_are_one)
{
	const struct ordered p = ordered_right(ORDERED_APART, 1, 4);
	const struct ct_schedules found = run(&p, 20);

	assert_int_equal(found.run, 20);
	assert_int_equal(found.different, 1);
}

/* As many as there are ways to mix the wavefronts' additions. */
TEST(all_orders_of_few_accesses_are_found_and_no_more)
{
	static const struct {
		unsigned groups, times, orders, schedules;
	} cases[] = {{2, 1, 2, 20}, {3, 1, 6, 60}, {2, 2, 6, 80}, {2, 3, 20, 400}, {4, 1, 24, 300}};

	for_each(c, cases) {
		struct ordered p = ordered_right(ORDERED_COUNTERS, 1, c->groups);

		p.times = c->times;
		assert_int_equal(run(&p, c->schedules).different, c->orders);
	}
}

/* Lanes of one wavefront have one order; work-items of their own wavefronts have theirs. */
TEST(wavefronts_are_what_is_ordered)
{
	const struct ordered p = ordered_right(ORDERED_COUNTERS, 3, 1);

	assert_int_equal(run_with(&p, 100, 1, 64, &result).different, 1);
	assert_int_equal(run_with(&p, 100, 1, 1, &result).different, 6);
}

/* Whether the flag was looked at before it was set is an order; how often is none. */
TEST(how_long_a_wavefront_spins_is_no_order)
{
	const struct ordered p = ordered_right(ORDERED_SPIN, 1, 2);

	assert_int_equal(run(&p, 50).different, 2);
}

/* Who has the lock first, and whether the other tried in vain. */
TEST(how_often_a_lock_is_tried_in_vain_is_no_order)
{
	const struct ordered p = ordered_right(ORDERED_CASLOCK, 1, 2);

	assert_int_equal(run(&p, 100).different, 4);
}

TEST(the_same_seed_gives_the_same_schedules)
{
	const struct ordered p = ordered_right(ORDERED_TTASLOCK, 1, 4);
	struct ct_schedules first = run_with(&p, 30, 7, 64, &result);
	const struct ct_schedules other = run_with(&p, 30, 8, 64, &result);

	assert_true(first.different > 3);
	first.seconds = 0;
	NVW_FOR(i, 3) {
		struct ct_schedules again = run_with(&p, 30, 7, 64, &result);

		again.seconds = 0;
		assert_memory_equal(&first, &again, sizeof first);
	}
	assert_true(first.different != other.different || first.choices != other.choices);
}

/* ---- Dat3M's benchmarks -------------------------------------------------------------------------------- */

enum variant { RIGHT, ACQ2RX, REL2RX, DV2WG, MASTER_ACQ2RX, MASTER_REL2RX, WEAKEST };

static struct ordered variant_of(enum ordered_kind kind, enum variant v, unsigned size, unsigned groups)
{
	struct ordered p = ordered_right(kind, size, groups);

	if (v == ACQ2RX || v == WEAKEST) {
		p.acquire = NVW_RELAXED;
	}
	if (v == REL2RX || v == WEAKEST) {
		p.release = NVW_RELAXED;
	}
	if (v == MASTER_ACQ2RX || v == WEAKEST) {
		p.master_acquire = NVW_RELAXED;
	}
	if (v == MASTER_REL2RX || v == WEAKEST) {
		p.master_release = NVW_RELAXED;
	}
	p.scope = v == DV2WG ? WG : AGENT;
	return p;
}

/*
 * The answers are those of Dat3M's SpirvRacesTest (github.com/hernanponcedeleon/Dat3M, dartagnan,
 * spirv/opencl/ benchmarks), by shape, change, and work-items by work-groups: PASS or FAIL. UNKNOWN there,
 * for caslock, is no answer about a race within the bound of its loops; another list of its tests has PASS.
 */
enum { SAMPLED = 1, EVERY = 2, BOTH = SAMPLED | EVERY }; /* under drawn schedules, in every order */
static const struct {
	enum ordered_kind kind;
	enum variant variant;
	unsigned size, groups;
	bool fails;
	unsigned where;
} answers[] = {
	{ORDERED_CASLOCK, RIGHT, 1, 2, false, BOTH},
	{ORDERED_CASLOCK, RIGHT, 2, 1, false, BOTH},
	{ORDERED_CASLOCK, RIGHT, 1, 3, false, EVERY},
	{ORDERED_CASLOCK, ACQ2RX, 1, 2, true, BOTH},
	{ORDERED_CASLOCK, REL2RX, 1, 2, true, BOTH},
	{ORDERED_CASLOCK, DV2WG, 2, 1, false, BOTH},
	{ORDERED_CASLOCK, DV2WG, 1, 2, true, BOTH},
	{ORDERED_CASLOCK, DV2WG, 4, 2, true, SAMPLED},
	{ORDERED_TICKETLOCK, RIGHT, 1, 2, false, BOTH},
	{ORDERED_TICKETLOCK, RIGHT, 2, 1, false, SAMPLED},
	{ORDERED_TICKETLOCK, RIGHT, 1, 3, false, EVERY},
	{ORDERED_TICKETLOCK, ACQ2RX, 1, 2, true, BOTH},
	{ORDERED_TICKETLOCK, REL2RX, 1, 2, true, BOTH},
	{ORDERED_TICKETLOCK, DV2WG, 2, 1, false, SAMPLED},
	{ORDERED_TICKETLOCK, DV2WG, 1, 2, true, BOTH},
	{ORDERED_TICKETLOCK, DV2WG, 4, 2, true, SAMPLED},
	{ORDERED_TTASLOCK, RIGHT, 1, 2, false, BOTH},
	{ORDERED_TTASLOCK, RIGHT, 2, 1, false, SAMPLED},
	{ORDERED_TTASLOCK, ACQ2RX, 1, 2, true, BOTH},
	{ORDERED_TTASLOCK, REL2RX, 1, 2, true, BOTH},
	{ORDERED_TTASLOCK, DV2WG, 2, 1, false, SAMPLED},
	{ORDERED_TTASLOCK, DV2WG, 1, 2, true, BOTH},
	{ORDERED_TTASLOCK, DV2WG, 4, 2, true, SAMPLED},
	{ORDERED_XF_BARRIER, RIGHT, 2, 2, false, BOTH},
	{ORDERED_XF_BARRIER, RIGHT, 3, 3, false, SAMPLED},
	{ORDERED_XF_BARRIER, RIGHT, 2, 1, false, SAMPLED},
	{ORDERED_XF_BARRIER, RIGHT, 1, 2, false, BOTH},
	{ORDERED_XF_BARRIER, ACQ2RX, 2, 2, true, BOTH},
	{ORDERED_XF_BARRIER, REL2RX, 2, 2, true, BOTH},
	{ORDERED_XF_BARRIER, MASTER_ACQ2RX, 2, 2, true, BOTH},
	{ORDERED_XF_BARRIER, MASTER_REL2RX, 2, 2, true, BOTH},
	{ORDERED_XF_BARRIER, WEAKEST, 2, 2, true, SAMPLED},
};
enum { ANSWERS = NVW_COUNT(answers) };

static struct ordered program_of(unsigned answer)
{
	return variant_of(
		answers[answer].kind, answers[answer].variant, answers[answer].size, answers[answer].groups);
}

static void compare_answer(unsigned answer, const struct ct_schedules *found)
{
	if ((found->finding_count > 0) != answers[answer].fails) {
		fail_msg("case %u: %s", answer,
			found->finding_count ? found->finding[0].text : "nothing is found");
	}
}

TEST(locks_and_barriers_have_their_known_answers)
{
	NVW_FOR(i, ANSWERS) {
		if (!(answers[i].where & SAMPLED)) {
			continue;
		}
		const struct ordered p = program_of(i);
		/* Work-items of a wavefront have no order of their own: each has one here. */
		const struct ct_schedules found = run_with(&p, 12, 1, 1, &result);

		if (found.finding_count > 0) {
			print_message("# case %u: found by schedule %llu\n", i,
				(unsigned long long)found.finding[0].first);
		}
		compare_answer(i, &found);
	}
}

/* ---- Every order --------------------------------------------------------------------------------------- */

static struct ct_schedules run_every(const struct ordered *p)
{
	every_order = true;
	const struct ct_schedules found = run_with(p, 5000, 1, 1, &result);

	every_order = false;
	if (!found.exhausted) {
		fail_msg("%llu runs are not all", (unsigned long long)found.run);
	}
	return found;
}

/* As many as there are ways to mix additions; one where nothing conflicts. */
TEST(every_order_is_run_once)
{
	static const struct {
		enum ordered_kind kind;
		unsigned groups, times, orders;
	} cases[] = {{ORDERED_APART, 4, 1, 1}, {ORDERED_COUNTERS, 2, 1, 2}, {ORDERED_COUNTERS, 3, 1, 6},
		{ORDERED_COUNTERS, 2, 3, 20}, {ORDERED_COUNTERS, 4, 1, 24}, {ORDERED_SPIN, 2, 1, 2},
		{ORDERED_CASLOCK, 2, 1, 4}};

	for_each(c, cases) {
		struct ordered p = ordered_right(c->kind, 1, c->groups);

		p.times = c->times;
		assert_int_equal(run_every(&p).run, c->orders);
	}
}

TEST(in_every_order_locks_and_barriers_have_their_known_answers)
{
	NVW_FOR(i, ANSWERS) {
		if (!(answers[i].where & EVERY)) {
			continue;
		}
		const struct ordered p = program_of(i);
		const struct ct_schedules found = run_every(&p);

		print_message("# case %u: %llu orders, %llu runs ended early\n", i,
			(unsigned long long)found.run, (unsigned long long)found.redundant);
		compare_answer(i, &found);
	}
}

TEST(in_every_order_a_wait_that_nobody_ends_is_found)
{
	const struct ordered p = ordered_right(ORDERED_ENDLESS, 1, 2);
	const struct ct_schedules found = run_every(&p);

	assert_int_equal(found.run, 2);
	assert_int_equal(found.failing, 1);
	assert_int_equal(found.finding[0].kind, CT_SCHEDULE_ENDLESS);
}

/* ---- Bugs of order ------------------------------------------------------------------------------------- */

/* By the machine's times nothing is wrong; under a schedule there is this; the clean twin has nothing. */
static void expect_under_others(struct ordered p, enum ct_schedule_kind kind, uint64_t schedules)
{
	const struct ct_schedules found = run(&p, schedules);

	assert_true(found.finding_count >= 1);
	assert_int_equal(found.finding[0].kind, kind);
	assert_true(found.finding[0].first > 0);
	print_message("# found by schedule %llu\n", (unsigned long long)found.finding[0].first);
}

TEST(a_message_of_too_narrow_a_scope_is_found)
{
	struct ordered p = ordered_right(ORDERED_PUBLISH, 1, 2);

	assert_int_equal(run(&p, 30).finding_count, 0);
	p.scope = WG;
	expect_under_others(p, CT_SCHEDULE_RACE, 30);
}

TEST(a_message_published_before_its_data_is_found)
{
	struct ordered p = ordered_right(ORDERED_PUBLISH, 1, 2);

	p.careless = true;
	expect_under_others(p, CT_SCHEDULE_RACE, 30);
}

TEST(a_pop_of_a_head_that_came_back_is_found)
{
	struct ordered p = ordered_right(ORDERED_STACK, 1, 2);

	assert_int_equal(run(&p, 100).finding_count, 0);
	p.careless = true;
	expect_under_others(p, CT_SCHEDULE_WRONG, 100);
}

TEST(a_wait_that_nobody_ends_is_found)
{
	expect_under_others(ordered_right(ORDERED_ENDLESS, 1, 2), CT_SCHEDULE_ENDLESS, 30);
}

/* The states of the order by time are all consistent. */
TEST(a_crash_state_of_another_order_is_found)
{
	struct ordered p = ordered_right(ORDERED_CONSUME, 1, 2);

	run(&p, 30);
	assert_true(result.consistent);
	assert_true(result.states_distinct > 0);
	p.careless = true;
	run(&p, 1);
	assert_true(result.consistent);
	const struct ct_schedules found = run(&p, 30);

	assert_false(result.consistent);
	assert_int_equal(found.finding_count, 0); /* none without a crash */
	assert_true(found.failing > 0);
	assert_int_equal(result.finding_count, 1);
	assert_true(result.finding[0].schedule > 0);
	print_message("# found by schedule %llu\n", (unsigned long long)result.finding[0].schedule);
	assert_string_equal(result.finding[0].text, "a message was consumed that is lost");
}

/* ---- Replay -------------------------------------------------------------------------------------------- */

TEST(a_schedule_is_run_again_by_its_number)
{
	struct ordered p = ordered_right(ORDERED_STACK, 1, 2);

	p.careless = true;
	const struct ct_schedules found = run(&p, 100);
	const struct ct_schedule_named named = {
		.number = found.finding[0].first, .seed = found.seed, .depth = found.depth};
	json_t *const json = ct_schedule_json(&named);
	struct ct_schedule_named read;
	struct ct_schedules again;
	struct emu_config config;
	const struct ct_subject subject = {.workload = &ordered_workload, .config = &config, .mutation = -1};

	emu_config_default(&config);
	config.seed = 1;
	assert_true(ct_schedule_from_json(json, &read));
	json_decref(json);
	assert_ok(ct_schedule_again(&subject, &read, &again));
	assert_int_equal(again.finding_count, 1);
	assert_string_equal(again.finding[0].text, found.finding[0].text);
	read.number = 0;
	assert_ok(ct_schedule_again(&subject, &read, &again));
	assert_int_equal(again.finding_count, 0);
}
