/* SPDX-License-Identifier: BSD-3-Clause */
/* See axioms.h. */
#include "axioms.h"

#include <string.h>

static bool share_bytes(const struct event *a, const struct event *b)
{
	return a->word == b->word && a->at < b->at + b->bytes && b->at < a->at + a->bytes;
}

static const struct event *store_of(const struct history *h, unsigned s)
{
	return &h->event[h->store_at[s]];
}

/* b is behind a barrier that a has met, by equations 1 to 3. */
static bool is_behind_barrier(const struct event *a, const struct event *b)
{
	return (a->item == b->item && a->epoch[0] < b->epoch[0]) ||
	       (a->item / GROUP == b->item / GROUP && a->epoch[1] < b->epoch[1]) || a->epoch[2] < b->epoch[2];
}

/* a persists before b, by a barrier or because they are to the same bytes. */
static bool is_ordered(const struct event *a, const struct event *b)
{
	return (share_bytes(a, b) && a->store < b->store) || is_behind_barrier(a, b);
}

static void add_state(const struct history *h, uint32_t durable, uint32_t acks)
{
	struct state s = {.acks = acks};

	NVW_FOR(i, h->stores) {
		if (durable >> i & 1) {
			memcpy((uint8_t *)&s.word[store_of(h, i)->word] + store_of(h, i)->at,
				&store_of(h, i)->value, store_of(h, i)->bytes);
		}
	}
	add(&permitted, &s);
}

static bool is_byte_closed(const struct history *h, uint32_t set)
{
	NVW_FOR(b, h->stores) {
		for (unsigned a = 0; a < b && set >> b & 1; a++) {
			if (share_bytes(store_of(h, a), store_of(h, b)) && !(set >> a & 1)) {
				return false;
			}
		}
	}
	return true;
}

/* A store that is durable takes those before it to its bytes with it. */
static uint32_t close_bytes(const struct history *h, uint32_t set)
{
	for (unsigned b = h->stores; b-- > 0;) {
		for (unsigned a = 0; a < b && set >> b & 1; a++) {
			set |= (uint32_t)(share_bytes(store_of(h, a), store_of(h, b))) << a;
		}
	}
	return set;
}

/* Crash after event number p: what has happened by then. */
struct moment {
	uint32_t stores, acks, floor;
};

static struct moment moment_at(const struct history *h, unsigned p)
{
	struct moment t = {0};

	NVW_EACH(e, h->event, p) {
		t.stores |= e->kind == NVW_LOG_STORE ? 1u << e->store : 0;
		t.acks |= e->kind == NVW_LOG_ACK ? 1u << e->ack : 0;
		t.floor |= (e->kind == NVW_LOG_PERSISTED ? e->covers : 0) | e->owed;
	}
	return t;
}

void permit_epoch(const struct history *h)
{
	for (unsigned p = 0; p <= h->events; p++) {
		const struct moment t = moment_at(h, p);
		const uint32_t floor = close_bytes(h, t.floor);

		NVW_FOR(set, 1u << h->stores) {
			if ((set & ~t.stores) == 0 && (floor & ~set) == 0 && is_byte_closed(h, set)) {
				add_state(h, set, t.acks);
			}
		}
	}
}

void permit_strict(const struct history *h)
{
	for (unsigned p = 0; p <= h->events; p++) {
		const struct moment t = moment_at(h, p);

		for (unsigned n = 0; n <= h->stores; n++) {
			const uint32_t set = (1u << n) - 1;

			if ((set & ~t.stores) == 0 && (t.floor & ~set) == 0) {
				add_state(h, set, t.acks);
			}
		}
	}
}

void permit_eadr(const struct history *h)
{
	for (unsigned p = 0; p <= h->events; p++) {
		const struct moment t = moment_at(h, p);

		add_state(h, t.stores, t.acks);
	}
}

void permit_buffered(const struct history *h)
{
	NVW_FOR(set, 1u << h->stores) {
		bool closed = true;
		uint32_t acks = 0;

		for (unsigned b = 0; b < h->stores && closed; b++) {
			for (unsigned a = 0; a < h->stores && closed; a++) {
				closed = !(set >> b & 1) || (set >> a & 1) || a == b ||
					 !is_ordered(store_of(h, a), store_of(h, b));
			}
		}
		for (unsigned k = 0; k < h->acks && closed; k++) {
			const struct event *const e = &h->event[h->ack_at[k]];
			bool told = true;

			NVW_FOR(a, h->stores) {
				told = told && ((set >> a & 1) || !is_behind_barrier(store_of(h, a), e));
			}
			acks |= (uint32_t)told << k;
		}
		if (closed) {
			add_state(h, set, acks);
		}
	}
}
