/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the detector of persistency races (../../persistency.h) keeps of a thread, and calls of its parts:
 * order.c (threads, clocks), held.c and owned.c (locks), windows.c (stores, flushes, fences), loads.c.
 */
#ifndef HOST_PRELOAD_WINDOWS_H
#define HOST_PRELOAD_WINDOWS_H

#include "../../persistency.h"
#include "core/each.h"
#include "../preload.h"

enum {
	RELEASED = 1 << 13, /* addresses at which atomics have released */
	PAGES_KEPT = 1 << 10,
	SITES_KEPT = 1 << 10,
	KNOWN_FIRST = 1 << 10,
	OPEN_LOADS = 1 << 14,
	FLUSHED_STORES = 1 << 17,
	EARLY_LOADS = 256,
	RELEASED_PROBES = 8,
	RELEASED_LINES = 1 << 10,
	BESIDE = 8 /* entries of loads of a line */
};

/* A store of the thread's own, or of one that it has joined, whose line it has flushed since its last
 * fence. */
struct host_flushed {
	uint32_t thread, entry;
};

/* A load after which the thread has made nothing durable. */
struct host_open_load {
	uint64_t number, word; /* number: among the thread's accesses */
	uint32_t load;
	bool helped; /* the thread has flushed its line since */
};

/* Loads of that many bytes of a line, from one place and under one set of locks, since the thread's clock has
 * changed. */
struct host_known_loads {
	uint64_t key;   /* all of that (host_load_key()); 0: a free entry */
	uint64_t first; /* a bit for the first byte of each load to which nothing is to be added */
};
/* Of the same loads: a record, which names the next; of how many there is no bit any more. */
struct host_known_records {
	uint32_t load, forgotten;
};

/* A load of what another thread has stored and not made durable (witness.c). */
struct host_early_load {
	const struct host_race_store *store;
	uint64_t word, stored, loaded; /* numbers of the accesses, in their threads */
	uint32_t site;
	bool helped; /* the loading thread has flushed the line since */
};

/* Private to its thread, except where it is said. */
struct host_watched {
	struct host_race_thread *shared;
	uint32_t number;
	void *(*start)(void *); /* of a thread that is being created */
	int (*start_c11)(void *);
	void *argument;

	uint64_t accesses, last_store, epoch; /* epoch: fences that a store follows */
	bool fenced;                          /* since the last store */
	uint32_t clock, hints;                /* their numbers; hints 0: it has changed since */

	uint64_t taken; /* acquisitions of locks so far */
	struct host_held {
		uint64_t lock, number; /* of the acquisition */
		uint32_t site, depth;
		bool for_reading;
	} held[HOST_RACE_HELD];
	unsigned held_count, own_held;
	const void *changing; /* the word of an atomic that is about to store; and its value */
	uint64_t value;
	size_t later_bytes; /* it will do so behind its announcement, at that place; 0: no */
	void *later_place;
	uint32_t lockset;
	bool lockset_known;

	unsigned flushed_count, open_count, helped_count;
	uint32_t acquired[RELEASED]; /* the version of the clock there that it has, or had */
	struct {
		uint64_t key; /* 0: none */
		uint32_t *word;
	} page[PAGES_KEPT];
	struct {
		const void *address;
		uint32_t site;
	} site[SITES_KEPT];
	struct host_known_loads *known;          /* by hash */
	struct host_known_records *known_record; /* with the same index */
	size_t known_room, known_count;
	_Alignas(HOST_LINE) struct host_known_loads first_known[KNOWN_FIRST];
	struct host_known_records first_record[KNOWN_FIRST];
	struct host_flushed flushed[FLUSHED_STORES];
	struct host_open_load open[OPEN_LOADS];
	unsigned early_count;
	struct host_early_load early[EARLY_LOADS];
};

extern struct host_races *host_races;

/* ---- order.c -------------------------------------------------------------------------------------- */

void host_watch_meets(void);

