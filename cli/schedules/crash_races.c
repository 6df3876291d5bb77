/* SPDX-License-Identifier: BSD-3-Clause */
/* See crash_races.h. */
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/order.h"

#include "../../host/candidates.h"
#include "race_cuts.h"

/* Cuts of one race that lose nothing are enough, fewer of one of second rank. A load that does not come
 * while a store's thread is held so often, behind the store, is not waited for any more. */
enum { CUTS_ENOUGH = 16, FEWER_CUTS = 4, HELD_ENOUGH = 8 };

struct crash_races *crash_races_begin(void)
{
	return calloc(1, sizeof(struct crash_races));
}

static int by_fate(const void *a, const void *b)
{
	const struct ct_race *const x = a, *const y = b;
	int order = NVW_ORDER(x->fate_of_store, y->fate_of_store);

	order = NVW_OR(order, strcmp(x->store, y->store));
	order = NVW_OR(order, NVW_ORDER(x->fate, y->fate));
	order = NVW_OR(order, strcmp(x->load, y->load));
	return order;
}

/* Several copies of a line may have the same words. */
static unsigned held(const struct crash_races *x, const char *store)
{
	unsigned n = 0;

	NVW_FOR(i, x->places) {
		n += strcmp(x->place[i].text, store) == 0 ? x->place[i].held : 0;
	}
	return n;
}

static bool is_alone(const struct ct_race *r)
{
	return r->load[0] == '\0';
}

static void conclude_absent(const struct crash_races *x)
{
	NVW_EACH(r, x->race, x->count) {
		r->held = held(x, r->store);
		if (r->fate == CT_RACE_OPEN && !has_happened(r) && r->held >= HELD_ENOUGH) {
			r->fate = CT_RACE_ABSENT;
		}
	}
}

/* Its store's loss needs no load, as its thread has never flushed it: so races of it are not tried. */
static bool is_covered(const struct crash_races *x, const struct ct_race *r)
{
	bool covered = false;

	for (size_t i = 0; i < x->count && !is_alone(r); i++) {
		const struct ct_race *const other = &x->race[i];

		if (strcmp(other->store, r->store) != 0) {
			continue;
		}
		if (other->flushed) {
			return false;
		}
		covered = covered || (is_alone(other) && has_happened(other));
	}
	return covered;
}

bool crash_race_is_undecided(const struct crash_races *x, const struct ct_race *r)
{
	return r->fate != CT_RACE_LOST && r->cuts < (r->predicted ? CUTS_ENOUGH : FEWER_CUTS) &&
	       !is_covered(x, r);
}

/* Nor are they told. A store that is flushed late, and whose loss alone tells nothing, has its races. */
static bool is_told(const struct crash_races *x, const struct ct_race *r)
{
	if (r->fate == CT_RACE_LOST) {
		return true;
	}
	if (is_alone(r) && r->fate == CT_RACE_OPEN) {
		return !r->flushed && has_happened(r);
	}
	return !is_covered(x, r);
}

static void forget_untold(struct crash_races *x)
{
	size_t told = 0;

	NVW_FOR(i, x->count) {
		struct ct_race moved = x->race[i];

		if (is_told(x, &moved)) {
			x->race[i] = x->race[told];
			x->race[told++] = moved;
		}
	}
	x->count = told;
}

/* A store's fate is the worst of its races'. */
static void conclude_stores(const struct crash_races *x)
{
	NVW_FOR(i, x->count) {
		struct ct_race *const r = &x->race[i];

		r->fate_of_store = r->fate;
		NVW_FOR(k, x->count) {
			if (x->race[k].fate < r->fate_of_store && strcmp(x->race[k].store, r->store) == 0) {
				r->fate_of_store = x->race[k].fate;
			}
		}
	}
}

void crash_races_end(struct crash_races *x, struct ct_races *ret)
{
	forget_untold(x);
	conclude_absent(x);
	conclude_stores(x);
	if (x->count > 0) {
		qsort(x->race, x->count, sizeof *x->race, by_fate);
	}
	free(x->place);
	free(x->found);
	free(x->outcome);
	*ret = (struct ct_races){
		.race = x->race, .count = (unsigned)x->count, .looked = true, .no_load = !x->loads};
	free(x);
}

