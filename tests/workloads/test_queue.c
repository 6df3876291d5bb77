/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue on the ideal machine (ideal.h): every message has one effect in any interleaving, every state
 * that memory passes through recovers, and the oracle notices what it must.
 */
#include "common/test.h"

#include <string.h>

#include "subject.h"
#include "workloads/queue/plan.h"

static const char small[] = "count=40 producers=2 consumers=2 capacity=16 group-size=8 payload=3";

extern const struct nvw_workload nvw_workload_queue;

/* Runs a plan; with every != 0, the power is cut after every so many stores. The counts are left of it. */
static struct subject run(const char *given, uint64_t seed, int mutation, uint64_t every)
{
	struct subject s = subject_begin(&nvw_workload_queue, given, seed, mutation, 4 << 20);
	const struct queue_plan *const p = s.plan;
	uint64_t consumed = 0;

	subject_run(&s, mutation, every);
	NVW_EACH(one, p->consumed, p->consumers) {
		consumed += *one;
	}
	if (mutation < 0) {
		assert_int_equal(consumed, p->count);
		assert_int_equal(nvw_acked_count(ideal_acks()), 2 * p->count);
	}
	subject_end(&s);
	return s;
}

static const char *const scopes[] = {"workitem", "workgroup"}, *const releases[] = {"durable", "visible"};

TEST(every_message_has_one_effect_in_any_interleaving)
{
	static const char *const placements[] = {"apart", "together"};
	static const unsigned counts[] = {1, 8, 37, 96}, producers[] = {1, 3, 3};

	for (unsigned seed = 1; seed <= 16; seed++) {
		run(formatted("count=%u producers=%u consumers=%u capacity=16 "
			      "group-size=8 payload=5 scope=%s release=%s placement=%s",
			    counts[seed % 4], producers[seed % 3], seed % 5 ? 2 : 4, scopes[seed / 2 % 2],
			    releases[seed / 4 % 2], placements[seed % 2]),
			seed, QUEUE_UNMUTATED, 0);
	}
}

TEST(every_state_of_memory_recovers)
{
	uint64_t states = 0;

	for (unsigned seed = 1; seed <= 4; seed++) {
		states += run(formatted("%s scope=%s release=%s", small, scopes[(seed + 1) % 2],
				      releases[(seed / 2 + 1) % 2]),
			seed, QUEUE_UNMUTATED, 1)
				  .states;
	}
	assert_true(states > 1500);
}

/* Mutations that even strict persistency exposes; the others need reordered persists. */
TEST(bugs_that_need_no_reordering_are_found)
{
	static const enum queue_mutation bugs[] = {
		QUEUE_TORN_STATE, QUEUE_MARK_BEFORE_EFFECT, QUEUE_RACY_TICKETS};

	for_each(bug, bugs) {
		if (run(small, 1, (int)*bug, 1).inconsistent == 0) {
			fail_msg("%s was not found", queue_mutations[*bug].name);
		}
	}
}

/* ---- The oracle ----------------------------------------------------------------------------------- */

static struct queue_view view;

static uint64_t *slot(struct nvw_pool *pool, uint64_t i)
{
	return subject_words(pool, queue_slot(view.ring, view.payload, i));
}

static uint64_t *record(struct nvw_pool *pool, uint64_t consumer, uint64_t i)
{
	return subject_words(pool, queue_record(view.ledgers, view.records, consumer, i));
}

/* The effect of the message that slot 3 had last. */
static uint64_t *effect(struct nvw_pool *pool)
{
	const uint64_t head = (uint64_t)queue_state_of(*slot(pool, 3)).ticket + 1;
	uint64_t i = 0;

	while (*record(pool, i / view.records, i % view.records) != head) {
		i++;
	}
	return record(pool, i / view.records, i % view.records);
}

static void set_phase(struct nvw_pool *pool, enum queue_phase phase)
{
	*slot(pool, 3) = queue_state_word(phase, queue_state_of(*slot(pool, 3)).ticket);
}

static void look(struct nvw_pool *pool)
{
	assert_ok(queue_view_open(pool, &view));
}

static void expect(subject_hook damage, const char *part)
{
	subject_expect(&nvw_workload_queue, small, look, damage, part);
}

