/* SPDX-License-Identifier: BSD-3-Clause */
/* The seeded bugs of the queue: for each, the steps that it replaces. */
#define NVW_NOT_COVERED
#include <assert.h>

#include "steps.h"

/* ---- Turns and states ----------------------------------------------------------------------------- */

/* Two consumers may draw the same batch. */
static uint64_t draw_in_two(const struct queue_args *a, uint64_t *next)
{
	uint64_t batch;

	if (next != a->head) {
		return nvw_atomic_add(next, 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	}
	batch = nvw_atomic_load(next, NVW_RELAXED, NVW_SCOPE_AGENT);
	nvw_atomic_store(next, batch + 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	return batch;
}

/* Odd turns are consumers'. */
static void acquire_in_group(uint64_t *turn, uint64_t wanted)
{
	(void)nvw_atomic_load(turn, NVW_ACQUIRE, (wanted & 1) != 0 ? NVW_SCOPE_WORKGROUP : NVW_SCOPE_AGENT);
}

static void store_state_in_halves(uint64_t *state, uint64_t word)
{
	nvw_store((uint32_t *)state + 1, (uint32_t)(word >> 32));
	nvw_store((uint32_t *)state, (uint32_t)word);
}

/* ---- Omitted steps ------------------------------------------------------------------------------------ */

static void do_nothing(const struct queue_args *a, const struct queue_message *m)
{
}

static void order_nothing(const struct queue_args *a)
{
}

static void order_own_words(const struct queue_args *a)
{
	ORDER_WITHIN(a, NVW_WORKITEM);
}

/* ---- Early steps -------------------------------------------------------------------------------------- */

static void acknowledge_production_first(const struct queue_args *a, const struct queue_message *m)
{
	queue_acknowledge(m, m->ticket);
	nvw_p_barrier_wi();
}

static void claim_and_mark_done(const struct queue_args *a, const struct queue_message *m)
{
	queue_set_state(a, m, QUEUE_CLAIMED);
	queue_set_state(a, m, QUEUE_DONE);
	ORDER(a);
}

static void mark_done_with_effect(const struct queue_args *a, const struct queue_message *m)
{
	queue_set_state(a, m, QUEUE_DONE);
	nvw_p_barrier_wi();
	queue_acknowledge(m, a->plan->count + m->ticket);
}

static void acknowledge_effect_first(const struct queue_args *a, const struct queue_message *m)
{
	queue_acknowledge(m, a->plan->count + m->ticket);
	nvw_p_barrier_wi();
}

/* ---- After a crash ---------------------------------------------------------------------------------- */

/* As if no record before the last one were empty. */
static uint64_t place_behind_as_many(const struct queue_args *a, uint64_t consumer, uint64_t i)
{
	return a->rest->used[consumer] + i;
}

/* ---- The table ------------------------------------------------------------------------------------ */

const struct nvw_mutation queue_mutations[] = {
	[QUEUE_PUBLISH_BEFORE_PAYLOAD] = {"publish-before-payload",
		"no persist barrier between a message and the state that publishes it", "observed", NULL},
	[QUEUE_NARROW_SCOPE] = {"narrow-scope",
		"work-item scope where work-items publish messages written by others of the group",
		"buffered-epoch",
		"count=64 producers=1 consumers=1 capacity=32 group-size=16 payload=6 scope=workgroup"},
	[QUEUE_ACK_BEFORE_BARRIER] = {"ack-before-barrier",
		"productions are acknowledged before the barrier that makes them durable", "observed", NULL},
	[QUEUE_NO_TAKE_OVER] = {"no-take-over",
		"a slot is reused before its durable state says so: the previous message may still be needed",
		"buffered-epoch", NULL},
	[QUEUE_TORN_STATE] = {"torn-state", "a slot's state is written in two halves", "epoch", NULL},
	[QUEUE_VISIBLE_IS_DURABLE] = {"visible-is-durable",
		"producers release instead of persisting, and consumers treat visible messages as durable "
		"(gope18 6.2)",
		"epoch", NULL},
	[QUEUE_NO_CLAIM] = {"no-claim",
		"consumers claim nothing: their barriers do not cover the messages they read",
		"buffered-epoch", NULL},
	[QUEUE_NARROW_ACQUIRE] = {"narrow-acquire",
		"consumers acquire with work-group scope: they may read a message of an earlier lap",
		"observed", "count=512 producers=1 consumers=1 capacity=32 group-size=16 payload=6"},
	[QUEUE_COMMIT_BEFORE_RECORD] = {"commit-before-record",
		"no persist barrier between a ledger record and the head that commits it", "observed", NULL},
	[QUEUE_MARK_BEFORE_EFFECT] = {"mark-before-effect",
		"messages are marked as consumed before their effect", "observed", NULL},
	[QUEUE_MARK_WITH_EFFECT] = {"mark-with-effect",
		"no persist barrier between an effect and the mark that its message is consumed", "observed",
		NULL},
	[QUEUE_EFFECT_ACK_EARLY] = {"effect-ack-early",
		"effects are acknowledged before the barrier that makes them durable", "observed", NULL},
	[QUEUE_NARROW_EFFECT] = {"narrow-effect",
		"work-item scope where work-items commit records written by others of the group",
		"buffered-epoch",
		"count=64 producers=1 consumers=1 capacity=32 group-size=16 payload=6 scope=workgroup"},
	[QUEUE_RACY_TICKETS] = {"racy-tickets", "two consumers may draw the same tickets", "kill", NULL},
	[QUEUE_COUNTED_RECORDS] = {"counted-records",
		"after a crash, consumers write behind as many records as their ledger has: behind an empty "
		"one, effects are overwritten",
		"and-then", "count=96 producers=2 consumers=2 capacity=32 group-size=16"},
	{NULL, NULL, NULL, NULL},
};

/* As the sources above say; not from what the tester printed. */
const struct nvw_lack queue_lacks[] = {
	{"publish-before-payload", "barrier work-item write_word store_state"},
	{"narrow-scope", "barrier work-group write_word store_state"},
	{"ack-before-barrier", "barrier work-item store_state ack"},
	{"no-take-over", "barrier kernel commit|store_state write_word"},
	{"torn-state", "atomic store_state_in_halves; exchange store_state_in_halves store_state_in_halves"},
	{"visible-is-durable", "barrier kernel store_state commit"},
	{"no-claim", "barrier kernel store_state commit"},
	{"narrow-acquire", "none"},
	{"commit-before-record", "barrier work-item write_records commit"},
	{"mark-before-effect", "exchange commit store_state; atomic store_state|write_records|commit"},
	{"mark-with-effect", "barrier work-item commit store_state"},
	{"effect-ack-early", "barrier work-item commit ack"},
	{"narrow-effect", "barrier work-group write_records commit"},
	{"racy-tickets", "none"},
	{NULL, NULL},
};

const struct queue_steps *queue_replaced(enum queue_mutation mutation)
{
	static const struct queue_steps none,
		replaced[] = {
			[QUEUE_PUBLISH_BEFORE_PAYLOAD] = {.order_message = order_nothing},
			[QUEUE_NARROW_SCOPE] = {.order_message = order_own_words},
			[QUEUE_ACK_BEFORE_BARRIER] = {.complete_production = acknowledge_production_first},
			[QUEUE_NO_TAKE_OVER] = {.take_over = do_nothing},
			[QUEUE_NO_CLAIM] = {.claim = do_nothing},
			[QUEUE_VISIBLE_IS_DURABLE] = {.complete_production = do_nothing, .claim = do_nothing},
			[QUEUE_NARROW_ACQUIRE] = {.acquire = acquire_in_group},
			[QUEUE_TORN_STATE] = {.store_state = store_state_in_halves},
			[QUEUE_COMMIT_BEFORE_RECORD] = {.order_records = order_nothing},
			[QUEUE_MARK_BEFORE_EFFECT] = {.claim = claim_and_mark_done, .mark_done = do_nothing},
			[QUEUE_MARK_WITH_EFFECT] = {.complete_effect = mark_done_with_effect,
				.mark_done = do_nothing},
			[QUEUE_EFFECT_ACK_EARLY] = {.complete_effect = acknowledge_effect_first},
			[QUEUE_NARROW_EFFECT] = {.order_records = order_own_words},
			[QUEUE_RACY_TICKETS] = {.draw = draw_in_two},
			[QUEUE_COUNTED_RECORDS] = {.place = place_behind_as_many},
		};

	assert(mutation == QUEUE_UNMUTATED || (size_t)mutation < sizeof(replaced) / sizeof(*replaced));
	return mutation == QUEUE_UNMUTATED ? &none : &replaced[mutation];
}