/* ---- Which there are ------------------------------------------------------------------------------ */

static void place_text(const struct host_session *s, uint32_t site, char text[256])
{
	struct host_place p[HOST_INLINED_MAX];
	const unsigned n = host_places_of(s->control, site, p);
	int at = snprintf(text, 256, "%.150s:%u (%s)", p[0].file, p[0].line, p[0].function);

	for (unsigned i = 1; i < n && at < 256; i++) {
		at += snprintf(text + at, 256 - (size_t)at, " at %s:%u", p[i].file, p[i].line);
	}
}

/* The number of the pair, perhaps new. Without a load: of a store that is lost alone. */
static int race_of(struct crash_races *x, const struct host_session *s, uint32_t store, uint32_t load,
	size_t *ret_number)
{
	struct ct_race new = {.fate = CT_RACE_OPEN};

	place_text(s, store, new.store);
	if (load != 0) {
		place_text(s, load, new.load);
	}
	*ret_number = NVW_INDEX(
		i, x->count, !strcmp(x->race[i].store, new.store) && !strcmp(x->race[i].load, new.load));
	if (*ret_number < x->count) {
		return 0;
	}
	NVW_GROWN(x->race, x->room, x->count + 1, "no memory for races");
	x->race[x->count++] = new;
	NVW_INVARIANT(*ret_number < x->count);
	return 0;
}

/* One for each place: candidates are sorted by their stores. */
static int take_unflushed(
	struct crash_races *x, const struct host_session *s, const struct host_candidates *found)
{
	NVW_INVARIANT(found->strong <= found->count);
	x->unflushed_count = 0;
	for (size_t i = 0; i < found->strong && x->unflushed_count < UNFLUSHED; i++) {
		const struct host_candidate *const c = &found->list[i];
		const unsigned n = x->unflushed_count;

		if (c->hint != HOST_HINT_UNFLUSHED || (n > 0 && x->unflushed[n - 1].site == c->store)) {
			continue;
		}
		x->unflushed[n] = (struct unflushed){.site = c->store};
		host_place_of(s->control, c->store, &x->unflushed[n].store);
		NVW_TRY(race_of(x, s, c->store, 0, &x->unflushed[n].race));
		x->race[x->unflushed[n].race].predicted = true;
		x->race[x->unflushed[n].race].flushed |= c->end != 0;
		x->unflushed_count++;
	}
	return 0;
}

static int take_predicted(struct crash_races *x, const struct host_session *s)
{
	struct host_candidates found;
	int error = host_candidates_find(s, &found);

	if (error) {
		return error;
	}
	x->loads = x->loads || found.races->loads_seen;
	for (size_t i = 0; i < found.strong && !error; i++) {
		size_t number;

		error = race_of(x, s, found.list[i].store, found.list[i].load, &number);
		if (!error) {
			x->race[number].predicted = true;
			x->race[number].flushed |= found.list[i].end != 0;
		}
	}
	error = NVW_OR(error, take_unflushed(x, s, &found));
	host_candidates_free(&found);
	return error;
}

static int take_happened(struct crash_races *x, const struct host_session *s)
{
	const struct host_schedule *const c = s->schedule;
	struct host_place inlined[HOST_INLINED_MAX];

	x->happened_count = 0;
	NVW_FOR(i, c->witnesses) {
		struct happened *const h = &x->happened[x->happened_count];

		NVW_TRY(race_of(x, s, c->witness[i].store, c->witness[i].load, &h->race));
		h->witness = c->witness[i];
		h->fails_behind = false;
		h->nameless = host_places_of(s->control, h->witness.store, inlined) == 0;
		h->store = inlined[0];
		if (!has_happened(&x->race[h->race])) {
			x->race[h->race].schedule = x->schedule;
		}
		x->happened_count++;
	}
	return 0;
}

