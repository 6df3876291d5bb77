/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the check states of a queue, of one slot, message or ledger record at a time (nvw_parts). check.c
 * calls every part on a recovered pool.
 *
 *	shape		the root words name the ring and the ledgers of the plan
 *	slot s		its state is one that some operation writes there; the message that it names is whole,
 *			or has its effect; the message that was in the slot before it has its effect
 *	message t	if it does not have its effect: neither its production nor its effect is acknowledged,
 *			unless it is in the slot
 *	record (c, i)	is of a message that can exist and matches it; no record before it is of the same
 *			message; the message that was in the slot before has its effect; so has the next one,
 *			or the slot shows that this message is consumed
 *
 * Together these are guarantees (1) to (5) of layout.h, by induction over the messages of a slot. A slot that
 * names a message names none without whose predecessors' effects it may be: the last of them has its effect
 * (slot), and each that has it has the one before it (record). And a record is of a message that the slot has
 * had: either it is the last one with an effect and the slot says so, or the same holds of the next. A
 * message does not ask its slot about later ones, nor a record its slot once there is a later effect: else
 * each change of a slot would try all messages of the run again.
 *
 * Whether a message has its effect is asked of the records that name the message (nvw_pool_holders()): a
 * record that never names it in any version does not matter. check.c makes a table of them.
 *
 * Recovery (view.c) changes states only: to DONE if the message has its effect, else from CLAIMED to FULL. A
 * part accepts the states before and after it.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "check.h"
#include "common/roots.h"

enum { HOLDERS_MAX = 64 };

uint64_t queue_part_count(const struct queue_view *v)
{
	return 1 + v->capacity + v->records + v->consumers * v->records;
}

static uint64_t count(const void *plan, const struct nvw_pool_geometry *g)
{
	const struct queue_plan *const p = plan;

	return 1 + p->capacity + p->count + p->consumers * p->count;
}

/* A record's head is the message's number and one. */
static uint64_t key(const void *plan, uint64_t word)
{
	return word <= ((const struct queue_plan *)plan)->count ? word : 0;
}

/* Is there a record at off? */
static bool is_record(const struct queue_view *v, nvw_off off)
{
	const uint64_t ledger = queue_ledger_bytes(v->records), in = off - v->ledgers;

	return off >= v->ledgers && in / ledger < v->consumers && in % ledger % QUEUE_RECORD_BYTES == 0 &&
	       in % ledger / QUEUE_RECORD_BYTES < v->records;
}

/* Has a record before this place the message's effect? */
static bool has_effect(const struct queue_case *c, uint64_t ticket, nvw_off before)
{
	nvw_off off[HOLDERS_MAX];

	if (c->effects) {
		return ticket < c->v.records && c->effects[ticket] != 0 && c->effects[ticket] < before;
	}
	const unsigned holders = nvw_pool_holders(c->v.pool, ticket + 1, off, HOLDERS_MAX);

	for (unsigned i = 0; i < holders && i < HOLDERS_MAX && off[i] < before; i++) {
		if (is_record(&c->v, off[i]) && nvw_pool_word(c->v.pool, off[i]) == ticket + 1) {
			return true;
		}
	}
	return false;
}

bool queue_is_done(const struct queue_case *c, uint64_t ticket)
{
	return has_effect(c, ticket, UINT64_MAX);
}

/* The state that an operation wrote; false if none writes it there. */
static bool read_state(const struct queue_view *v, uint64_t slot, struct queue_state *ret_state)
{
	const uint64_t word = nvw_pool_word(v->pool, queue_slot(v->ring, v->payload, slot));
	const struct queue_state s = queue_state_of(word);

	*ret_state = s;
	return word == 0 || (s.phase != QUEUE_VIRGIN && s.phase <= QUEUE_DONE && s.ticket < v->records &&
				    s.ticket % v->capacity == slot);
}

/* Recovery leaves the message in its slot, unless it has its effect. */
static bool is_in_slot(struct queue_state s)
{
	return s.phase == QUEUE_FULL || s.phase == QUEUE_CLAIMED;
}

/* ---- The parts ------------------------------------------------------------------------------------ */

static bool is_as_planned(const struct queue_case *c)
{
	const struct queue_plan *const p = c->plan;

	return !p || (c->v.capacity == p->capacity && c->v.payload == p->payload &&
			     c->v.records == p->count && c->v.consumers == p->consumers);
}

static int check_shape(const struct queue_case *c)
{
	if (c->v.ring == 0 && c->acks && nvw_acked_count(c->acks) != 0) {
		return nvw_violation(c->findings, 0, "the queue is lost: operations were acknowledged");
	}
	if (c->v.ring != 0 && !is_as_planned(c)) {
		return nvw_violation(c->findings, 0, "the queue has another shape than planned");
	}
	return 0;
}

static bool is_whole(const struct queue_case *c, nvw_off slot, uint64_t ticket)
{
	const uint64_t *const words = nvw_pool_at(c->v.pool, slot + 8, 8 * (c->v.payload + 1));
	uint64_t digest = queue_digest_begin(ticket);

	NVW_FOR(i, c->v.payload) {
		digest = queue_digest_add(digest, words[i]);
	}
	return words[c->v.payload] == digest && (!c->plan || c->plan->digests[ticket] == digest);
}

/* The message that was in the slot before this one, which is there now or has its effect. */
static int check_last(const struct queue_case *c, nvw_off off, uint64_t ticket)
{
	if (ticket < c->v.capacity || queue_is_done(c, ticket - c->v.capacity)) {
		return 0;
	}
	return nvw_violation(c->findings, off,
		"message %" PRIu64 " is lost: message %" PRIu64
		" is in its slot, and no ledger has its effect",
		ticket - c->v.capacity, ticket);
}

