/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The check of the queue in parts (nvw_parts): what check.c finds, of one slot, message or ledger record at a time.
 *
 *	shape		the root words name the ring and the ledgers of the plan
 *	slot s		its state is one that some operation writes there; the message that it names is whole, or has its
 *			effect; the message that was in the slot before it has its effect
 *	message t	if it does not have its effect: neither its production nor its effect is acknowledged, unless it is in
 *			the slot
 *	record (c, i)	is of a message that can exist and matches it; no record before it is of the same message; the
 *			message that was in the slot before has its effect; so has the next one, or the slot shows that this
 *			message is consumed
 *
 * Together these are check.c's guarantees, by induction over the messages of a slot. A slot that names a message names none
 * without whose predecessors' effects it may be: the last of them has its effect (slot), and each that has it has the
 * one before it (record). And a record is of a message that the slot has had: either it is the last one with an
 * effect and the slot says so, or the same holds of the next. A message does not ask its slot about later ones, nor a record
 * its slot once there is a later effect: else each change of a slot would try all messages of the run again.
 *
 * What check.c keeps in a table, whether a message has its effect, is asked here of the records that name the message
 * (nvw_pool_holders()): a record that never names it in any version does not matter.
 *
 * Recovery (view.c) changes states only: to DONE if the message has its effect, else from CLAIMED to FULL.
 */
#include <inttypes.h>
#include <stdio.h>

#include "common/roots.h"
#include "plan.h"

enum { HOLDERS_MAX = 64 };

struct part {
	struct queue_view v;
	const struct queue_plan *plan;
	const struct nvw_acks *acks;
	struct nvw_findings *findings;
};

static uint64_t count(const void *plan, const struct nvw_pool_geometry *g)
{
	const struct queue_plan *const p = plan;

	(void)g;
	return 1 + p->capacity + p->count + p->consumers * p->count;
}

/* A record's head is the message's number and one. */
static uint64_t key(const void *plan, uint64_t word)
{
	return word <= ((const struct queue_plan *)plan)->count ? word : 0;
}

/* Is there a record at off? */
static bool is_record(const struct part *p, nvw_off off)
{
	const uint64_t ledger = queue_ledger_bytes(p->v.records), in = off - p->v.ledgers;

	return off >= p->v.ledgers && in / ledger < p->v.consumers && in % ledger % QUEUE_RECORD_BYTES == 0 &&
	       in % ledger / QUEUE_RECORD_BYTES < p->v.records;
}

/* The record before this place that has the message's effect, 0: none. */
static nvw_off effect_of(const struct part *p, uint64_t ticket, nvw_off before)
{
	nvw_off off[HOLDERS_MAX];
	const unsigned holders = nvw_pool_holders(p->v.pool, ticket + 1, off, HOLDERS_MAX);

	for (unsigned i = 0; i < holders && i < HOLDERS_MAX && off[i] < before; i++) {
		if (is_record(p, off[i]) && nvw_pool_word(p->v.pool, off[i]) == ticket + 1) {
			return off[i];
		}
	}
	return 0;
}

static bool is_done(const struct part *p, uint64_t ticket)
{
	return effect_of(p, ticket, UINT64_MAX) != 0;
}

/* The state that an operation wrote, before recovery; false if none writes it there. */
static bool read_state(const struct part *p, uint64_t slot, struct queue_state *ret_state)
{
	const uint64_t word = nvw_pool_word(p->v.pool, queue_slot(p->v.ring, p->v.payload, slot));
	const struct queue_state s = queue_state_of(word);

	*ret_state = s;
	return word == 0 || (s.phase != QUEUE_VIRGIN && s.phase <= QUEUE_DONE && s.ticket < p->v.records &&
				    s.ticket % p->v.capacity == slot);
}

/* ---- The parts ------------------------------------------------------------------------------------ */

static int check_shape(const struct part *p)
{
	const struct queue_plan *const plan = p->plan;

	if (p->v.ring == 0) {
		return nvw_acked_count(p->acks) != 0 ?
			       nvw_violation(
				       p->findings, 0, "the queue is lost: operations were acknowledged") :
			       0;
	}
	return p->v.capacity != plan->capacity || p->v.payload != plan->payload ||
			       p->v.records != plan->count || p->v.consumers != plan->consumers ?
		       nvw_violation(p->findings, 0, "the queue has another shape than planned") :
		       0;
}

static bool is_whole(const struct part *p, nvw_off slot, uint64_t ticket)
{
	const uint64_t *const words = nvw_pool_at(p->v.pool, slot + 8, 8 * (p->v.payload + 1));
	uint64_t digest = queue_digest_begin(ticket);

	for (uint64_t i = 0; i < p->v.payload; i++) {
		digest = queue_digest_add(digest, words[i]);
	}
	return words[p->v.payload] == digest && p->plan->digests[ticket] == digest;
}

/* Of a later message in its slot, or with an effect. */
static int check_last(const struct part *p, nvw_off off, uint64_t ticket)
{
	return ticket < p->v.capacity || is_done(p, ticket - p->v.capacity) ?
		       0 :
		       nvw_violation(p->findings, off,
			       "message %" PRIu64 " is lost: message %" PRIu64
			       " is in its slot, and no ledger has its effect",
			       ticket - p->v.capacity, ticket);
}

