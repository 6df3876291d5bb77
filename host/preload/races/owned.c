/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What seem to be locks of the program's own, for the detector of persistency races: a bit that a locked
 * instruction sets, and that nobody clears but the thread that has set it. Where the whole word was 0, all of
 * it is the lock, whichever bit is set. Its thread holds it until it stores to the word again. One that
 * another thread clears, or sets in the meantime, is none (a counter, the head of a list), and protects
 * nowhere.
 *
 * That is a guess from one run, so it makes a candidate second rank, and proves nothing.
 */
#include <string.h>

#include "core/each.h"
#include "windows.h"

enum { OWN_HELD = 4 };

#define WHOLE (UINT64_C(1) << 62) /* of a bit's number: its word, from that bit on */

static bool is_own(const struct host_held *h)
{
	return (h->lock & HOST_OWN_LOCK) != 0;
}

static struct host_own_lock *own_of(const struct host_held *h)
{
	NVW_DEEP_INVARIANT(is_own(h));
	return &host_races->own[h->lock & ~HOST_OWN_LOCK];
}

/* Finds a bit's lock by the bit's number in memory; NULL: there is none, and, for a new one, no room. The
 * caller has the lock. */
static struct host_own_lock *own_at(uint64_t bit, bool new)
{
	NVW_DEEP_INVARIANT(bit > 0);

	const uint64_t hash = bit * UINT64_C(0x9e3779b97f4a7c15) >> 40;

	NVW_FOR(i, HOST_RACE_PROBES) {
		struct host_own_lock *const o = &host_races->own[(hash + i) % HOST_RACE_OWN];

		if (o->bit == 0 && new) {
			o->bit = bit;
		}
		if (o->bit == bit) {
			return o;
		}
		if (o->bit == 0) {
			break;
		}
	}
	return NULL;
}

static void let_go(struct host_watched *w, unsigned i)
{
	NVW_DEEP_INVARIANT(i < w->held_count && w->own_held > 0 && is_own(&w->held[i]));

	struct host_own_lock *const o = own_of(&w->held[i]);

	host_lock();
	if (o->owner == w->number) {
		o->owner = 0;
	}
	host_unlock();
	w->held[i] = w->held[--w->held_count];
	w->own_held--;
	w->lockset_known = false;
}

void host_own_stored(struct host_watched *w, const void *address, size_t n)
{
	for (unsigned i = w->own_held > 0 ? w->held_count : 0; i > 0; i--) {
		if (is_own(&w->held[i - 1]) &&
			(own_of(&w->held[i - 1])->bit & ~WHOLE) / 8 - (uintptr_t)address < n) {
			let_go(w, i - 1);
		}
	}
}

static void make_room(struct host_watched *w)
{
	NVW_DEEP_INVARIANT(w->own_held <= OWN_HELD && w->own_held <= w->held_count);

	unsigned i = 0;

	if (w->own_held < OWN_HELD) {
		return;
	}
	while (!is_own(&w->held[i])) {
		i++;
	}
	let_go(w, i);
}

static void hold(struct host_watched *w, const struct host_own_lock *o, const struct host_caller *caller)
{
	const uint32_t site = host_race_site(w, caller);

	make_room(w);
	if (w->held_count < HOST_RACE_HELD) {
		w->held[w->held_count++] =
			(struct host_held){.lock = HOST_OWN_LOCK | (uint64_t)(o - host_races->own),
				.number = ++w->taken,
				.site = site,
				.depth = 1};
		w->own_held++;
		w->lockset_known = false;
	}
}

/* Another thread holds it: what clears the bit, or sets it again, is no lock's. */
static bool breaks(const struct host_watched *w, struct host_own_lock *o)
{
	const bool others = o != NULL && o->owner != 0 && o->owner != w->number;

	if (others) {
		o->broken = true;
	}
	return others;
}

/* The bits from the first of a word in memory on. */
static void cleared(const struct host_watched *w, uint64_t first, uint64_t bits)
{
	NVW_DEEP_INVARIANT(bits != 0);
	host_lock();
	breaks(w, own_at(first | WHOLE, false));
	for (; bits != 0; bits &= bits - 1) {
		breaks(w, own_at(first + (unsigned)__builtin_ctzll(bits), false));
	}
	host_unlock();
}

static void set(struct host_watched *w, uint64_t bit, const struct host_caller *caller)
{
	host_lock();
	struct host_own_lock *const o = own_at(bit, true);
	const bool free = o != NULL && !breaks(w, o) && !o->broken;

	if (free) {
		o->owner = (uint8_t)w->number;
	}
	host_unlock();
	if (free) {
		hold(w, o, caller);
	}
}

/* Reads at most 8 bytes; false: it is another kind of access. */
static bool value_of(const void *address, size_t n, uint64_t *ret_value)
{
	*ret_value = 0;
	if (n > sizeof *ret_value) {
		return false;
	}
	memcpy(ret_value, address, n);
	return true;
}

void host_check_changes(const void *address, size_t n)
{
	struct host_watched *const w = host_watch_begins();

	if (w == NULL) {
		return;
	}
	host_own_later(w);
	host_own_stored(w, address, n);
	w->changing = value_of(address, n, &w->value) ? address : NULL;
	host_watch_ends();
}

/* What the word has become since host_check_changes(). */
static void changed(struct host_watched *w, const void *address, size_t n, const struct host_caller *caller)
{
	uint64_t now;

	if (w->changing != address || !value_of(address, n, &now)) {
		return;
	}
	const uint64_t on = now & ~w->value, off = w->value & ~now, first = (uintptr_t)address * 8;

	if (off != 0) {
		cleared(w, first, off);
	} else if (on != 0 && (on & (on - 1)) == 0) {
		set(w, w->value == 0 ? first | WHOLE : first + (unsigned)__builtin_ctzll(on), caller);
	}
}

void host_check_changed(const void *address, size_t n, const struct host_caller *caller)
{
	struct host_watched *const w = host_watch_begins();

	if (w != NULL) {
		changed(w, address, n, caller);
		host_watch_ends();
	}
}

/* If another thread takes the lock in between, both seem to have set the bit, and it is no lock. */
void host_check_will_change(size_t n, void *place)
{
	struct host_watched *const w = host_watch_begins();

	if (w != NULL) {
		w->later_bytes = n;
		w->later_place = place;
		host_watch_ends();
	}
}

void host_own_changed(struct host_watched *w)
{
	NVW_DEEP_INVARIANT(w->later_bytes > 0);

	const size_t n = w->later_bytes;
	const struct host_caller caller = {.address = w->later_place};

	w->later_bytes = 0;
	changed(w, w->changing, n, &caller);
}