static int check_slot(const struct queue_case *c, uint64_t i)
{
	const nvw_off slot = queue_slot(c->v.ring, c->v.payload, i);
	struct queue_state s;

	if (!read_state(&c->v, i, &s)) {
		return nvw_violation(c->findings, slot,
			"slot %" PRIu64 " holds state 0x%016" PRIx64 ", which no operation writes there", i,
			nvw_pool_word(c->v.pool, slot));
	}
	if (s.phase == QUEUE_DONE && !queue_is_done(c, s.ticket)) {
		return nvw_violation(c->findings, slot,
			"message %u is lost: it is marked as consumed, but no ledger has its effect",
			s.ticket);
	}
	if (is_in_slot(s) && !queue_is_done(c, s.ticket) && !is_whole(c, slot, s.ticket)) {
		return nvw_violation(c->findings, slot,
			"message %u is in the queue, but its payload is torn or not durable", s.ticket);
	}
	return s.phase == QUEUE_VIRGIN ? 0 : check_last(c, slot, s.ticket);
}

/* Once its effect is certain, nothing else matters to a message, and before an acknowledgement only its
 * effect. */
static int check_message(const struct queue_case *c, uint64_t t)
{
	const uint64_t i = t % c->v.capacity;
	const nvw_off slot = queue_slot(c->v.ring, c->v.payload, i);
	struct queue_state s;

	int error = 0;

	if (!c->acks || queue_is_done(c, t)) {
		return 0;
	}
	if (nvw_acked(c->acks, c->v.records + t)) {
		error = nvw_violation(c->findings, slot,
			"the effect of message %" PRIu64 " is lost: it was acknowledged", t);
	}
	if (nvw_acked(c->acks, t) && read_state(&c->v, i, &s) && !(is_in_slot(s) && s.ticket == t)) {
		error = nvw_violation(
			c->findings, slot, "message %" PRIu64 " is lost: its production was acknowledged", t);
	}
	return error;
}

/* Does the record at off have the effect of this message? */
static bool is_result(const struct queue_case *c, nvw_off off, uint64_t t)
{
	const uint64_t digest = c->plan ? c->plan->digests[t] : nvw_pool_word(c->v.pool, off + 8);

	NVW_FOR(i, QUEUE_RESULTS) {
		if (nvw_pool_word(c->v.pool, off + 8 * (1 + i)) != queue_result(digest, i)) {
			return false;
		}
	}
	return true;
}

/* The slot shows that message t was in it, and is consumed. */
static bool shows_consumed(const struct queue_case *c, uint64_t t)
{
	struct queue_state s;

	(void)read_state(&c->v, t % c->v.capacity, &s);
	return s.phase != QUEUE_VIRGIN &&
	       (s.ticket > t || (s.ticket == t && (is_in_slot(s) || s.phase == QUEUE_DONE)));
}

static int check_effect(const struct queue_case *c, nvw_off off, uint64_t consumer, uint64_t t)
{
	int error = 0;

	if (!is_result(c, off, t)) {
		error = nvw_violation(c->findings, off,
			"the effect of message %" PRIu64 " in the ledger of consumer %" PRIu64
			" does not match the message",
			t, consumer);
	}
	if (has_effect(c, t, off)) {
		error = nvw_violation(c->findings, off,
			"message %" PRIu64 " was consumed twice, the second time by consumer %" PRIu64, t,
			consumer);
	}
	if (check_last(c, off, t) != 0) {
		error = NVW_E_INCONSISTENT;
	}
	/* Else the record of the next message says what the slot shows. */
	if (!queue_is_done(c, t + c->v.capacity) && !shows_consumed(c, t)) {
		error = nvw_violation(c->findings, off,
			"consumer %" PRIu64 " has an effect of message %" PRIu64
			", which is not in the queue",
			consumer, t);
	}
	return error;
}

static int check_record(const struct queue_case *c, uint64_t consumer, uint64_t i)
{
	const nvw_off off = queue_record(c->v.ledgers, c->v.records, consumer, i);
	const uint64_t head = nvw_pool_word(c->v.pool, off);

	if (head > c->v.records) {
		return nvw_violation(c->findings, off,
			"record %" PRIu64 " of consumer %" PRIu64 " is of message %" PRIu64
			", which cannot exist",
			i, consumer, head - 1);
	}
	return head == 0 ? 0 : check_effect(c, off, consumer, head - 1);
}

int queue_check_part(const struct queue_case *c, uint64_t part)
{
	if (part == 0) {
		return check_shape(c);
	}
	part--;
	if (part < c->v.capacity) {
		return check_slot(c, part);
	}
	part -= c->v.capacity;
	if (part < c->v.records) {
		return check_message(c, part);
	}
	part -= c->v.records;
	return check_record(c, part / c->v.records, part % c->v.records);
}

static int check(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks, uint64_t part,
	struct nvw_findings *findings)
{
	struct queue_case c = {.plan = plan, .acks = acks, .findings = findings};

	if (queue_view_open((struct nvw_pool *)(uintptr_t)pool, &c.v) != 0) {
		return roots_refused(pool, part, findings);
	}
	if (part > 0 && (c.v.ring == 0 || !is_as_planned(&c))) {
		return 0; /* part 0 says so */
	}
	return queue_check_part(&c, part);
}

static void name(const void *plan, uint64_t part, char *ret_name, size_t bytes)
{
	const struct queue_plan *const q = plan;

	assert(part < count(plan, NULL));
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
