/* SPDX-License-Identifier: BSD-3-Clause */
/* Who looked at what. See watch.h. */
#include <stdlib.h>

#include "core/order.h"

#include "watch.h"

struct ct_look {
	uint32_t thing, part;
	uint32_t next, last; /* of the thing; 0: none */
	uint32_t sister;     /* of the part, likewise: the one after it */
};

struct ct_thing {
	uint32_t first; /* look; 0: none */
	uint32_t seen;  /* the try in which it was last looked at */
	uint32_t woken; /* the round in which it last woke its parts */
};

static struct ct_thing *thing_at(const struct ct_watch *w, uint64_t thing)
{
	NVW_DEEP_INVARIANT(thing <= w->thing.capacity);
	return (struct ct_thing *)w->thing.at + thing;
}

static struct ct_look *look_at(const struct ct_watch *w, uint32_t number)
{
	NVW_DEEP_INVARIANT(number >= 1);
	return nvw_row(&w->look, number);
}

/* Numbers of looks are from 1 on, and what is being tried is a part. */
__attribute__((unused)) static bool is_valid(const struct ct_watch *w)
{
	return w->newest <= w->look.count && w->awake.count <= w->parts && w->rounds > 0 &&
	       (!w->is_trying || (w->tries > 0 && w->trying < w->parts));
}

/* Room for a thing's number. Most have it: each look asks. */
static int grow(struct ct_watch *w, uint64_t things)
{
	return things <= w->thing.capacity ? 0 : ct_array_grow(&w->thing, things, sizeof(struct ct_thing));
}

int ct_watch_create(uint64_t parts, uint64_t things, struct ct_watch *ret_watch)
{
	struct ct_watch w = {.parts = parts, .rounds = 1, .look = {.row_bytes = sizeof(struct ct_look)}};
	int error = grow(&w, things + 1);

	w.first = calloc(parts + 1, sizeof *w.first);
	w.is_awake = calloc(parts + 1, sizeof *w.is_awake);
	error = error || !w.first || !w.is_awake ?
			nvw_fail(NVW_E_MEMORY, "no memory for the parts of a check") :
			0;
	for (uint64_t i = 0; i < parts && !error; i++) {
		error = ct_watch_wake_part(&w, (uint32_t)i);
	}
	*ret_watch = w;
	if (error) {
		ct_watch_free(ret_watch);
	}
	return error;
}

void ct_watch_free(struct ct_watch *w)
{
	free(w->thing.at);
	nvw_rows_finish(&w->look);
	free(w->awake.at);
	free(w->first);
	free(w->is_awake);
	*w = (struct ct_watch){0};
}

/* ---- Looking ----------------------------------------------------------------------------------------- */

/* Where the number of the part's next look stands. */
static uint32_t *place(struct ct_watch *w)
{
	return w->newest != 0 ? &look_at(w, w->newest)->sister : &w->first[w->trying];
}

/* Takes out the part's next look, which is of an earlier try. */
static void take_out(struct ct_watch *w)
{
	NVW_DEEP_INVARIANT(w->is_trying);
	uint32_t *const at = place(w), number = *at;
	struct ct_look *const gone = look_at(w, number);

	*at = gone->sister;
	if (gone->last != 0) {
		look_at(w, gone->last)->next = gone->next;
	} else {
		thing_at(w, gone->thing)->first = gone->next;
	}
	if (gone->next != 0) {
		look_at(w, gone->next)->last = gone->last;
	}
	nvw_rows_give(&w->look, number);
}

/* What the part did not look at again counts no longer. */
static void end_try(struct ct_watch *w)
{
	while (w->is_trying && *place(w) != 0) {
		take_out(w);
	}
	w->is_trying = false;
}

/* They begin again. No part is being tried, or it has looked at nothing yet. */
static void forget_numbers(struct ct_watch *w)
{
	NVW_FOR(i, w->thing.capacity) {
		thing_at(w, i)->seen = thing_at(w, i)->woken = 0;
	}
}

void ct_watch_try(struct ct_watch *w, uint32_t part)
{
	NVW_DEEP_INVARIANT(part < w->parts);
	end_try(w);
	w->trying = part;
	w->newest = 0;
	w->is_trying = true;
	if (++w->tries == 0) {
		forget_numbers(w);
		w->tries = 1;
	}
}

static int add_look(struct ct_watch *w, uint32_t thing)
{
	struct ct_thing *const t = thing_at(w, thing);
	const uint32_t number = nvw_rows_take(&w->look);

	NVW_FAIL_IF(number == 0, NVW_E_MEMORY, "no memory for what the parts of a check look at");
	uint32_t *const at = place(w);

	*look_at(w, number) = (struct ct_look){thing, w->trying, t->first, 0, *at};
	*at = number;
	if (t->first != 0) {
		look_at(w, t->first)->last = number;
	}
	t->first = number;
	w->newest = number;
	return 0;
}

static bool is_next(struct ct_watch *w, uint32_t thing, uint32_t number)
{
	return number != 0 && look_at(w, number)->thing == thing;
}

int ct_watch_look(struct ct_watch *w, uint64_t thing)
{
	int error = thing < UINT32_MAX ? grow(w, thing + 1) :
					 nvw_fail(NVW_E_MEMORY, "a check in parts of too many words");

	NVW_DEEP_INVARIANT(is_valid(w) && w->is_trying);
	if (error || thing_at(w, thing)->seen == w->tries) {
		return error;
	}
	const uint32_t next = *place(w);

	thing_at(w, thing)->seen = w->tries;
	/* A part that looks at something else than before often goes on as before. */
	if (next != 0 && !is_next(w, (uint32_t)thing, next) &&
		is_next(w, (uint32_t)thing, look_at(w, next)->sister)) {
		take_out(w);
	}
	if (is_next(w, (uint32_t)thing, *place(w))) {
		w->newest = *place(w);
	} else {
		error = add_look(w, (uint32_t)thing);
	}
	return error;
}

/* ---- Waking ------------------------------------------------------------------------------------------ */

int ct_watch_wake_part(struct ct_watch *w, uint32_t part)
{
	int error = 0;

	NVW_DEEP_INVARIANT(part < w->parts);
	if (!w->is_awake[part]) {
		error = CT_ADD(&w->awake, &part);
		w->is_awake[part] = !error;
	}
	return error;
}

int ct_watch_wake(struct ct_watch *w, uint64_t thing)
{
	NVW_DEEP_INVARIANT(is_valid(w));
	end_try(w);
	if (thing >= w->thing.capacity || thing_at(w, thing)->woken == w->rounds) {
		return 0;
	}
	thing_at(w, thing)->woken = w->rounds;
	for (uint32_t i = thing_at(w, thing)->first; i != 0; i = look_at(w, i)->next) {
		NVW_TRY(ct_watch_wake_part(w, look_at(w, i)->part));
	}
	return 0;
}

uint64_t ct_watch_take(struct ct_watch *w, const uint32_t **ret_parts)
{
	const uint64_t count = w->awake.count;
	const uint32_t *const parts = w->awake.at;

	if (count > 1) {
		qsort(w->awake.at, count, sizeof(uint32_t), nvw_by_u32);
	}
	NVW_EACH(part, parts, count) {
		w->is_awake[*part] = false;
	}
	NVW_DEEP_INVARIANT(is_valid(w));
	w->awake.count = 0;
	if (++w->rounds == 0) {
		forget_numbers(w);
		w->rounds = 1;
	}
	*ret_parts = parts;
	return count;
}
