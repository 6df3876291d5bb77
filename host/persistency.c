/* SPDX-License-Identifier: BSD-3-Clause */
/* Which loads may come within a window: what the program's threads have noted, pair by pair. See
 * persistency.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "candidates.h"
#include "core/array.h"
#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/order.h"
#include "core/search.h"
#include "core/text_stream.h"
#include "core/zeroed.h"

enum { HEADS = 1 << 14 };

struct search {
	const struct host_session *s;
	const struct host_races *r;
	struct host_race_window *window; /* the stores that are not durable at the end, too */
	size_t windows;
	uint32_t *load, *loads_end; /* numbers of records; of each word: the end of its own there */
	uint32_t *same_place;       /* of a site: the first with its place; 0: not asked yet */
	char **text;                /* of a site's place */
	struct host_candidates *found;
	uint32_t head[HEADS], *next; /* numbers of candidates, from 1, by a hash of their places */
	size_t room, next_room;
};

/* ---- What is compared ----------------------------------------------------------------------------- */

static int by_word_of_window(const void *a, const void *b)
{
	const struct host_race_window *const x = a, *const y = b;

	return NVW_ORDER(x->word, y->word);
}

static uint32_t threads(const struct host_races *r)
{
	return (uint32_t)nvw_min(r->threads, HOST_RACE_THREADS);
}

/* The number of the word's page; 0: it has none. */
static uint32_t page_of(const struct host_races *r, uint64_t word)
{
	const uint64_t key = word / HOST_RACE_WORDS;
	const uint64_t at = NVW_PROBE(i, key * UINT64_C(0x9e3779b97f4a7c15) >> 40, 2 * HOST_RACE_PAGES,
		r->page_key[i] == key || r->page_key[i] == 0);

	return r->page_key[at] == key ? r->page_number[at] : 0;
}

static uint32_t word_state(const struct host_races *r, uint64_t word)
{
	return r->word[page_of(r, word)][word % HOST_RACE_WORDS];
}

/* A store that its thread has never made durable. */
static void add_unended(struct search *x, uint32_t thread, const struct host_race_store *s)
{
	if (s->mask == 0 || (!(word_state(x->r, s->word) & HOST_WORD_SHARED) && !x->r->initial)) {
		return;
	}
	x->window[x->windows++] = (struct host_race_window){.word = s->word,
		.store = s->site,
		.clock = s->clock,
		.hints = s->hints,
		.mask = s->mask,
		.thread = (uint8_t)thread};
}

static size_t index_of(const struct host_races *r, uint64_t word)
{
	return page_of(r, word) * (size_t)HOST_RACE_WORDS + word % HOST_RACE_WORDS;
}

/* The loads by their words, those of a word in the order of their records. */
static int gather_loads(struct search *x)
{
	const uint32_t loads = (uint32_t)nvw_min(x->r->loads, HOST_RACE_RECORDS - 1);
	const size_t words = (x->r->pages + (size_t)1) * HOST_RACE_WORDS;
	uint32_t before = 0;

	x->found->loads = loads;
	x->load = calloc(loads + (size_t)1, sizeof *x->load);
	x->loads_end = calloc(words, sizeof *x->loads_end);
	NVW_ALLOCATED(x->load && x->loads_end, "no memory for loads");
	for (uint32_t i = 1; i <= loads; i++) {
		x->loads_end[index_of(x->r, x->r->load[i].word)]++;
	}
	NVW_EACH(end, x->loads_end, words) {
		const uint32_t count = *end;

		*end = before;
		before += count;
	}
	NVW_INVARIANT(before == loads); /* each has its word */
	for (uint32_t i = 1; i <= loads; i++) {
		x->load[x->loads_end[index_of(x->r, x->r->load[i].word)]++] = i;
	}
	return 0;
}

static int gather(struct search *x)
{
	size_t most = x->r->windows;

	for (uint32_t t = 1; t <= threads(x->r); t++) {
		most += x->r->thread[t].open;
	}
	x->window = calloc(most + 1, sizeof *x->window);
	x->same_place = calloc(HOST_SITES_MAX + 1, sizeof *x->same_place);
	x->text = calloc(HOST_SITES_MAX + 1, sizeof *x->text);
	NVW_ALLOCATED(x->window && x->same_place && x->text, "no memory for windows");
	x->windows = x->r->windows;
	memcpy(x->window, x->r->window + 1, x->windows * sizeof *x->window);
	for (uint32_t t = 1; t <= threads(x->r); t++) {
		for (uint32_t i = 0; i < HOST_RACE_PENDING && x->r->thread[t].open > 0 && x->windows < most;
			i++) {
			add_unended(x, t, &x->r->thread[t].store[i]);
		}
	}
	qsort(x->window, x->windows, sizeof *x->window, by_word_of_window);
	return gather_loads(x);
}

