/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of a queue in a pool: a ring of messages, and a ledger per consumer of its effects.
 *
 *	root word 0  offset of the ring, 0: the pool is not set up
 *	root word 1  offset of the ledgers
 *	root word 2  slots of the ring | words of payload << 32
 *	root word 3  records of a ledger | consumers << 32
 *
 * Message t (its *ticket*) is stored in slot t mod slots: a state word, the payload, a digest of both ticket
 * and payload. Ledger record i of a consumer has a head, ticket + 1 of the consumed message, and three words
 * computed from the message.
 *
 * A message is consumed exactly if its record's head is durable: recovery reads the ledgers.
 *
 * The state word records every change of a slot. Being one word, its stores persist in the order in which
 * they became visible:
 *
 *	WRITING(t)     the slot belongs to message t; its content is neither the old message nor the complete
 *		       new
 *	one
 *	FULL(t)        the message is complete
 *	CLAIMED(t)     a consumer has it
 *	DONE(t)        the effect is durable: the slot is free for ticket t + slots
 *
 * Guarantees after a crash at any point, once recovery has run
 *   (1) a message acknowledged as produced is present, or its effect is;
 *   (2) a present message is complete;
 *   (3) a message has at most one effect, in all ledgers together, and an effect is complete;
 *   (4) an acknowledged effect is present;
 *   (5) no effect without its message: a message that is absent can be produced again without a second
 *       effect;
 *   (6) no slot is CLAIMED, and no slot is FULL if its message has an effect.
 */
#ifndef WORKLOADS_QUEUE_LAYOUT_H
#define WORKLOADS_QUEUE_LAYOUT_H

#include <assert.h>

#include <nvw/pool.h>
#include <nvw/random.h>

enum { QUEUE_RING, QUEUE_LEDGERS, QUEUE_RING_SHAPE, QUEUE_LEDGER_SHAPE }; /* root words */
enum { QUEUE_PAYLOAD_MAX = 62, QUEUE_CONSUMERS_MAX = 255, QUEUE_TICKETS_MAX = 1 << 24 };
enum { QUEUE_RESULTS = 3, QUEUE_RECORD_BYTES = 8 * (1 + QUEUE_RESULTS) };

/* ---- State words ---------------------------------------------------------------------------------- */

enum queue_phase { QUEUE_VIRGIN, QUEUE_WRITING, QUEUE_FULL, QUEUE_CLAIMED, QUEUE_DONE };

/* phase: the low half, ticket: the high half. */
struct queue_state {
	enum queue_phase phase;
	uint32_t ticket;
};

static inline uint64_t queue_state_word(enum queue_phase phase, uint64_t ticket)
{
	return phase | ticket << 32;
}

static inline struct queue_state queue_state_of(uint64_t word)
{
	return (struct queue_state){(enum queue_phase)(uint32_t)word, (uint32_t)(word >> 32)};
}

/* ---- Messages ------------------------------------------------------------------------------------- */

/* Words of a slot: the state, the payload, the digest. A slot begins a line. */
static inline uint64_t queue_slot_bytes(uint64_t payload)
{
	return (8 * (payload + 2) + 63) & ~UINT64_C(63);
}

static inline uint64_t queue_digest_begin(uint64_t ticket)
{
	return nvw_mix64(ticket + 0x243f6a8885a308d3u);
}

static inline uint64_t queue_digest_add(uint64_t digest, uint64_t word)
{
	return nvw_mix64(digest ^ word) + 0x13198a2e03707344u;
}

/* Word i of message ticket's payload; for i = payload, the digest. */
static inline uint64_t queue_message_word(uint64_t seed, uint64_t ticket, uint64_t i, uint64_t payload)
{
	uint64_t digest = queue_digest_begin(ticket);

	assert(i <= payload);
	if (i < payload) {
		return nvw_mix64(seed + ticket * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u);
	}
	for (i = 0; i < payload; i++) {
		digest = queue_digest_add(digest, queue_message_word(seed, ticket, i, payload));
	}
	return digest;
}

/* ---- Ledgers -------------------------------------------------------------------------------------- */

/* Word i of a message's effect: the first is the digest, the others are computed from it. */
static inline uint64_t queue_result(uint64_t digest, unsigned i)
{
	return i == 0 ? digest : nvw_mix64(digest + i);
}

/* A ledger begins a line. */
static inline uint64_t queue_ledger_bytes(uint64_t records)
{
	return (records * QUEUE_RECORD_BYTES + 63) & ~UINT64_C(63);
}

#endif