static void note_found(void *context, uint64_t event, uint64_t off, uint64_t bytes)
{
	struct crash_races *const x = context;

	NVW_FOR(i, x->happened_count) {
		const uint64_t line = line_of(&x->happened[i]);

		if (line + LINE <= off || line >= off + bytes) {
			continue;
		}
		if (!NVW_ROOM(x->found, x->found_room, x->found_count + 1)) {
			x->found_more = true;
			return;
		}
		x->found[x->found_count++] = (struct found){.line = line, .event = event};
	}
}

static int take_place(
	struct crash_races *x, const struct host_session *s, const struct host_access_place *p, bool loads)
{
	struct place *const known =
		NVW_FIND(one, x->place, x->places, one->of.code == p->code && one->of.loads == loads);

	if (known) {
		known->of.exposed = nvw_max(known->of.exposed, p->exposed);
		return 0;
	}
	NVW_GROWN(x->place, x->places_room, x->places + 1, "no memory for places");
	struct place *const new = &x->place[x->places++];

	*new = (struct place){.of = *p};
	new->of.loads = loads;
	place_text(s, p->site, new->text);
	return 0;
}

static int take_places(struct crash_races *x, const struct host_session *s)
{
	const struct host_schedule *const c = s->schedule;

	NVW_FOR(i, HOST_SCHEDULE_PLACES) {
		if (c->length.place[i].exposed > 0) {
			NVW_TRY(take_place(x, s, &c->length.place[i], false));
		}
		if (c->length.load[i].exposed > 0) {
			NVW_TRY(take_place(x, s, &c->length.load[i], true));
		}
	}
	NVW_FOR(i, x->places) {
		for (unsigned k = 0; k < c->plan.aims && !x->place[i].of.loads; k++) {
			x->place[i].held += c->plan.aim[k].code == x->place[i].of.code ? c->held[k] : 0;
		}
	}
	return 0;
}

int crash_races_take(struct crash_races *x, struct host_session *s)
{
	NVW_INVARIANT(s->schedule != NULL);

	x->schedule = s->schedule->plan.number;
	NVW_TRY(take_predicted(x, s));
	NVW_TRY(take_happened(x, s));
	NVW_TRY(take_places(x, s));
	x->found_count = x->outcomes = 0;
	return host_each_found(s, note_found, x);
}

/* ---- What the next schedule is for ------------------------------------------------------------------ */

/* Which places: all stores; those of predicted races that are not decided; of such that have not happened
 * yet; and their loads. */
enum aims { AIM_STORES, AIM_UNDECIDED, AIM_ABSENT, AIM_ABSENT_LOADS };

static bool is_wanted(const struct crash_races *x, const struct place *p, enum aims aims)
{
	const bool absent = aims >= AIM_ABSENT;

	if (p->of.loads != (aims == AIM_ABSENT_LOADS)) {
		return false;
	}
	for (size_t i = 0; i < x->count && aims != AIM_STORES; i++) {
		const struct ct_race *const r = &x->race[i];

		if (r->predicted && !is_alone(r) && !(absent && has_happened(r)) &&
			strcmp(p->of.loads ? r->load : r->store, p->text) == 0 &&
			crash_race_is_undecided(x, r)) {
			return true;
		}
	}
	return aims == AIM_STORES;
}

/* Returns how many there are. */
static unsigned aim_at(const struct crash_races *x, enum aims aims, struct host_schedule_length *length)
{
	unsigned n = 0;

	memset(length->place, 0, sizeof length->place);
	for (size_t i = 0; i < x->places && n < HOST_SCHEDULE_PLACES; i++) {
		if (is_wanted(x, &x->place[i], aims)) {
			length->place[n++] = x->place[i].of;
		}
	}
	return n;
}

void crash_races_aim(const struct crash_races *x, uint64_t number, struct host_schedule_length *length)
{
	static const enum aims turns[] = {AIM_ABSENT_LOADS, AIM_UNDECIDED, AIM_ABSENT, AIM_UNDECIDED};
	enum aims aims = turns[number % 4];

	NVW_INVARIANT(number > 1);
	while (aim_at(x, aims, length) == 0 && aims > AIM_STORES) {
		aims--;
	}
}
