/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the detector of persistency races (../../persistency.h) keeps of a thread, and calls of its parts:
 * order.c (threads, clocks), held.c and owned.c (locks), windows.c (stores, flushes, fences), loads.c.
 */
#ifndef HOST_PRELOAD_WINDOWS_H
#define HOST_PRELOAD_WINDOWS_H

#include "../../persistency.h"
#include "../preload.h"

enum {
	RELEASED = 1 << 13, /* addresses at which atomics have released */
	PAGES_KEPT = 1 << 10,
	SITES_KEPT = 1 << 10,
	KNOWN_FIRST = 1 << 10,
	OPEN_LOADS = 1 << 14,
	FLUSHED_STORES = 1 << 17,
	EARLY_LOADS = 256
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

/* Loads of a line, from one place and under one set of locks, since the thread's clock has changed. */
struct host_known_loads {
	uint64_t line;  /* the first word / 8 << 8 | a bit for each byte that is loaded; 0: a free entry */
	uint64_t first; /* a bit for the first byte of each load to which nothing is to be added */
	uint32_t site, lockset;
	uint32_t load, forgotten; /* a record, which names the next; of how many there is no bit any more */
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
	struct host_known_loads *known; /* by hash */
	_Alignas(128) struct host_known_loads first_known[KNOWN_FIRST];
	size_t known_room, known_count;
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
	host_self.inside = false;
}

/* An atomic of the thread has acquired. */
void host_acquire(struct host_watched *w, const void *address);

void *host_race_memory(size_t n);
void host_race_limit(enum host_race_limit limit);
/* The number of the thread's clock of hints, for a record. */
uint32_t host_hints(struct host_watched *w);

/* ---- held.c --------------------------------------------------------------------------------------- */

/* The set of locks that the thread holds; those that it has held since its acquisition of that number. */
uint32_t host_lockset_since(const struct host_watched *w, uint64_t taken);
static inline uint32_t host_lockset(struct host_watched *w)
{
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
	return word / (HOST_LINE / 8) == d->line ? d->elsewhere : d->last;
}

/* The thread's clock has changed. */
void host_loads_forget(struct host_watched *w);
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
