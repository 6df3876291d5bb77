/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks that a thread holds, for the detector of persistency races. Each acquisition has a number: a lock
 * that is held now, and was acquired before a store, has been held since without a break. locks.c calls
 * this.
 */
#include <string.h>

#include "core/each.h"
#include "windows.h"

HOST_EXPORT void nvwave_locked_1(const void *lock, bool for_reading, void *place);
HOST_EXPORT void nvwave_unlocking_1(const void *lock);

static struct host_held *held(struct host_watched *w, const void *lock)
{
	return NVW_FIND(held, w->held, w->held_count, held->lock == (uintptr_t)lock);
}

/* A lock beyond the last that there is room for does not protect: a candidate too many. */
HOST_EXPORT void nvwave_locked_1(const void *lock, bool for_reading, void *place)
{
	struct host_watched *const w = host_watch_begins();
	const struct host_caller caller = {.address = place};

	if (w == NULL) {
		return;
	}
	struct host_held *const h = held(w, lock);

	if (h != NULL) {
		h->depth++;
	} else if (w->held_count < HOST_RACE_HELD) {
		w->held[w->held_count++] = (struct host_held){.lock = (uintptr_t)lock,
			.number = ++w->taken,
			.site = host_race_site(w, &caller),
			.depth = 1,
			.for_reading = for_reading};
		w->lockset_known = false;
	} else {
		host_race_limit(HOST_RACE_MANY_LOCKS);
	}
	host_watch_ends();
}

HOST_EXPORT void nvwave_unlocking_1(const void *lock)
{
	struct host_watched *const w = host_watch_begins();

	if (w == NULL) {
		return;
	}
	struct host_held *const h = held(w, lock);

	NVW_INVARIANT(h == NULL || h->depth > 0);
	if (h != NULL && --h->depth == 0) {
		*h = w->held[--w->held_count];
		w->lockset_known = false;
	}
	host_watch_ends();
}

/* ---- Sets ----------------------------------------------------------------------------------------- */

static void add(struct host_lockset *s, const struct host_held *h)
{
	NVW_INVARIANT(s->count < HOST_RACE_HELD);

	unsigned at = s->count++;

	/* in the order of addresses, so that equal sets are equal */
	for (; at > 0 && s->lock[at - 1] > h->lock; at--) {
		s->lock[at] = s->lock[at - 1];
		s->site[at] = s->site[at - 1];
	}
	s->lock[at] = h->lock;
	s->site[at] = h->site;
}

static void mark_shared(struct host_lockset *s, const struct host_held *h)
{
	NVW_FOR(i, s->count) {
		if (s->lock[i] == h->lock) {
			s->shared |= UINT32_C(1) << i;
		}
	}
}

static bool is_equal(const struct host_lockset *a, const struct host_lockset *b)
{
	return a->count == b->count && a->shared == b->shared &&
	       memcmp(a->lock, b->lock, a->count * sizeof *a->lock) == 0;
}

/* Its number: that of an equal one, or a new one. 0 if nothing is held, and if there is no room, as if
 * nothing were. */
static uint32_t number_of(const struct host_lockset *s)
{
	NVW_INVARIANT(s->shared >> s->count == 0); /* a bit of a lock of the set */

	struct host_races *const r = host_races;
	uint64_t hash = s->shared;
	uint32_t number = 0;

	if (s->count == 0) {
		return 0;
	}
	NVW_EACH(lock, s->lock, s->count) {
		hash = (hash ^ *lock) * UINT64_C(0x9e3779b97f4a7c15);
	}
	host_lock();
	for (uint64_t i = hash >> 40;; i++) {
		uint32_t *const slot = &r->lockset_index[i % (2 * HOST_RACE_LOCKSETS)];

		if (*slot != 0 && !is_equal(&r->lockset[*slot], s)) {
			continue;
		}
		if (*slot == 0 && r->locksets + 1 < HOST_RACE_LOCKSETS) {
			*slot = ++r->locksets;
			r->lockset[*slot] = *s;
		}
		number = *slot;
		break;
	}
	host_unlock();
	return number;
}

uint32_t host_lockset_since(const struct host_watched *w, uint64_t taken)
{
	NVW_DEEP_INVARIANT(taken <= w->taken && w->held_count <= HOST_RACE_HELD);

	struct host_lockset s = {0};

	NVW_EACH(held, w->held, w->held_count) {
		if (held->number <= taken) {
			add(&s, held);
		}
	}
	NVW_EACH(held, w->held, w->held_count) {
		if (held->for_reading && held->number <= taken) {
			mark_shared(&s, held);
		}
	}
	return number_of(&s);
}
