/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows for the detector of persistency races (../../persistency.h): from a store until the fence of its
 * thread behind a flush of its line. The detector follows HawkSet (EuroSys'25), with these differences:
 *
 *	- A store past the caches needs no flush, and its window ends at the fence.
 *	- clflush ends a window by itself: what its thread does later is visible only after it (raad20).
 *	- A flush of another thread ends nothing: the storer does not know of it. What a thread reads,
 *	  flushes and fences by itself is durable for that thread (loads.c). Where the flushing thread
 *	  has joined the storer, its flush and fence end the window.
 *	- Bytes are told apart by a mask on 8 of them.
 *
 * A thread's own state needs no lock. Records of windows and loads are shared, and added under the
 * session's.
 */
#include <string.h>

#include "core/each.h"
#include "windows.h"

/* ---- Stores that are not durable ------------------------------------------------------------------ */

struct storing {
	uint32_t site, flags;
	uint8_t state;
};

/* The entry for a store; what it replaces of earlier ones is forgotten. NULL: there is no room. */
static struct host_race_store *entry_for(struct host_race_thread *t, uint64_t word, unsigned mask)
{
	NVW_DEEP_INVARIANT(word >> 48 > 0 && mask > 0 && mask <= 0xff);

	struct host_race_store *room = NULL;

	NVW_FOR(i, HOST_RACE_PROBES) {
		struct host_race_store *const s = &t->store[(word + i) % HOST_RACE_PENDING];

		if (s->word == word && s->mask != 0) {
			s->mask &= (uint8_t)~mask;
			t->open -= s->mask == 0;
		}
		if (room == NULL && s->mask == 0) {
			room = s;
		}
		if (s->word == 0) {
			break;
		}
	}
	return room;
}

static void store_word(
	struct host_watched *w, uint64_t word, uint32_t *state, unsigned mask, const void *context)
{
	const struct storing *const how = context;
	struct host_race_store *const s = entry_for(w->shared, word, mask);

	host_touch_word(w, state, how->flags);
	if (s == NULL) {
		host_race_limit(HOST_RACE_MANY_PENDING);
		return;
	}
	*s = (struct host_race_store){.word = word,
		.taken = w->taken,
		.number = w->accesses,
		.epoch = w->epoch,
		.site = how->site,
		.clock = w->clock,
		.hints = host_hints(w),
		.mask = (uint8_t)mask,
		.state = how->state};
	w->shared->open++;
	NVW_DEEP_INVARIANT(w->shared->open <= HOST_RACE_PENDING);
	if (how->state == HOST_STORE_FLUSHED && w->flushed_count < FLUSHED_STORES) {
		w->flushed[w->flushed_count++] =
			(struct host_flushed){.thread = w->number, .entry = (uint32_t)(s - w->shared->store)};
	}
}

void host_check_store(const struct host_mapping *m, const void *address, size_t n, unsigned how,
	const struct host_caller *caller)
{
	struct host_watched *const w = m && n > 0 ? host_watch_begins() : NULL;

	if (w == NULL) {
		return;
	}
	host_own_later(w);
	struct storing s = {.site = host_race_site(w, caller), .state = HOST_STORE_PENDING};

	if (how == HOST_STORE_STREAMED) {
		s.state = HOST_STORE_FLUSHED;
	}
	if (how == HOST_STORE_LOCKED) {
		s.flags = HOST_WORD_LOCKED;
	}

	w->last_store = ++w->accesses;
	w->epoch += w->fenced;
	w->fenced = false;
	if (how == HOST_STORE_PLAIN) {
		host_own_stored(w, address, n);
	}
	host_each_word(w, m, address, n, store_word, &s);
	host_watch_ends();
}

/* ---- Windows -------------------------------------------------------------------------------------- */

static bool is_same(const struct host_race_window *a, const struct host_race_window *b)
{
	return a->word == b->word && a->store == b->store && a->end == b->end && a->lockset == b->lockset &&
	       a->clock == b->clock && a->end_clock == b->end_clock && a->mask == b->mask &&
	       a->late == b->late;
}

/* Keeps one of each kind. Under the lock. */
static void add_window(struct host_race_window *new)
{
	NVW_DEEP_INVARIANT(host_races->windows < HOST_RACE_RECORDS && new->mask != 0);

	struct host_races *const r = host_races;
	const uint64_t hash = ((new->word * 31 + new->store) * 31 + new->end) * 31 + new->lockset;
	uint32_t *const head =
		&r->window_index[(hash * UINT64_C(0x9e3779b97f4a7c15) >> 40) % HOST_RACE_INDEX];

	for (uint32_t i = *head; i != 0; i = r->window[i].next) {
		if (is_same(&r->window[i], new)) {
			return;
		}
	}
	if (r->windows + 1 >= HOST_RACE_RECORDS) {
		host_race_limit(HOST_RACE_MANY_WINDOWS);
		return;
	}
	new->next = *head;
	r->window[r->windows + 1] = *new;
	*head = ++r->windows;
}

/* A store becomes durable at a site of the thread. Its set of locks is that of both ends, if none was
 * released in between. */
static void close_window(
	struct host_watched *w, struct host_race_thread *t, struct host_race_store *s, uint32_t site)
{
	NVW_DEEP_INVARIANT(t->open > 0 && s->mask != 0);

	const uint32_t state = host_word_state(w, s->word);
	struct host_race_window new = {.word = s->word,
		.store = s->site,
		.end = site,
		.clock = s->clock,
		.end_clock = w->clock,
		.mask = s->mask,
		.thread = (uint8_t)(t - host_races->thread),
		.end_thread = (uint8_t)w->number,
		.ended = true,
		.at_once = s->at_once,
		.late = s->late};

	s->mask = 0;
	t->open--;
	if (!(state & HOST_WORD_SHARED) && !host_races->initial) {
		__atomic_add_fetch(&host_races->private_windows, 1, __ATOMIC_RELAXED);
		return;
	}
	if (t == w->shared) {
		new.lockset = host_lockset_since(w, s->taken);
	}
	new.end_hints = host_hints(w);
	if (s->hints == new.end_hints) {
		new.hints = s->hints;
	}
	host_lock();
	add_window(&new);
	host_unlock();
}

/* ---- Flushes -------------------------------------------------------------------------------------- */

/* The thread's entries for a word of a line that it flushes. */
static void flush_word(struct host_watched *w, struct host_race_thread *t, uint64_t word)
{
	NVW_DEEP_INVARIANT(w->flushed_count <= FLUSHED_STORES);
	NVW_FOR(i, HOST_RACE_PROBES) {
		const uint32_t at = (uint32_t)((word + i) % HOST_RACE_PENDING);
		struct host_race_store *const s = &t->store[at];

		if (s->word == 0) {
			return;
		}
		if (s->word != word || s->mask == 0 || s->state != HOST_STORE_PENDING ||
			w->flushed_count == FLUSHED_STORES) {
			continue;
		}
		s->state = HOST_STORE_FLUSHED;
		s->at_once = t == w->shared && s->number == w->last_store;
		s->late = t != w->shared || s->epoch != w->epoch;
		w->flushed[w->flushed_count++] =
			(struct host_flushed){.thread = (uint32_t)(t - host_races->thread), .entry = at};
	}
}

static void flush_words(struct host_watched *w, struct host_race_thread *t, uint64_t first)
{
	NVW_DEEP_INVARIANT(first % (HOST_LINE / 8) == 0);
	for (unsigned i = 0; i < HOST_LINE / 8 && t->open > 0; i++) {
		flush_word(w, t, first + i);
	}
}

/* Flushes for threads that have ended before: what they stored is in the line, too. */
static void flush_joined(struct host_watched *w, uint64_t word)
{
	const uint32_t count = (uint32_t)nvw_min(host_races->threads, HOST_RACE_THREADS);

	for (uint32_t i = 1; i <= count; i++) {
		struct host_race_thread *const t = &host_races->thread[i];

		if (t->joined && t->open > 0 && t->process == w->shared->process &&
			w->shared->clock.of[i - 1] >= t->clock.of[i - 1]) {
			host_lock(); /* several may have joined, one after the other */
			flush_words(w, t, word);
			host_unlock();
		}
	}
}

static void note_durable(struct host_durable *d, uint64_t number, uint64_t line)
{
	NVW_DEEP_INVARIANT(d->elsewhere <= d->last);
	if (line == d->line) {
		d->last = nvw_max(d->last, number);
	} else if (number < d->last) {
		d->elsewhere = nvw_max(d->elsewhere, number);
	} else {
		*d = (struct host_durable){.last = number, .line = line, .elsewhere = d->last};
	}
}

/* The stores that the thread has flushed are durable; returns its own. */
static struct host_durable end_windows(struct host_watched *w, uint32_t site)
{
	struct host_durable durable = {.last = 0};

	NVW_EACH(flushed, w->flushed, w->flushed_count) {
		NVW_DEEP_INVARIANT(flushed->thread > 0 && flushed->entry < HOST_RACE_PENDING);
		struct host_race_thread *const t = &host_races->thread[flushed->thread];
		struct host_race_store *const s = &t->store[flushed->entry];

		if (s->mask == 0 || s->state != HOST_STORE_FLUSHED) {
			continue;
		}
		if (t == w->shared) {
			note_durable(&durable, s->number, s->word / (HOST_LINE / 8));
			t->effect = s->clock;
		}
		close_window(w, t, s, site);
	}
	w->flushed_count = 0;
	return durable;
}

void host_check_flush(const struct host_mapping *m, const void *address, size_t n, enum host_flush how,
	const struct host_caller *caller)
{
	if (how == HOST_FLUSH_STREAMED || n == 0) {
		return;
	}
	struct host_watched *const w = host_watch_begins();

	if (w == NULL) {
		return;
	}
	const uint64_t at = m->off + ((uintptr_t)address - m->start);
	const uint64_t end = m->off + nvw_min((uintptr_t)address + n - m->start, m->length);

	for (uint64_t line = host_down(at, HOST_LINE); line < end; line += HOST_LINE) {
		const uint64_t word = (uint64_t)m->race_file << 48 | line / 8;

		flush_words(w, w->shared, word);
		flush_joined(w, word);
		host_loads_flushed(w, word);
	}
	if (how == HOST_FLUSH_IN_ORDER && w->flushed_count > 0) {
		const struct host_durable durable = end_windows(w, host_race_site(w, caller));

		host_loads_fenced(w, &durable);
	}
	host_watch_ends();
}

void host_check_fence(const struct host_caller *caller)
{
	struct host_watched *const w = host_watch_begins();

	if (w == NULL) {
		return;
	}
	w->fenced = true;
	if (w->flushed_count > 0 || w->helped_count > 0) {
		const struct host_durable durable = end_windows(w, host_race_site(w, caller));

		host_loads_fenced(w, &durable);
	}
	host_watch_ends();
}
