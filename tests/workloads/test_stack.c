/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Treiber's stacks on the ideal machine (ideal.h): no node is lost or taken twice in any interleaving, every
 * state that memory passes through recovers, and the oracle notices what it must.
 */
#include "common/test.h"

#include <string.h>

#include "subject.h"
#include "workloads/stack/plan.h"

static const char small[] = "count=30 stacks=2 groups=2 group-size=4 payload=3";

extern const struct nvw_workload nvw_workload_stack;

/* Runs a plan; with every != 0, the power is cut after every so many stores. The counts are left of it. */
static struct subject run(const char *given, uint64_t seed, int mutation, uint64_t every)
{
	struct subject s = subject_begin(&nvw_workload_stack, given, seed, mutation, 4 << 20);
	const struct stack_plan *const p = s.plan;

	subject_run(&s, mutation, every);
	if (mutation < 0) {
		assert_int_equal(nvw_acked_count(ideal_acks()), p->count + p->taken);
	}
	subject_end(&s);
	return s;
}

TEST(no_node_is_lost_or_taken_twice_in_any_interleaving)
{
	static const char *const scopes[] = {"workgroup", "workitem"};
	static const unsigned sizes[] = {1, 4, 9}, stacks[] = {1, 3, 40}, takes[] = {0, 50, 100};

	for (unsigned seed = 1; seed <= 18; seed++) {
		run(formatted("count=50 groups=%u group-size=%u stacks=%u take=%u scope=%s", seed % 4 ? 5 : 1,
			    sizes[seed / 3 % 3], stacks[seed % 3], takes[seed / 2 % 3], scopes[seed % 2]),
			seed, STACK_UNMUTATED, 0);
	}
}

TEST(every_state_of_memory_recovers)
{
	uint64_t states = 0;

	for (unsigned seed = 1; seed <= 6; seed++) {
		states += run(small, seed, STACK_UNMUTATED, 1).states;
	}
	assert_true(states > 500);
}

/* Mutations that even strict persistency exposes; the others need reordered persists. */
TEST(bugs_that_need_no_reordering_are_found)
{
	static const enum stack_mutation bugs[] = {STACK_FILL_AFTER_PUBLISH, STACK_RACY_PUSH,
		STACK_STALE_LINK, STACK_TAKE_FIRST, STACK_TORN_ANNOUNCEMENT};

	for_each(bug, bugs) {
		uint64_t inconsistent = 0;

		for (unsigned seed = 1; seed <= 4 && inconsistent == 0; seed++) {
			inconsistent += run(small, seed, (int)*bug, 1).inconsistent;
		}
		if (inconsistent == 0) {
			fail_msg("%s was not found", stack_mutations[*bug].name);
		}
	}
}

/* ---- The oracle ----------------------------------------------------------------------------------- */

static struct stack_view view;

static uint64_t *node(struct nvw_pool *pool, uint64_t t)
{
	return subject_words(pool, stack_node(&view.layout, t));
}

/* The head of a stack that has two nodes at least. */
static uint64_t *head(struct nvw_pool *pool)
{
	NVW_FOR(s, view.layout.stacks) {
		uint64_t *const found = subject_words(pool, stack_head(&view.layout, s));

		if (*found != 0 && *subject_words(pool, *found) != 0) {
			return found;
		}
	}
	fail_msg("no stack has two nodes");
	return NULL;
}

static uint64_t first_node(struct nvw_pool *pool)
{
	return stack_node_number(&view.layout, *head(pool));
}

static void look(struct nvw_pool *pool)
{
	assert_ok(stack_view_open(pool, &view));
	/* Who has taken a node last still announces it: here nobody does. */
	memset(subject_words(pool, stack_announcement(&view.layout, 0)), 0, 8 * view.layout.work_items);
}

static void expect(subject_hook damage, const char *part)
{
	subject_expect(&nvw_workload_stack, small, look, damage, part);
}