/* ---- Pairs ---------------------------------------------------------------------------------------- */

static bool protects(const struct host_races *r, uint64_t lock, bool own)
{
	if (!(lock & HOST_OWN_LOCK)) {
		return !own;
	}
	return own && !r->own[lock & ~HOST_OWN_LOCK].broken;
}

/* A lock is in both sets, and not held for reading by both. own: one of the program's own, or none. */
static bool exclude_each_other(
	const struct host_races *r, const struct host_lockset *a, const struct host_lockset *b, bool own)
{
	NVW_FOR(i, a->count) {
		NVW_FOR(k, b->count) {
			const bool both_read = a->shared >> i & b->shared >> k & 1;

			if (a->lock[i] == b->lock[k] && !both_read && protects(r, a->lock[i], own)) {
				return true;
			}
		}
	}
	return false;
}

static bool may_come_within(
	const struct host_races *r, const struct host_race_window *w, const struct host_race_load *l)
{
	if (l->thread == w->thread || !(l->mask & w->mask) ||
		r->thread[l->thread].process != r->thread[w->thread].process) {
		return false;
	}
	if (host_race_before(r, l->thread, l->clock, w->clock)) {
		return false;
	}
	if (w->ended && host_race_before(r, w->end_thread, w->end_clock, l->clock)) {
		return false;
	}
	return !exclude_each_other(r, &r->lockset[w->lockset], &r->lockset[l->lockset], false);
}

/* The loading thread has made something durable afterwards, or one that comes after the load. */
static bool has_effect(const struct host_races *r, const struct host_race_load *l)
{
	bool has = l->state == HOST_LOAD_EFFECT;

	for (uint32_t t = 1; t <= threads(r) && !has; t++) {
		has = t != l->thread && host_race_before(r, l->thread, l->clock, r->thread[t].effect);
	}
	return has;
}

static enum host_hint hint_of(
	const struct host_races *r, const struct host_race_window *w, const struct host_race_load *l)
{
	if (!w->at_once && word_state(r, w->word) & HOST_WORD_LOCKED) {
		return HOST_HINT_LOCKED;
	}
	if (exclude_each_other(r, &r->lockset[w->lockset], &r->lockset[l->lockset], true)) {
		return HOST_HINT_OWN;
	}
	if ((w->ended && host_race_before(r, w->end_thread, w->end_hints, l->hints)) ||
		host_race_before(r, l->thread, l->hints, w->hints)) {
		return HOST_HINT_ORDERED;
	}
	if (!w->ended || w->late) {
		return HOST_HINT_UNFLUSHED;
	}
	return HOST_HINT_NONE;
}

/* ---- Candidates ----------------------------------------------------------------------------------- */

/* A place with those that it was inlined at, because a helper's line alone says little. NULL: no memory. */
static char *text_of(const struct search *x, uint32_t site)
{
	NVW_INVARIANT(site > 0 && site <= HOST_SITES_MAX);

	struct host_place p[HOST_INLINED_MAX];
	const unsigned n = host_places_of(x->s->control, site, p);
	struct text_stream t;

	if (!text_begin(&t)) {
		return NULL;
	}
	for (unsigned i = 0; i < n || i == 0; i++) {
		fprintf(t.to, "%s:%u %s\n", p[i].file, p[i].line, p[i].function);
	}
	return text_end(&t);
}

static uint32_t place_of(struct search *x, uint32_t site)
{
	if (site == 0 || site > HOST_SITES_MAX) {
		return 0;
	}
	if (x->same_place[site] != 0) {
		return x->same_place[site];
	}
	x->text[site] = text_of(x, site);
	x->same_place[site] = site;
	for (uint32_t i = 1; i <= HOST_SITES_MAX && x->text[site]; i++) {
		if (i != site && x->same_place[i] == i && x->text[i] &&
			strcmp(x->text[i], x->text[site]) == 0) {
			x->same_place[site] = i;
			break;
		}
	}
	return x->same_place[site];
}

/* That of the pair of places, perhaps new; NULL: no memory. */
static struct host_candidate *candidate_of(struct search *x, uint32_t store, uint32_t load)
{
	struct host_candidates *const f = x->found;
	const uint64_t hash = ((uint64_t)store << 32 | load) * UINT64_C(0x9e3779b97f4a7c15) >> 40;
	uint32_t *const head = &x->head[hash % HEADS];

