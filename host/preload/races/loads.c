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

/* The number of the record; 0: there is no room. */
static uint32_t number_of(struct host_watched *w, struct host_race_load *new)
{
	struct host_races *const r = host_races;
	const uint64_t hash = ((new->word * 31 + new->site) * 31 + new->lockset) * 31 + new->clock;
	uint32_t *const head = &r->load_index[(hash * UINT64_C(0x9e3779b97f4a7c15) >> 40) % HOST_RACE_INDEX];
	uint32_t i;

	new->hints = host_hints(w);
	host_lock();
	for (i = *head; i != 0 && !is_same(&r->load[i], new); i = r->load[i].next) {
	}
	if (i == 0 && r->loads + 1 >= HOST_RACE_RECORDS) {
		host_race_limit(HOST_RACE_MANY_LOADS);
	} else if (i == 0) {
		new->next = *head;
		i = r->loads + 1;
		r->load[i] = *new;
		*head = i;
		r->loads = i;
	}
	host_unlock();
	return i;
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
		return;
	}
	l->state = HOST_LOAD_OPEN;
	w->open[w->open_count++] = (struct host_open_load){.number = w->accesses, .load = number};
}

static void load_word(
	struct host_watched *w, uint64_t word, uint32_t *state, unsigned mask, const void *context)
{
	const uint32_t site = *(const uint32_t *)context, lockset = host_lockset(w);
	const size_t at = (word * 31 + site) * UINT64_C(0x9e3779b97f4a7c15) >> 52;

	if (!(host_touch_word(w, state, 0) & HOST_WORD_SHARED) && !host_races->initial) {
		return;
	}
	if (w->load[at].word != word || w->load[at].site != site || w->load[at].lockset != lockset ||
		w->load[at].clock != w->clock || w->load[at].mask != mask) {
		struct host_race_load new = {.word = word,
			.site = site,
			.lockset = lockset,
			.clock = w->clock,
			.mask = (uint8_t)mask,
			.thread = (uint8_t)w->number};

		w->load[at].load = number_of(w, &new);
		w->load[at].word = word;
		w->load[at].site = site;
		w->load[at].lockset = lockset;
		w->load[at].clock = w->clock;
		w->load[at].mask = (uint8_t)mask;
	}
	open_load(w, w->load[at].load);
	if (host_scheduling) {
		host_witness_load(w, word, mask, site);
	}
}

void host_check_load(
	const struct host_mapping *m, const void *address, size_t n, const struct host_caller *caller)
{
	struct host_watched *const w = m && n > 0 ? host_watch_begins() : NULL;

	if (w == NULL) {
		return;
	}
	const uint32_t site = host_race_site(w, caller);

	host_own_later(w);
	w->accesses++;
	host_each_word(w, m, address, n, load_word, &site);
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