static void lose_node(struct nvw_pool *pool)
{
	*head(pool) = *subject_words(pool, *head(pool));
}

static void announce_lost_node(struct nvw_pool *pool)
{
	const uint64_t t = first_node(pool);

	lose_node(pool);
	*subject_words(pool, stack_announcement(&view.layout, 3)) =
		stack_announcement_word(t, stack_of(&view.layout, t));
}

static void tear_node(struct nvw_pool *pool)
{
	node(pool, first_node(pool))[2] ^= 1;
}

static void tear_digest(struct nvw_pool *pool)
{
	node(pool, first_node(pool))[1 + view.layout.payload] ^= 1;
}

static void stray_link(struct nvw_pool *pool)
{
	*node(pool, first_node(pool)) += 8;
}

static void make_circle(struct nvw_pool *pool)
{
	uint64_t *const first = head(pool);

	*subject_words(pool, *subject_words(pool, *first)) = *first;
}

/* The first node that is on neither stack any more. */
static void bring_back(struct nvw_pool *pool)
{
	NVW_FOR(t, view.layout.nodes) {
		if (nvw_acked(ideal_acks(), view.layout.nodes + t)) {
			uint64_t *const at =
				subject_words(pool, stack_head(&view.layout, stack_of(&view.layout, t)));

			node(pool, t)[0] = *at;
			*at = stack_node(&view.layout, t);
			return;
		}
	}
	fail_msg("no node was taken");
}

static void swap_stacks(struct nvw_pool *pool)
{
	uint64_t *const a = subject_words(pool, stack_head(&view.layout, 0)),
			*const b = subject_words(pool, stack_head(&view.layout, 1)), kept = *a;

	*a = *b;
	*b = kept;
}

static void stray_announcement(struct nvw_pool *pool)
{
	const uint64_t t = first_node(pool);

	*subject_words(pool, stack_announcement(&view.layout, 3)) =
		stack_announcement_word(t, stack_of(&view.layout, t));
}

static void torn_announcement(struct nvw_pool *pool)
{
	*subject_words(pool, stack_announcement(&view.layout, 3)) = UINT64_C(1) << 32;
}

static void strange_root(struct nvw_pool *pool)
{
	subject_break_root(pool, STACK_EXTENT);
}

TEST(a_lost_node_is_noticed_unless_it_is_announced)
{
	expect(lose_node, "is lost: its push was acknowledged");
	expect(announce_lost_node, NULL);
}

TEST(a_torn_node_is_noticed)
{
	expect(tear_node, "its payload is not durable, or torn");
	expect(tear_digest, "its payload is not durable, or torn");
}

TEST(a_stack_that_leads_astray_is_noticed)
{
	expect(stray_link, "where no node begins");
	expect(make_circle, "a second time");
	expect(swap_stacks, "expected stack");
}

TEST(a_node_that_was_taken_is_noticed_on_a_stack)
{
	expect(bring_back, "its taking was acknowledged");
}

TEST(an_announcement_of_a_node_on_a_stack_is_withdrawn)
{
	expect(stray_announcement, NULL);
}

TEST(an_announcement_of_no_node_is_noticed)
{
	expect(torn_announcement, "which names no node of its stack");
}

TEST(a_root_that_names_no_extent_is_damage)
{
	expect(strange_root, "expected an allocated extent");
}

/* ---- Options -------------------------------------------------------------------------------------- */

TEST(bad_options_are_refused)
{
	static const struct subject_refusal bad[] = {
		{"count=0", "--count: expected 1 to"},
		{"stacks=0", "--stacks: expected 1 to 65536"},
		{"payload=31", "--payload: expected 0 to 30, found 31"},
		{"take=101", "--take: expected 0 to 100"},
		{"groups=1025", "--groups: expected 1 to 1024"},
		{"group-size=1025", "--group-size: expected 1 to 1024"},
	};

	subject_expect_refusals(&nvw_workload_stack, NVW_E_USAGE, bad);
}