	for (uint32_t i = *head; i != 0; i = x->next[i]) {
		if (f->list[i - 1].store == store && f->list[i - 1].load == load) {
			return &f->list[i - 1];
		}
	}
	if (!NVW_ROOM(f->list, x->room, f->count + 1) || !NVW_ROOM(x->next, x->next_room, f->count + 2)) {
		return NULL;
	}
	NVW_INVARIANT(f->count < x->room && f->count + 1 < x->next_room);
	f->list[f->count] = (struct host_candidate){.store = store, .load = load};
	f->count++;
	x->next[f->count] = *head;
	*head = (uint32_t)f->count;
	return &f->list[f->count - 1];
}

/* The first pair with the weakest hint stands for all, and one whose window ends before one without. */
static int add_pair(struct search *x, const struct host_race_window *w, const struct host_race_load *l)
{
	const enum host_hint hint = hint_of(x->r, w, l);
	struct host_candidate *const c = candidate_of(x, place_of(x, w->store), place_of(x, l->site));

	NVW_ALLOCATED(c, "no memory for candidates");
	if (c->times++ == 0 || hint < c->hint || (hint == c->hint && c->end == 0 && w->ended)) {
		c->hint = hint;
		c->end = place_of(x, w->end);
		c->off = (w->word & ((UINT64_C(1) << 48) - 1)) * 8 +
			 (unsigned)__builtin_ctz(l->mask & w->mask);
		c->bytes = (unsigned)__builtin_popcount(l->mask & w->mask);
		c->over = w->lockset;
		c->at = l->lockset;
	}
	c->unended = c->unended || !w->ended;
	return 0;
}

static int compare_loads(struct search *x, const struct host_race_window *w)
{
	const size_t word = index_of(x->r, w->word);

	for (uint32_t i = word > 0 ? x->loads_end[word - 1] : 0; i < x->loads_end[word]; i++) {
		const struct host_race_load *const l = &x->r->load[x->load[i]];

		if (!may_come_within(x->r, w, l)) {
			continue;
		}
		if (!has_effect(x->r, l)) {
			x->found->without_effect++;
			continue;
		}
		NVW_TRY(add_pair(x, w, l));
	}
	return 0;
}

static int compare_all(struct search *x)
{
	NVW_EACH(window, x->window, x->windows) {
		NVW_TRY(compare_loads(x, window));
	}
	return 0;
}

static int by_hint(const void *a, const void *b)
{
	const struct host_candidate *const x = a, *const y = b;

	return NVW_OR(NVW_OR(NVW_ORDER(x->hint, y->hint), NVW_ORDER(x->store, y->store)),
		NVW_ORDER(x->load, y->load));
}

/* They are the first, and sorted by their stores. */
static void count_strong(struct host_candidates *f)
{
	size_t i = 0;

	for (; i < f->count && f->list[i].hint <= HOST_HINT_UNFLUSHED; i++) {
		const struct host_candidate *const c = &f->list[i];

		f->rank[c->hint].count++;
		f->rank[c->hint].stores += i == 0 || c[-1].hint != c->hint || c[-1].store != c->store;
	}
	NVW_INVARIANT(f->rank[HOST_HINT_NONE].count + f->rank[HOST_HINT_UNFLUSHED].count == i);
	f->strong = i;
}

/* ---- The whole ------------------------------------------------------------------------------------ */

int host_candidates_find(const struct host_session *s, struct host_candidates *ret_found)
{
	struct search x = {.s = s, .found = ret_found};

	*ret_found = (struct host_candidates){.list = NULL};
	ret_found->races = host_session_map(s, "races", sizeof *ret_found->races);
	if (ret_found->races == NULL) {
		return NVW_E_SYSTEM;
	}
	x.r = ret_found->races;
	int error = gather(&x);

	if (!error) {
		error = compare_all(&x);
	}
	ret_found->windows = x.windows;
	if (ret_found->count > 0) {
		qsort(ret_found->list, ret_found->count, sizeof *ret_found->list, by_hint);
	}
	count_strong(ret_found);
	for (uint32_t i = 0; x.text && i <= HOST_SITES_MAX; i++) {
		free(x.text[i]);
	}
	free(x.text);
	free(x.next);
	free(x.window);
	free(x.load);
	free(x.loads_end);
	free(x.same_place);
	if (error) {
		host_candidates_free(ret_found);
	}
	return error;
}

void host_candidates_free(struct host_candidates *c)
{
	free(c->list);
	nvw__unmap(c->races, sizeof *c->races);
	*c = (struct host_candidates){.list = NULL};
}

const char *host_race_limit_text(enum host_race_limit limit)
{
	static const char *const texts[] = {HOST_RACE_LIMITS(HOST_TEXT)};

	NVW_INVARIANT(limit < NVW_COUNT(texts));
	return texts[limit];
}