static int check_slot(const struct part *p, uint64_t i)
{
	const nvw_off slot = queue_slot(p->v.ring, p->v.payload, i);
	struct queue_state s;

	if (!read_state(p, i, &s)) {
		return nvw_violation(p->findings, slot,
			"slot %" PRIu64 " holds state 0x%016" PRIx64 ", which no operation writes there", i,
			nvw_pool_word(p->v.pool, slot));
	}
	if (s.phase == QUEUE_DONE && !is_done(p, s.ticket)) {
		return nvw_violation(p->findings, slot,
			"message %u is lost: it is marked as consumed, but no ledger has its effect",
			s.ticket);
	}
	if ((s.phase == QUEUE_FULL || s.phase == QUEUE_CLAIMED) && !is_done(p, s.ticket) &&
		!is_whole(p, slot, s.ticket)) {
		return nvw_violation(p->findings, slot,
			"message %u is in the queue, but its payload is torn or not durable", s.ticket);
	}
	return s.phase == QUEUE_VIRGIN ? 0 : check_last(p, slot, s.ticket);
}

/* Once its effect is certain, nothing else matters to a message, and before an acknowledgement only its effect. */
static int check_message(const struct part *p, uint64_t t)
{
	const nvw_off slot = queue_slot(p->v.ring, p->v.payload, t % p->v.capacity);
	struct queue_state s;

	if (is_done(p, t)) {
		return 0;
	}
	if (nvw_acked(p->acks, p->v.records + t)) {
		return nvw_violation(p->findings, slot,
			"the effect of message %" PRIu64 " is lost: it was acknowledged", t);
	}
	return nvw_acked(p->acks, t) && read_state(p, t % p->v.capacity, &s) &&
			       ((s.phase != QUEUE_FULL && s.phase != QUEUE_CLAIMED) || s.ticket != t) ?
		       nvw_violation(p->findings, slot,
			       "message %" PRIu64 " is lost: its production was acknowledged", t) :
		       0;
}

static int check_effect(const struct part *p, nvw_off off, uint64_t consumer, uint64_t t)
{
	struct queue_state s;
	int error = 0;

	for (unsigned i = 0; i < QUEUE_RESULTS && !error; i++) {
		if (nvw_pool_word(p->v.pool, off + 8 * (1 + i)) != queue_result(p->plan->digests[t], i)) {
			error = nvw_violation(p->findings, off,
				"the effect of message %" PRIu64 " in the ledger of consumer %" PRIu64
				" does not match the message",
				t, consumer);
		}
	}
	if (effect_of(p, t, off) != 0) {
		error = nvw_violation(p->findings, off,
			"message %" PRIu64 " was consumed twice, the second time by consumer %" PRIu64, t,
			consumer);
	}
	error = check_last(p, off, t) ? NVW_E_INCONSISTENT : error;
	if (is_done(p, t + p->v.capacity)) {
		return error; /* whose record says what the slot shows */
	}
	(void)read_state(p, t % p->v.capacity, &s);
	if (s.phase == QUEUE_VIRGIN || s.ticket < t || (s.ticket == t && s.phase == QUEUE_WRITING) ||
		(s.ticket == t && s.phase > QUEUE_DONE)) {
		error = nvw_violation(p->findings, off,
			"consumer %" PRIu64 " has an effect of message %" PRIu64
			", which is not in the queue",
			consumer, t);
	}
	return error;
}

static int check_record(const struct part *p, uint64_t consumer, uint64_t i)
{
	const nvw_off off = queue_record(p->v.ledgers, p->v.records, consumer, i);
	const uint64_t head = nvw_pool_word(p->v.pool, off);

	if (head > p->v.records) {
		return nvw_violation(p->findings, off,
			"record %" PRIu64 " of consumer %" PRIu64 " is of message %" PRIu64
			", which cannot exist",
			i, consumer, head - 1);
	}
	return head == 0 ? 0 : check_effect(p, off, consumer, head - 1);
}

static int check(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks, uint64_t part,
	struct nvw_findings *findings)
{
	const struct queue_plan *const q = plan;
	struct part p = {.plan = q, .acks = acks, .findings = findings};

	if (queue_view_open((struct nvw_pool *)(uintptr_t)pool, &p.v) != 0) {
		return roots_refused(pool, part, findings);
	}
	if (part == 0) {
		return check_shape(&p);
	}
	part--;
	if (p.v.ring == 0) {
		return 0;
	}
	if (part < q->capacity) {
		return check_slot(&p, part);
	}
	part -= q->capacity;
	return part < q->count ? check_message(&p, part) :
				 check_record(&p, part / q->count - 1, part % q->count);
}

static void name(const void *plan, uint64_t part, char *ret_name, size_t bytes)
{
	const struct queue_plan *const q = plan;

	if (part == 0) {
		snprintf(ret_name, bytes, "the queue's shape");
	} else if (part - 1 < q->capacity) {
		snprintf(ret_name, bytes, "slot %" PRIu64, part - 1);
	} else if (part - 1 - q->capacity < q->count) {
		snprintf(ret_name, bytes, "message %" PRIu64, part - 1 - q->capacity);
	} else {
		part -= 1 + q->capacity + q->count;
		snprintf(ret_name, bytes, "record %" PRIu64 " of consumer %" PRIu64, part % q->count,
			part / q->count);
	}
}

const struct nvw_parts queue_parts = {.count = count, .check = check, .key = key, .name = name};
