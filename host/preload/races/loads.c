/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads for the detector of persistency races (../../persistency.h): one record for each place, word, set of
 * locks and clock of a thread.
 *
 * A load matters if its thread makes something durable afterwards, in another line: a line's stores become
 * durable in order. Or if the thread acknowledges an operation (nvw/ack.h): no crash takes back what others
 * have been told. Until then it is open. It does not matter if the thread, before its next store, flushes and
 * fences the line itself: then what it has read is durable.
 */
#include <string.h>
#include <sys/mman.h>

#include "windows.h"

#include "core/each.h"

enum { BESIDE = 8 }; /* entries of a line */

/* The number of the new record; 0: there is no room. */
static uint32_t add(const struct host_race_load *new)
{
	uint32_t *const used = &host_races->loads;
	const bool room = __atomic_load_n(used, __ATOMIC_RELAXED) + 1 < HOST_RACE_RECORDS;
	const uint32_t number = room ? __atomic_add_fetch(used, 1, __ATOMIC_RELAXED) : HOST_RACE_RECORDS;

	if (number >= HOST_RACE_RECORDS) {
		host_race_limit(HOST_RACE_MANY_LOADS);
		return 0;
	}
	host_races->load[number] = *new;
	return number;
}

/* It is this thread's own: nobody else changes its state. */
static void open_load(struct host_watched *w, uint32_t number)
{
	struct host_race_load *const l = &host_races->load[number];

	if (number == 0 || l->state != HOST_LOAD_IDLE) {
		return;
	}
	if (w->open_count == OPEN_LOADS) {
		l->state = HOST_LOAD_EFFECT; /* a candidate too many */
	} else {
		l->state = HOST_LOAD_OPEN;
		w->open[w->open_count++] =
			(struct host_open_load){.number = w->accesses, .word = l->word, .load = number};
	}
}

/* ---- Loads that are known -------------------------------------------------------------------------- */

/* What is known of loads of a line, from a place and under a set of locks. */
struct key {
	uint64_t line, first;
	uint32_t site, lockset;
};

static inline struct key key_of(uint64_t word, unsigned mask, uint32_t site, uint32_t lockset)
{
	const unsigned byte = (unsigned)__builtin_ctz(mask);

	return (struct key){.line = word / (HOST_LINE / 8) << 8 | mask >> byte,
		.first = UINT64_C(1) << (word % (HOST_LINE / 8) * 8 + byte),
		.site = site,
		.lockset = lockset};
}

static inline bool is_at(const struct host_known_loads *at, const struct key *k)
{
	return (at->line == k->line && at->site == k->site && at->lockset == k->lockset) || at->line == 0;
}

/* The entry, or a free one. The first ones of a line lie beside each other: who looks at a line mostly does
 * so from several places. */
static inline struct host_known_loads *known_at(const struct host_watched *w, const struct key *k)
{
	const uint64_t where = (k->line >> 8) + ((uint64_t)k->lockset << 32);
	const uint64_t line = where * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	const uint64_t all = ((where << 8 | (k->line & 0xff)) * 31 + k->site) * UINT64_C(0x9e3779b97f4a7c15);
	struct host_known_loads *const beside = &w->known[line * BESIDE & (w->known_room - 1)];

	for (uint32_t i = 0; i < BESIDE; i++) {
		struct host_known_loads *const at = &beside[(k->site + i) % BESIDE];

		if (is_at(at, k)) {
			return at;
		}
	}
	for (size_t i = all >> 32;; i++) {
		struct host_known_loads *const at = &w->known[i & (w->known_room - 1)];

		if (is_at(at, k)) {
			return at;
		}
	}
}

/* False: there is no memory. */
static bool grow(struct host_watched *w)
{
	struct host_known_loads *const old = w->known;
	const size_t room = w->known_room;
	struct host_known_loads *const more = host_race_memory(2 * room * sizeof *more);

	if (more == NULL) {
		return false;
	}
	madvise(more, 2 * room * sizeof *more, MADV_HUGEPAGE); /* each look is at another page */
	w->known = more;
	w->known_room = 2 * room;
	NVW_EACH(o, old, room) {
		if (o->line != 0) {
			*known_at(w, &(struct key){o->line, 0, o->site, o->lockset}) = *o;
		}
	}
	if (old != w->first_known) {
		REAL(munmap)(old, room * sizeof *old);
	}
	return true;
}

void host_loads_forget(struct host_watched *w)
{
	if (w->known_count > 0) {
		memset(w->known, 0, w->known_room * sizeof *w->known);
		w->known_count = 0;
	}
}

