/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistency races that happen, where threads take turns (turns.c): a thread has read what another has
 * stored and not made durable, and makes something durable that it has stored since, or acknowledges an
 * operation, while that still is not.
 *
 * The tables of other threads (../../persistency.h) can be read because only one thread runs.
 */
#include "../turns/turns.h"
#include "core/each.h"
#include "windows.h"

/* A store of the word that is not durable; NULL: there is none. */
static const struct host_race_store *open_store(
	const struct host_race_thread *t, uint64_t word, unsigned mask)
{
	NVW_DEEP_INVARIANT(word >> 48 > 0 && mask > 0);
	for (unsigned i = 0; t->open > 0 && i < HOST_RACE_PROBES; i++) {
		const struct host_race_store *const s = &t->store[(word + i) % HOST_RACE_PENDING];

		if (s->word == word && (s->mask & mask) != 0) {
			return s;
		}
		if (s->word == 0) {
			break;
		}
	}
	return NULL;
}

/* An earlier load says as much. */
static bool is_known(const struct host_watched *w, const struct host_race_store *s, uint32_t site)
{
	NVW_DEEP_INVARIANT(w->early_count <= EARLY_LOADS);

	return NVW_ANY(early, w->early, w->early_count,
		early->store == s && early->stored == s->number && early->site == site && !early->helped);
}

void host_witness_load(struct host_watched *w, uint64_t word, unsigned mask, uint32_t site)
{
	const uint32_t count = (uint32_t)nvw_min(host_races->threads, HOST_RACE_THREADS);

	for (uint32_t i = 1; i <= count && w->early_count < EARLY_LOADS; i++) {
		const struct host_race_thread *const t = &host_races->thread[i];
		const struct host_race_store *const s =
			t == w->shared || t->joined ? NULL : open_store(t, word, mask);

		if (s != NULL && !is_known(w, s, site)) {
			w->early[w->early_count++] = (struct host_early_load){.store = s,
				.stored = s->number,
				.word = word,
				.loaded = w->accesses,
				.site = site};
		}
	}
}

void host_witness_flush(struct host_watched *w, uint64_t word)
{
	NVW_DEEP_INVARIANT(word % (HOST_LINE / 8) == 0);
	NVW_EACH(early, w->early, w->early_count) {
		early->helped = early->helped || early->word - word < HOST_LINE / 8;
	}
}

static void note(const struct host_early_load *l)
{
	NVW_INVARIANT(host_schedule->witnesses <= HOST_SCHEDULE_WITNESSES);

	struct host_schedule *const c = host_schedule;
	const struct host_witness new = {.store = l->store->site,
		.load = l->site,
		.word = l->word & ((UINT64_C(1) << 48) - 1),
		.event = host_control->events};
	uint32_t i = 0;

	while (i < c->witnesses && (c->witness[i].store != new.store || c->witness[i].load != new.load)) {
		i++;
	}
	if (i == c->witnesses && i < HOST_SCHEDULE_WITNESSES) {
		c->witness[c->witnesses++] = new;
	}
}

static bool is_open(const struct host_early_load *l)
{
	return l->store->word == l->word && l->store->mask != 0 && l->store->number == l->stored;
}

void host_witness_fence(struct host_watched *w, const struct host_durable *durable)
{
	unsigned kept = 0;

	NVW_EACH(l, w->early, w->early_count) {
		if (is_open(l) && l->loaded < host_durable_beside(durable, l->word)) {
			note(l);
		} else if (is_open(l) && !l->helped) {
			w->early[kept++] = *l;
		}
	}
	w->early_count = kept;
}

void host_witness_acknowledged(struct host_watched *w)
{
	NVW_EACH(early, w->early, w->early_count) {
		if (is_open(early)) {
			note(early);
		}
	}
	w->early_count = 0;
}
