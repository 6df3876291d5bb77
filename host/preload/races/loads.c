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
#include "windows.h"

#include "core/each.h"

static bool is_same(const struct host_race_load *a, const struct host_race_load *b)
{
	return a->word == b->word && a->site == b->site && a->lockset == b->lockset && a->clock == b->clock &&
	       a->mask == b->mask && a->thread == b->thread;
}

/* Under the lock. */
static uint32_t add(uint32_t *head, struct host_race_load *new)
{
	struct host_races *const r = host_races;

	if (r->loads + 1 >= HOST_RACE_RECORDS) {
		host_race_limit(HOST_RACE_MANY_LOADS);
		return 0;
	}
	new->next = *head;
	r->load[r->loads + 1] = *new;
	__atomic_store_n(head, r->loads + 1, __ATOMIC_RELEASE);
	return ++r->loads;
}

/* The number of the record; 0: there is no room. Only the thread itself adds its own, so it looks for them
 * without the lock: others that come in between it need not see. */
static uint32_t number_of(struct host_watched *w, struct host_race_load *new)
{
	struct host_races *const r = host_races;
	const uint64_t hash =
		(((new->word * 31 + new->site) * 31 + new->lockset) * 31 + new->clock) * 31 + new->thread;
	uint32_t *const head = &r->load_index[(hash * UINT64_C(0x9e3779b97f4a7c15) >> 40) % HOST_RACE_INDEX];
	uint32_t i = __atomic_load_n(head, __ATOMIC_ACQUIRE);

	new->hints = host_hints(w);
	while (i != 0 && !is_same(&r->load[i], new)) {
		i = r->load[i].next;
	}
	if (i == 0) {
		host_lock();
		i = add(head, new);
		host_unlock();
	}
	return i;
}

/* It is this thread's own: nobody else changes its state. False: it may have to be opened again. */
__attribute__((noinline)) static bool open_load(struct host_watched *w, uint32_t number)
{
	struct host_race_load *const l = &host_races->load[number];

	if (number == 0 || l->state == HOST_LOAD_EFFECT) {
		return true;
	}
	if (l->state == HOST_LOAD_IDLE && w->open_count == OPEN_LOADS) {
		l->state = HOST_LOAD_EFFECT; /* a candidate too many */
	} else if (l->state == HOST_LOAD_IDLE) {
		l->state = HOST_LOAD_OPEN;
		w->open[w->open_count++] = (struct host_open_load){.number = w->accesses, .load = number};
	}
	return false;
}

__attribute__((noinline)) static void keep(
	struct host_watched *w, struct host_kept_load *k, uint64_t word, uint32_t site, unsigned mask)
{
	struct host_race_load new = {.word = word,
		.site = site,
		.lockset = host_lockset(w),
		.clock = w->clock,
		.mask = (uint8_t)mask,
		.thread = (uint8_t)w->number};

	*k = (struct host_kept_load){.word = word,
		.site = site,
		.lockset = new.lockset,
		.clock = w->clock,
		.load = number_of(w, &new),
		.mask = (uint8_t)mask};
}

static inline void load_word(
	struct host_watched *w, uint64_t word, uint32_t *state, unsigned mask, const void *context)
{
	const uint32_t site = *(const uint32_t *)context;
	const size_t at = (word * 31 + site) * UINT64_C(0x9e3779b97f4a7c15) >> 52;
	struct host_kept_load *const k = &w->load[at];

	if (!(host_touch_word(w, state, 0) & HOST_WORD_SHARED) && !host_races->initial) {
		return;
	}
	if (k->word != word || k->site != site || k->lockset != host_lockset(w) || k->clock != w->clock ||
		k->mask != mask) {
		keep(w, k, word, site, mask);
	}
	if (!k->matters) {
		k->matters = open_load(w, k->load);
	}
	if (host_scheduling) {
		host_witness_load(w, word, mask, site);
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
		if (!o->helped && host_races->load[o->load].word - word < HOST_LINE / 8) {
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

		if (o.number < host_durable_beside(durable, host_races->load[o.load].word)) {
			host_races->load[o.load].state = HOST_LOAD_EFFECT;
		} else if (o.helped && o.number > w->last_store) {
			host_races->load[o.load].state = HOST_LOAD_IDLE;
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