/* That of a load for which there is no bit, perhaps new; 0: there is no room. */
static uint32_t record_of(struct host_watched *w, struct host_known_loads *at, uint64_t word, unsigned mask)
{
	uint32_t i = at->forgotten > 0 ? at->load : 0;

	while (i != 0 && (host_races->load[i].word != word || host_races->load[i].mask != mask)) {
		i = host_races->load[i].next;
	}
	if (i != 0) {
		at->forgotten--;
	} else {
		i = add(&(struct host_race_load){.word = word,
			.site = at->site,
			.lockset = at->lockset,
			.clock = w->clock,
			.hints = host_hints(w),
			.next = at->load,
			.mask = (uint8_t)mask,
			.thread = (uint8_t)w->number});
		at->load = NVW_OR(i, at->load);
	}
	return i;
}

/* What is not known of a load of a word. */
__attribute__((noinline)) static void learn(
	struct host_watched *w, const struct key *k, uint64_t word, uint32_t *state, unsigned mask)
{
	if (!(host_touch_word(w, state, 0) & HOST_WORD_SHARED) && !host_races->initial) {
		return;
	}
	if (2 * w->known_count >= w->known_room && !grow(w)) {
		host_race_limit(HOST_RACE_MANY_LOADS);
		return;
	}
	struct host_known_loads *const at = known_at(w, k);

	if (at->line == 0) {
		*at = (struct host_known_loads){.line = k->line, .site = k->site, .lockset = k->lockset};
		w->known_count++;
	}
	at->first |= k->first;
	open_load(w, record_of(w, at, word, mask));
}

/* The load may have to be opened again. */
static void forget(struct host_watched *w, const struct host_race_load *l)
{
	const struct key k = key_of(l->word, l->mask, l->site, l->lockset);
	struct host_known_loads *const at = known_at(w, &k);

	if (at->first & k.first) {
		at->first &= ~k.first;
		at->forgotten++;
	}
}

static inline void load_word(
	struct host_watched *w, uint64_t word, uint32_t *state, unsigned mask, const void *context)
{
	const struct key k = key_of(word, mask, *(const uint32_t *)context, host_lockset(w));

	if (!(known_at(w, &k)->first & k.first)) {
		learn(w, &k, word, state, mask);
	}
	if (host_scheduling) {
		host_witness_load(w, word, mask, k.site);
	}
}

static inline void note_load(struct host_watched *w, const struct host_mapping *m, const void *address,
	size_t n, const struct host_caller *caller)
{
	const uint32_t site = host_race_site(w, caller);

	host_own_later(w);
	w->accesses++;
	host_each_word(w, m, address, n, load_word, &site);
}

void host_check_load(
	const struct host_mapping *m, const void *address, size_t n, const struct host_caller *caller)
{
	struct host_watched *const w = m && n > 0 ? host_watch_begins() : NULL;

	if (w != NULL) {
		note_load(w, m, address, n, caller);
		host_watch_ends();
	}
}

void host_check_atomic_load(
	const struct host_mapping *m, const void *address, size_t n, const struct host_caller *caller)
{
	struct host_watched *const w = host_watch_begins();

	if (w == NULL) {
		return;
	}
	host_acquire(w, address);
	if (m != NULL) {
		note_load(w, m, address, n, caller);
	}
	host_watch_ends();
}

/* ---- What follows a load -------------------------------------------------------------------------- */

void host_loads_flushed(struct host_watched *w, uint64_t word)
{
	host_witness_flush(w, word);
	NVW_EACH(o, w->open, w->open_count) {
		if (!o->helped && o->word - word < HOST_LINE / 8) {
			o->helped = true;
			w->helped_count++;
		}
	}
}

void host_loads_fenced(struct host_watched *w, const struct host_durable *durable)
{
	unsigned kept = 0;

	host_witness_fence(w, durable);
	if (durable->last == 0 && w->helped_count == 0) {
		return;
	}
	NVW_EACH(open, w->open, w->open_count) {
		struct host_open_load o = *open;

		if (o.number < host_durable_beside(durable, o.word)) {
			host_races->load[o.load].state = HOST_LOAD_EFFECT;
		} else if (o.helped && o.number > w->last_store) {
			host_races->load[o.load].state = HOST_LOAD_IDLE;
			forget(w, &host_races->load[o.load]);
		} else {
			o.helped = false;
			w->open[kept++] = o;
		}
	}
	w->open_count = kept;
	w->helped_count = 0;
}

void host_check_acknowledged(void)
{
	struct host_watched *const w = host_watch_begins();

	if (w == NULL) {
		return;
	}
	host_witness_acknowledged(w);
	NVW_EACH(open, w->open, w->open_count) {
		host_races->load[open->load].state = HOST_LOAD_EFFECT;
	}
	w->open_count = w->helped_count = 0;
	host_watch_ends();
}
