/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work stealing with logs on the ideal machine (ideal.h): every task is carried out once in any interleaving,
 * every state that memory passes through recovers, and the oracle notices what it must.
 */
#include "common/test.h"

#include <string.h>

#include "subject.h"
#include "workloads/steal_log/plan.h"

static const char small[] = "tasks=6 groups=3 depth=4 spawn=70 skew=100 words=3 group-size=4";

extern const struct nvw_workload nvw_workload_steal_log;

/*
 * Runs a plan; with every != 0, the power is cut after every so many stores. The counts are left of it. Adds
 * what was stolen to *stolen, unless it is NULL.
 */
static struct subject run(const char *given, uint64_t seed, int mutation, uint64_t every, uint64_t *stolen)
{
	struct subject s = subject_begin(&nvw_workload_steal_log, given, seed, mutation, 4 << 20);
	const struct steal_plan *const p = s.plan;

	subject_run(&s, mutation, every);
	if (mutation < 0) {
		assert_int_equal(nvw_acked_count(ideal_acks()), p->count);
	}
	if (stolen != NULL) {
		*stolen += p->stolen;
	}
	subject_end(&s);
	return s;
}

TEST(every_task_is_carried_out_once_in_any_interleaving)
{
	static const char *const scenarios[] = {"scoped", "agent", "remote"};
	static const unsigned sizes[] = {1, 4, 9};
	uint64_t stolen[3] = {0};

	for (unsigned seed = 1; seed <= 18; seed++) {
		run(formatted("tasks=13 groups=%u depth=5 skew=60 words=6 group-size=%u scenario=%s",
			    seed % 4 ? 5 : 1, sizes[seed / 3 % 3], scenarios[seed % 3]),
			seed, STEAL_UNMUTATED, 0, &stolen[seed % 3]);
	}
	assert_int_equal(stolen[STEAL_SCOPED], 0);
	assert_true(stolen[STEAL_AGENT] > 10 && stolen[STEAL_REMOTE] > 10);
}

TEST(every_state_of_memory_recovers)
{
	uint64_t states = 0;

	for (unsigned seed = 1; seed <= 6; seed++) {
		states += run(small, seed, STEAL_UNMUTATED, 1, NULL).states;
	}
	assert_true(states > 500);
}

/* Mutations that even strict persistency exposes; the others need reordered persists. */
TEST(bugs_that_need_no_reordering_are_found)
{
	static const enum steal_mutation bugs[] = {
		STEAL_TORN_COMMIT, STEAL_OVERWRITTEN_RECORD, STEAL_RACY_STEAL};

	for_each(bug, bugs) {
		uint64_t inconsistent = 0;

		for (unsigned seed = 1; seed <= 4; seed++) {
			inconsistent += run(small, seed, (int)*bug, 1, NULL).inconsistent;
		}
		if (inconsistent == 0) {
			fail_msg("%s was not found", steal_mutations[*bug].name);
		}
	}
}

/* ---- The oracle ----------------------------------------------------------------------------------- */

static struct steal_view view;

static uint64_t *task(struct nvw_pool *pool, uint64_t t)
{
	return subject_words(pool, steal_task(view.tasks, view.words, t));
}

/* The record of task t. */
static uint64_t *record(struct nvw_pool *pool, uint64_t t)
{
	NVW_FOR(i, view.groups * view.records) {
		uint64_t *const words = subject_words(pool, steal_record(view.logs, view.words, view.records,
								    i / view.records, i % view.records));

		if (words[0] != 0 && steal_head_task(words[0]) == t) {
			return words;
		}
	}
	fail_msg("task %lu has no record", t);
	return NULL;
}

/* A root that has a child, or a task that was claimed. */
static uint64_t find(struct nvw_pool *pool, bool claimed)
{
	uint64_t t = 0;

	while (claimed ? (*task(pool, t) & 15) != STEAL_CLAIMED :
			 *task(pool, t + view.tree.roots) == STEAL_ABSENT) {
		t++;
	}
	return t;
}

