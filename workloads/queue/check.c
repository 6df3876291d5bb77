/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle of the queue: guarantees (1) to (6) of layout.h, on a recovered pool. It checks every ledger
 * record first, then every slot with all tickets that used it.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "plan.h"

struct check {
	struct queue_view v;
	const struct queue_plan *plan; /* NULL: structure only */
	const struct nvw_acks *acks;   /* NULL if plan is NULL */
	struct nvw_findings *findings;
	bool *is_done; /* message t has an effect */
	int error;
};

#define VIOLATION(c, off, ...) ((c)->error = nvw_violation((c)->findings, off, __VA_ARGS__))

/* ---- Effects -------------------------------------------------------------------------------------- */

/* (3), and (5): the slot shows that message t is consumed, by its state or by a later ticket. */
static void check_effect(
	struct check *c, nvw_off off, uint64_t consumer, uint64_t ticket, const uint64_t *words)
{
	const struct queue_view *const v = &c->v;
	const nvw_off slot = queue_slot(v->ring, v->payload, ticket % v->capacity);
	const struct queue_state s = queue_state_of(nvw_pool_word(v->pool, slot));

	for (unsigned i = 0; i < QUEUE_RESULTS; i++) {
		if (words[1 + i] != queue_result(c->plan ? c->plan->digests[ticket] : words[1], i)) {
			VIOLATION(c, off,
				"the effect of message %" PRIu64 " in the ledger of consumer %" PRIu64
				" does not match the message",
				ticket, consumer);
			break;
		}
	}
	if (c->is_done[ticket]) {
		VIOLATION(c, off,
			"message %" PRIu64 " was consumed twice, the second time by consumer %" PRIu64,
			ticket, consumer);
	}
	c->is_done[ticket] = true;
	if (s.phase == QUEUE_VIRGIN || s.ticket < ticket || (s.ticket == ticket && s.phase != QUEUE_DONE)) {
		VIOLATION(c, off,
			"consumer %" PRIu64 " has an effect of message %" PRIu64
			", which is not in the queue",
			consumer, ticket);
	}
}

static void check_ledger(struct check *c, uint64_t consumer)
{
	for (uint64_t i = 0; i < c->v.records; i++) {
		const nvw_off off = queue_record(c->v.ledgers, c->v.records, consumer, i);
		const uint64_t head = nvw_pool_word(c->v.pool, off);

		if (head > c->v.records) {
			VIOLATION(c, off,
				"record %" PRIu64 " of consumer %" PRIu64 " is of message %" PRIu64
				", which cannot exist",
				i, consumer, head - 1);
		} else if (head != 0) {
			check_effect(
				c, off, consumer, head - 1, nvw_pool_at(c->v.pool, off, QUEUE_RECORD_BYTES));
		}
	}
}

/* ---- Slots ---------------------------------------------------------------------------------------- */

static bool is_whole(const struct check *c, nvw_off slot, uint64_t ticket)
{
	const uint64_t *const words = nvw_pool_at(c->v.pool, slot, queue_slot_bytes(c->v.payload));
	uint64_t digest = queue_digest_begin(ticket);

	for (uint64_t i = 1; i <= c->v.payload; i++) {
		digest = queue_digest_add(digest, words[i]);
	}
	return words[1 + c->v.payload] == digest && (c->plan == NULL || c->plan->digests[ticket] == digest);
}

/* (2), (3), (6): the message named by the slot's state. */
static void check_state(struct check *c, nvw_off slot, struct queue_state s)
{
	if (s.phase == QUEUE_FULL && !is_whole(c, slot, s.ticket)) {
		VIOLATION(c, slot, "message %u is in the queue, but its payload is torn or not durable",
			s.ticket);
	}
	if (s.phase == QUEUE_DONE && !c->is_done[s.ticket]) {
		VIOLATION(c, slot,
			"message %u is lost: it is marked as consumed, but no ledger has its effect",
			s.ticket);
	}
	if (s.phase == QUEUE_CLAIMED) {
		VIOLATION(c, slot, "recovery left message %u claimed", s.ticket);
	}
}

/* (1) and (4): every ticket of the slot, before, at and after the one named by its state. */
static void check_acknowledged(struct check *c, nvw_off slot, uint64_t first, struct queue_state s)
{
	for (uint64_t t = first; t < c->v.records; t += c->v.capacity) {
		const bool is_past = s.phase != QUEUE_VIRGIN && t < s.ticket;
		const bool is_there = s.phase == QUEUE_FULL && t == s.ticket;

		if (is_past && !c->is_done[t]) {
			VIOLATION(c, slot,
				"message %" PRIu64
				" is lost: message %u is in its slot, and no ledger has its effect",
				t, s.ticket);
		} else if (c->acks != NULL && nvw_acked(c->acks, t) && !is_there && !c->is_done[t]) {
			VIOLATION(c, slot, "message %" PRIu64 " is lost: its production was acknowledged", t);
		}
		if (c->acks != NULL && nvw_acked(c->acks, c->v.records + t) && !c->is_done[t]) {
			VIOLATION(
				c, slot, "the effect of message %" PRIu64 " is lost: it was acknowledged", t);
		}
	}
}

static void check_slot(struct check *c, uint64_t i)
{
	const nvw_off slot = queue_slot(c->v.ring, c->v.payload, i);
	const uint64_t word = nvw_pool_word(c->v.pool, slot);
	const struct queue_state s = queue_state_of(word);

	if (word != 0 && (s.phase == QUEUE_VIRGIN || s.phase > QUEUE_DONE || s.ticket >= c->v.records ||
				 s.ticket % c->v.capacity != i)) {
		VIOLATION(c, slot,
			"slot %" PRIu64 " holds state 0x%016" PRIx64 ", which no operation writes there", i,
			word);
		return;
	}
	check_state(c, slot, s);
	check_acknowledged(c, slot, i, s);
}

/* ---- The whole ------------------------------------------------------------------------------------ */

int queue_check(void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	struct check c = {.plan = acks ? plan : NULL, .acks = acks, .findings = findings};

	if (queue_view_open(pool, &c.v) != 0) {
		return nvw_violation(
			findings, nvw_pool_root_off(nvw_pool_geometry(pool), 0), "%s", nvw_error_message());
	}
	if (c.v.ring == 0) {
		return acks != NULL && nvw_acked_count(acks) != 0 ?
			       nvw_violation(findings, 0, "the queue is lost: operations were acknowledged") :
			       0;
	}
	c.is_done = calloc(c.v.records + 1, sizeof *c.is_done);
	if (c.is_done == NULL) {
		return nvw_fail(NVW_E_MEMORY, "queue: no memory to check %" PRIu64 " messages", c.v.records);
	}
	for (uint64_t i = 0; i < c.v.consumers; i++) {
		check_ledger(&c, i);
	}
	for (uint64_t i = 0; i < c.v.capacity; i++) {
		check_slot(&c, i);
	}
	free(c.is_done);
	return c.error;
}