/* Enters the detector: NULL if this thread is not looked at, or is inside of it or of the recorder. */
static inline struct host_watched *host_watch_begins(void)
{
	if (!host_checking || host_self.own || host_self.unwatched || host_control->closed ||
		host_self.inside) {
		return NULL;
	}
	host_self.inside = true;
	if (__builtin_expect(host_self.watched == NULL, 0)) {
		host_watch_meets();
	}
	return host_self.watched;
}

static inline void host_watch_ends(void)
{
	NVW_DEEP_INVARIANT(host_self.inside);
	host_self.inside = false;
}

/* Where atomics have released. */
struct host_releases {
	struct host_released {
		uintptr_t address;
		uint32_t version, busy;
	} at[RELEASED];
	struct host_clock hints[RELEASED];
	uint64_t line[RELEASED_LINES]; /* a bit for each line, by hash: one of its addresses may be there */
};
extern struct host_releases *host_releases;

static inline uint64_t *host_released_line(uintptr_t address, uint64_t *ret_bit)
{
	const uint64_t hash = address / HOST_LINE * UINT64_C(0x9e3779b97f4a7c15) >> 40;

	*ret_bit = UINT64_C(1) << hash % 64;
	return &host_releases->line[hash / 64 % RELEASED_LINES];
}

/* The entry of an address, or a free one; NULL: none, and there is no room. */
static inline struct host_released *host_released_at(uintptr_t address)
{
	const size_t hash = (address / HOST_LINE * UINT64_C(0x9e3779b97f4a7c15) >> 40) * 8 + address / 8 % 8;

	NVW_FOR(i, RELEASED_PROBES) {
		struct host_released *const r = &host_releases->at[(hash + i) % RELEASED];
		const uintptr_t found = __atomic_load_n(&r->address, __ATOMIC_ACQUIRE);

		if (found == address || found == 0) {
			return r;
		}
	}
	return NULL;
}

/* The entry of an address from which the thread learns; NULL: there is none. */
static inline struct host_released *host_new_release(const struct host_watched *w, const void *address)
{
	uint64_t bit, *const line = host_released_line((uintptr_t)address, &bit);

	if (!(__atomic_load_n(line, __ATOMIC_ACQUIRE) & bit)) {
		return NULL;
	}
	struct host_released *const r = host_released_at((uintptr_t)address);
	const bool news =
		r && w->acquired[r - host_releases->at] != __atomic_load_n(&r->version, __ATOMIC_ACQUIRE);

	return news ? r : NULL;
}

/* An atomic of the thread has acquired. */
void host_acquire(struct host_watched *w, const void *address);

void host_race_limit(enum host_race_limit limit);
/* The number of the thread's clock of hints, for a record. */
uint32_t host_hints(struct host_watched *w);

/* ---- held.c --------------------------------------------------------------------------------------- */

/* The set of locks that the thread holds; those that it has held since its acquisition of that number. */
uint32_t host_lockset_since(const struct host_watched *w, uint64_t taken);
static inline uint32_t host_lockset(struct host_watched *w)
{
	NVW_DEEP_INVARIANT(w->held_count <= HOST_RACE_HELD);
	if (!w->lockset_known) {
		w->lockset = host_lockset_since(w, w->taken);
		w->lockset_known = true;
	}
	return w->lockset;
}

/* ---- owned.c -------------------------------------------------------------------------------------- */

/* The thread stores to bytes that may be locks of the program's own: it holds these no more. */
void host_own_stored(struct host_watched *w, const void *address, size_t n);
/* A locked instruction that was announced has happened: before the next load or store is looked at. */
void host_own_changed(struct host_watched *w);
static inline void host_own_later(struct host_watched *w)
{
	if (__builtin_expect(w->later_bytes > 0, 0)) {
		host_own_changed(w);
	}
}

/* ---- words.c -------------------------------------------------------------------------------------- */

uint32_t *host_find_page(struct host_watched *w, uint64_t key);
uint32_t host_find_race_site(struct host_watched *w, const struct host_caller *caller);