static void look(struct nvw_pool *pool)
{
	assert_ok(steal_view_open(pool, &view));
}

static void expect(subject_hook damage, const char *part)
{
	subject_expect(&nvw_workload_steal_log, small, look, damage, part);
}

static void lose_result(struct nvw_pool *pool)
{
	record(pool, 0)[0] = 0;
}

static void lose_claimed_result(struct nvw_pool *pool)
{
	record(pool, find(pool, true))[0] = 0;
}

static void tear_result(struct nvw_pool *pool)
{
	record(pool, 0)[2] ^= 1;
}

/* In the last place of the last log, which nobody has got to. */
static void double_result(struct nvw_pool *pool)
{
	const uint64_t last = view.records - 1;
	uint64_t *const to =
		subject_words(pool, steal_record(view.logs, view.words, view.records, view.groups - 1, last));

	memcpy(to, record(pool, 0), 8 * (1 + view.words));
	to[0] = steal_head(0, last);
}

static void lose_child(struct nvw_pool *pool)
{
	*task(pool, find(pool, false) + view.tree.roots) = STEAL_ABSENT;
}

static void tear_child(struct nvw_pool *pool)
{
	task(pool, find(pool, false) + view.tree.roots)[1] ^= 1;
}

static void stray_claim(struct nvw_pool *pool)
{
	uint64_t *const state = task(pool, 0);

	*state = steal_claim_word(0, view.records - 1);
}

static void strange_state(struct nvw_pool *pool)
{
	*task(pool, 0) = 7;
}

static void stray_head(struct nvw_pool *pool)
{
	record(pool, 0)[0]++;
}

static void child_from_nowhere(struct nvw_pool *pool)
{
	uint64_t t = 0;

	while (*task(pool, t) != STEAL_ABSENT) {
		t++;
	}
	*task(pool, t) = STEAL_PRESENT;
}

static void strange_root(struct nvw_pool *pool)
{
	subject_break_root(pool, STEAL_LOGS);
}

TEST(a_lost_result_is_noticed)
{
	expect(lose_result, "the result of task 0 is lost: it was acknowledged");
	expect(lose_claimed_result, "is lost: it was acknowledged");
}

TEST(a_torn_result_is_noticed)
{
	expect(tear_result, "does not match its input");
}

TEST(a_second_result_is_noticed)
{
	expect(double_result, "task 0 has two results");
}

TEST(a_lost_or_torn_child_is_noticed)
{
	expect(lose_child, "is complete, but its child");
	expect(tear_child, "its input is torn or not durable");
}

TEST(what_nobody_writes_is_noticed)
{
	expect(strange_state, "task 0 has state 0x0000000000000007, which no operation writes");
	expect(stray_head, "which no operation writes there");
	expect(child_from_nowhere, "but no task creates it");
}

TEST(a_claim_without_its_result_is_withdrawn)
{
	expect(stray_claim, NULL);
}

TEST(a_root_that_names_no_tasks_is_damage)
{
	expect(strange_root, "expected allocated extents");
}

/* ---- Options -------------------------------------------------------------------------------------- */

TEST(bad_options_are_refused)
{
	static const struct subject_refusal bad[] = {
		{"tasks=0", "--tasks: expected 1 to"},
		{"spawn=101", "--spawn: expected 0 to 100, found 101"},
		{"depth=0", "--depth: expected 1 to"},
		{"groups=4096", "--groups: expected 1 to 4095"},
		{"skew=101", "--skew: expected 0 to 100"},
		{"words=64", "--words: expected 1 to 63"},
		{"group-size=1025", "--group-size: expected 1 to 1024"},
		{"tasks=1048576", "--tasks times --depth: expected at most 1048576"},
	};

	subject_expect_refusals(&nvw_workload_steal_log, NVW_E_USAGE, bad);
}