static void lose_effect(struct nvw_pool *pool)
{
	effect(pool)[0] = 0;
}

static void tear_effect(struct nvw_pool *pool)
{
	effect(pool)[2] ^= 1;
}

static void double_effect(struct nvw_pool *pool)
{
	memcpy(record(pool, 1, view.records - 1), effect(pool), QUEUE_RECORD_BYTES);
}

static void forget_message(struct nvw_pool *pool)
{
	set_phase(pool, QUEUE_WRITING);
}

static void claim_with_effect(struct nvw_pool *pool)
{
	set_phase(pool, QUEUE_CLAIMED);
}

static void mark_lost(struct nvw_pool *pool)
{
	set_phase(pool, QUEUE_FULL);
}

static void claim_without_effect(struct nvw_pool *pool)
{
	effect(pool)[0] = 0;
	set_phase(pool, QUEUE_CLAIMED);
}

static void claim_of_torn_message(struct nvw_pool *pool)
{
	claim_without_effect(pool);
	slot(pool, 3)[2] ^= 1;
}

/* As if its producer had never been there. */
static void wipe_message(struct nvw_pool *pool)
{
	effect(pool)[0] = 0;
	*slot(pool, 3) = 0;
}

/* The word behind the payload, which says that all of it is there. */
static void claim_of_torn_digest(struct nvw_pool *pool)
{
	claim_without_effect(pool);
	slot(pool, 3)[1 + view.payload] ^= 1;
}

static void stray_state(struct nvw_pool *pool)
{
	*slot(pool, 4) = *slot(pool, 3);
}

static void stray_record(struct nvw_pool *pool)
{
	effect(pool)[0] = view.records + 1;
}

static void strange_root(struct nvw_pool *pool)
{
	subject_break_root(pool, QUEUE_LEDGERS);
}

TEST(a_lost_effect_is_noticed)
{
	expect(lose_effect, "is lost");
	expect(claim_without_effect, "the effect of message 35 is lost: it was acknowledged");
	expect(wipe_message, "message 35 is lost: its production was acknowledged");
}

TEST(a_torn_effect_is_noticed)
{
	expect(tear_effect, "does not match the message");
}

TEST(a_second_effect_is_noticed)
{
	expect(double_effect, "was consumed twice");
}

TEST(an_effect_without_its_message_is_noticed)
{
	expect(forget_message, "which is not in the queue");
}

TEST(a_torn_message_is_noticed)
{
	expect(claim_of_torn_message, "its payload is torn or not durable");
	expect(claim_of_torn_digest, "its payload is torn or not durable");
}

TEST(a_word_that_nobody_writes_is_noticed)
{
	expect(stray_state, "which no operation writes there");
	expect(stray_record, "which cannot exist");
}

TEST(a_message_with_its_effect_is_done_after_recovery)
{
	expect(claim_with_effect, NULL);
	expect(mark_lost, NULL);
}

TEST(a_root_that_names_no_queue_is_damage)
{
	expect(strange_root, "expected allocated extents");
}

/* ---- Options -------------------------------------------------------------------------------------- */

TEST(bad_options_are_refused)
{
	static const struct subject_refusal bad[] = {
		{"count=0", "--count: expected 1 to"},
		{"producers=0", "--producers: expected 1 to"},
		{"consumers=256", "--consumers: expected 1 to 255, found 256"},
		{"payload=63", "--payload: expected 1 to 62"},
		{"group-size=0", "--group-size"},
		{"capacity=100", "expected a multiple of --group-size=64, found 100"},
	};

	subject_expect_refusals(&nvw_workload_queue, NVW_E_USAGE, bad);
}

TEST(more_work_groups_than_the_machine_holds_are_refused)
{
	struct subject s =
		subject_begin(&nvw_workload_queue, "producers=8 consumers=1", 1, QUEUE_UNMUTATED, 4 << 20);

	assert_ok(queue_setup(s.plan, s.machine));
	assert_int_equal(queue_run(s.plan, s.machine), NVW_E_USAGE);
	assert_error_has("expected at most 512 work-items at a time");
	subject_end(&s);
}