/* The states of the words of a page, by its key: its first word's number / HOST_RACE_WORDS. NULL: there is no
 * room. */
static inline uint32_t *host_page_of(struct host_watched *w, uint64_t key)
{
	const size_t at = key % PAGES_KEPT;

	return w->page[at].key == key ? w->page[at].word : host_find_page(w, key);
}

/* The words of an access: f(w, word, its state, mask of bytes, context) for each. */
typedef void host_word_function(
	struct host_watched *w, uint64_t word, uint32_t *state, unsigned mask, const void *context);
void host_each_of_many(struct host_watched *w, const struct host_mapping *m, const void *address, size_t n,
	host_word_function *f, const void *context);
static inline __attribute__((always_inline)) void host_each_word(struct host_watched *w,
	const struct host_mapping *m, const void *address, size_t n, host_word_function *f,
	const void *context)
{
	const uintptr_t at = (uintptr_t)address - m->start, byte = at % 8;
	const bool one = byte + n <= 8 && at + n <= m->length && m->race_file != 0;
	const uint64_t word = (uint64_t)m->race_file << 48 | (m->off + at) / 8;
	uint32_t *const page = one ? host_page_of(w, word / HOST_RACE_WORDS) : NULL;

	if (__builtin_expect(page != NULL, 1)) {
		f(w, word, &page[word % HOST_RACE_WORDS], 0xffu >> (8 - n) << byte, context);
	} else {
		host_each_of_many(w, m, address, n, f, context);
	}
}

/* 0: there is no room for it. */
static inline uint32_t host_word_state(struct host_watched *w, uint64_t word)
{
	const uint32_t *const page = host_page_of(w, word / HOST_RACE_WORDS);

	return page ? __atomic_load_n(&page[word % HOST_RACE_WORDS], __ATOMIC_RELAXED) : 0;
}

/* This thread touches a word: its state from now on. */
uint32_t host_touch_first(const struct host_watched *w, uint32_t *state, uint32_t flags);
static inline uint32_t host_touch_word(const struct host_watched *w, uint32_t *state, uint32_t flags)
{
	NVW_DEEP_INVARIANT(w->number > 0 && w->number <= HOST_RACE_THREADS);

	const uint32_t now = __atomic_load_n(state, __ATOMIC_RELAXED);
	const bool known = (now & HOST_WORD_SHARED) || (now & HOST_WORD_OWNER) == w->number;

	return known && (now & flags) == flags ? now : host_touch_first(w, state, flags);
}

/* A place without a frame has no callers, so its address is enough to know it again. */
static inline uint32_t host_race_site(struct host_watched *w, const struct host_caller *caller)
{
	const size_t at = (uintptr_t)caller->address * UINT64_C(0x9e3779b97f4a7c15) >> 54;
	const bool known = caller->frame == 0 && w->site[at].address == caller->address;

	return known ? w->site[at].site : host_find_race_site(w, caller);
}

/* ---- loads.c -------------------------------------------------------------------------------------- */

/* A thread's stores that its fence has made durable: the number of the last one, and its line; that of the
 * last one to another line. 0: there is none. */
struct host_durable {
	uint64_t last, line, elsewhere;
};
/* Of those, the number of the last one outside of a word's line: stores to a line become durable in order. */
static inline uint64_t host_durable_beside(const struct host_durable *d, uint64_t word)
{
	NVW_DEEP_INVARIANT(d->elsewhere <= d->last);
	return word / (HOST_LINE / 8) == d->line ? d->elsewhere : d->last;
}

enum { KEY_BYTES = 3, KEY_SITE = 15, KEY_LOCKSET = 15 }; /* bits */
_Static_assert(HOST_SITES_MAX < 1 << KEY_SITE && HOST_RACE_LOCKSETS <= 1 << KEY_LOCKSET, "a key has room");

