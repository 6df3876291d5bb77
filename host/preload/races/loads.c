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
#include <sys/mman.h>

#include "windows.h"

#include "core/each.h"

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
	NVW_DEEP_INVARIANT(number < HOST_RACE_RECORDS && w->open_count <= OPEN_LOADS);

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

struct host_known_loads *host_known_elsewhere(const struct host_watched *w, uint64_t key)
{
	for (uint64_t i = key * UINT64_C(0x9e3779b97f4a7c15) >> 32;; i++) {
		struct host_known_loads *const at = host_known_entry(w, i);

		if (at->key == key || at->key == 0) {
			return at;
		}
	}
}

/* The entry, or a free one. */
static struct host_known_loads *known_at(const struct host_watched *w, uint64_t key)
{
	struct host_known_loads *const beside = host_known_beside(w, key);

	return beside ? beside : host_known_elsewhere(w, key);
}

enum { BYTES_OF_KNOWN = sizeof(struct host_known_loads) + sizeof(struct host_known_records) };

/* False: there is no memory. */
static bool grow(struct host_watched *w)
{
	NVW_INVARIANT((w->known_room & (w->known_room - 1)) == 0 && 2 * w->known_count >= w->known_room);

	struct host_known_loads *const old = w->known;
	struct host_known_records *const old_record = w->known_record;
	const size_t before = w->known_room, room = 4 * before;
	struct host_known_loads *const more = host_memory(room * BYTES_OF_KNOWN);

	if (more == NULL) {
		return false;
	}
	madvise(more, room * BYTES_OF_KNOWN, MADV_HUGEPAGE); /* each look is at another page */
	__atomic_store_n(&w->known, more, __ATOMIC_RELEASE);
	w->known_record = (struct host_known_records *)(more + room);
	__atomic_store_n(&w->known_room, room, __ATOMIC_RELEASE);
	NVW_FOR(i, before) {
		if (old[i].key != 0) {
			struct host_known_loads *const at = known_at(w, old[i].key);

			*at = old[i];
			w->known_record[at - w->known] = old_record[i];
		}
	}
	return true;
}

/* That of a load for which there is no bit, perhaps new; 0: there is no room. */
static uint32_t record_of(struct host_watched *w, struct host_known_records *at, struct host_race_load *new)
{
	NVW_DEEP_INVARIANT(at->load < HOST_RACE_RECORDS);

	uint32_t i = at->forgotten > 0 ? at->load : 0;

	while (i != 0 && (host_races->load[i].word != new->word || host_races->load[i].mask != new->mask)) {
		i = host_races->load[i].next;
	}
	if (i != 0) {
		at->forgotten--;
		return i;
	}
	new->hints = host_hints(w);
	new->next = at->load;
	i = add(new);
	at->load = NVW_OR(i, at->load);
	return i;
}

/* The entry for a load; NULL: there is no memory. */
static struct host_known_loads *entry_for(struct host_watched *w, uint64_t key)
{
	struct host_known_loads *at = known_at(w, key);

	if (at->key != 0) {
		return at;
	}
	if (2 * w->known_count >= w->known_room) {
		if (!grow(w)) {
			return NULL;
		}
		at = known_at(w, key);
	}
	w->known_count++;
	NVW_DEEP_INVARIANT(2 * w->known_count <= w->known_room + 1);
	*at = (struct host_known_loads){.key = key};
	w->known_record[at - w->known] = (struct host_known_records){.load = 0};
	return at;
}

static uint64_t key_of(const uint32_t *state, const struct host_race_load *l)
{
	return host_load_key(state, (size_t)__builtin_popcount(l->mask), l->site, l->lockset);
}

static uint64_t first_of(const struct host_race_load *l)
{
	NVW_DEEP_INVARIANT(l->mask != 0);
	return UINT64_C(1) << (l->word % (HOST_LINE / 8) * 8 + (unsigned)__builtin_ctz(l->mask));
}

static void learn(struct host_watched *w, const uint32_t *state, struct host_race_load *l)
{
	struct host_known_loads *const at = entry_for(w, key_of(state, l));

	if (at == NULL) {
		host_race_limit(HOST_RACE_MANY_LOADS);
	} else if (!(at->first & first_of(l))) {
		at->first |= first_of(l);
		open_load(w, record_of(w, &w->known_record[at - w->known], l));
	}
}

/* The load may have to be opened again. */
static void forget(struct host_watched *w, const struct host_race_load *l)
{
	const uint32_t *const page = host_page_of(w, l->word / HOST_RACE_WORDS);
	struct host_known_loads *const at = known_at(w, key_of(&page[l->word % HOST_RACE_WORDS], l));

	if (at->first & first_of(l)) {
		at->first &= ~first_of(l);
		w->known_record[at - w->known].forgotten++;
	}
}

static inline void load_word(
	struct host_watched *w, uint64_t word, uint32_t *state, unsigned mask, const void *context)
{
	struct host_race_load new = {.word = word,
		.site = *(const uint32_t *)context,
		.lockset = host_lockset(w),
		.clock = w->clock,
		.mask = (uint8_t)mask,
		.thread = (uint8_t)w->number};

	if (!(host_touch_word(w, state, 0) & HOST_WORD_SHARED) && !host_races->initial) {
		return;
	}
	learn(w, state, &new);
	if (host_scheduling) {
		host_witness_load(w, word, mask, new.site);
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
	NVW_DEEP_INVARIANT(w->helped_count <= w->open_count);
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
	NVW_DEEP_INVARIANT(kept <= OPEN_LOADS);
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