static inline uint64_t host_load_key(const uint32_t *state, size_t n, uint32_t site, uint32_t lockset)
{
	NVW_DEEP_INVARIANT(n > 0 && n <= 8);
	NVW_DEEP_INVARIANT(site < 1 << KEY_SITE && lockset < 1 << KEY_LOCKSET);

	const uint64_t line = (uint64_t)(state - host_races->word[0]) / (HOST_LINE / 8);

	return ((line << KEY_LOCKSET | lockset) << KEY_SITE | site) << KEY_BYTES | (n - 1);
}

/* By its number, or by a hash. A signal handler may have the table grow meanwhile: the room is read first,
 * and what was the table stays. */
static inline struct host_known_loads *host_known_entry(const struct host_watched *w, uint64_t i)
{
	const size_t room = __atomic_load_n(&w->known_room, __ATOMIC_ACQUIRE);

	NVW_DEEP_INVARIANT((room & (room - 1)) == 0);
	return __atomic_load_n(&w->known, __ATOMIC_ACQUIRE) + (i & (room - 1));
}

/* The entry of a line's first ones that has the key, or is free; NULL: neither. They lie beside each other,
 * because who looks at a line mostly does so from several places. */
static inline struct host_known_loads *host_known_beside(const struct host_watched *w, uint64_t key)
{
	const uint64_t hash = (key >> (KEY_BYTES + KEY_SITE)) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	struct host_known_loads *const beside = host_known_entry(w, hash * BESIDE);

	NVW_FOR(i, BESIDE) {
		struct host_known_loads *const at = &beside[((key >> KEY_BYTES) + i) % BESIDE];

		if (at->key == key || at->key == 0) {
			return at;
		}
	}
	return NULL;
}

/* The same behind those: the entry, or a free one. */
struct host_known_loads *host_known_elsewhere(const struct host_watched *w, uint64_t key);

/* Nothing is to be added for a load from a place without a frame: it is known, most often by one look, or no
 * other thread has touched the word. That changes nothing, so a signal handler may interrupt it. */
static inline bool host_load_is_known(const struct host_watched *w, const struct host_mapping *m,
	const void *address, size_t n, const void *place)
{
	const size_t site = (uintptr_t)place * UINT64_C(0x9e3779b97f4a7c15) >> 54;
	const uint64_t off = m->off + ((uintptr_t)address - m->start);
	const uint64_t page = ((uint64_t)m->race_file << 48 | off / 8) / HOST_RACE_WORDS;
	const uint32_t *const words = w->page[page % PAGES_KEPT].word;

	if (off % 8 + n > 8 || n == 0 || w->later_bytes > 0 || !w->lockset_known ||
		w->site[site].address != place || w->page[page % PAGES_KEPT].key != page || words == NULL) {
		return false;
	}
	const uint32_t *const state = &words[off / 8 % HOST_RACE_WORDS];
	const uint64_t key = host_load_key(state, n, w->site[site].site, w->lockset);
	const struct host_known_loads *known = host_known_beside(w, key);

	if (known == NULL) {
		known = host_known_elsewhere(w, key);
	}
	if (known->key == key && (known->first >> off % HOST_LINE & 1)) {
		return true;
	}
	return !host_races->initial &&
	       (__atomic_load_n(state, __ATOMIC_RELAXED) & (HOST_WORD_SHARED | HOST_WORD_OWNER)) == w->number;
}

/* The thread has flushed a line, from its first word on; has fenced. */
void host_loads_flushed(struct host_watched *w, uint64_t word);
void host_loads_fenced(struct host_watched *w, const struct host_durable *durable);

/* ---- witness.c: where threads take turns ----------------------------------------------------------- */

/* The thread has loaded a word, flushed a line, fenced; acknowledges an operation. */
void host_witness_load(struct host_watched *w, uint64_t word, unsigned mask, uint32_t site);
void host_witness_flush(struct host_watched *w, uint64_t word);
void host_witness_fence(struct host_watched *w, const struct host_durable *durable);
void host_witness_acknowledged(struct host_watched *w);

#endif
