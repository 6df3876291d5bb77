/* SPDX-License-Identifier: BSD-3-Clause */
/* Who looked at what. See watch.h. */
#include <stdlib.h>
#include <string.h>

#include "watch.h"

struct ct_look {
	uint32_t part, tried; /* tried: how often the part was, this time included */
	uint32_t next;        /* of the thing, + 1; 0: none */
};

struct ct_thing {
	uint32_t first;       /* look + 1, 0: none */
	uint32_t count, room; /* of looks; with room of them the old ones are taken out */
	uint32_t seen;        /* the try in which it was last looked at */
};
enum { ROOM_LEAST = 8 };

static struct ct_thing *thing_at(const struct ct_watch *w, uint64_t thing)
{
	return (struct ct_thing *)w->thing.at + thing;
}

static struct ct_look *look_at(const struct ct_watch *w, uint32_t number)
{
	return (struct ct_look *)w->look.at + (number - 1);
}

/* Room for a thing's number. */
static int grow(struct ct_watch *w, uint64_t things)
{
	const uint64_t had = w->thing.capacity;

	if (things <= had) {
		return 0;
	}
	const int error = ct_array_grow(&w->thing, things, sizeof(struct ct_thing));

	if (!error) {
		memset(thing_at(w, had), 0, (w->thing.capacity - had) * sizeof(struct ct_thing));
	}
	return error;
}

int ct_watch_create(uint64_t parts, uint64_t things, struct ct_watch *ret_watch)
{
	struct ct_watch w = {.parts = parts};
	int error = grow(&w, things + 1);

	w.tried = calloc(parts + 1, sizeof *w.tried);
	w.is_awake = calloc(parts + 1, sizeof *w.is_awake);
	error = error || !w.tried || !w.is_awake ?
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
	free(w->look.at);
	free(w->awake.at);
	free(w->tried);
	free(w->is_awake);
	*w = (struct ct_watch){0};
}

/* ---- Looking ----------------------------------------------------------------------------------------- */

void ct_watch_try(struct ct_watch *w, uint32_t part)
{
	w->trying = part;
	w->tried[part]++;
	if (++w->tries == 0) {
		for (uint64_t i = 0; i < w->thing.capacity; i++) {
			thing_at(w, i)->seen = 0;
		}
		w->tries = 1;
	}
}

static bool is_old(const struct ct_watch *w, const struct ct_look *l)
{
	return l->tried != w->tried[l->part];
}

static void drop(struct ct_watch *w, uint32_t number)
{
	look_at(w, number)->next = w->spare;
	w->spare = number;
}

static void take_out_old(struct ct_watch *w, struct ct_thing *t)
{
	uint32_t *from = &t->first;

	while (*from != 0) {
		const uint32_t number = *from;

		if (is_old(w, look_at(w, number))) {
			*from = look_at(w, number)->next;
			drop(w, number);
			t->count--;
		} else {
			from = &look_at(w, number)->next;
		}
	}
	t->room = 2 * t->count + ROOM_LEAST;
}

static int new_look(struct ct_watch *w, uint32_t *ret_number)
{
	if (w->spare != 0) {
		*ret_number = w->spare;
		w->spare = look_at(w, w->spare)->next;
		return 0;
	}
	if (w->look.count == UINT32_MAX - 1) {
		return nvw_fail(NVW_E_MEMORY, "the parts of a check look at too many words");
	}
	const int error = ct_array_grow(&w->look, w->look.count + 1, sizeof(struct ct_look));

	*ret_number = error ? 0 : (uint32_t)++w->look.count;
	return error;
}

int ct_watch_look(struct ct_watch *w, uint64_t thing)
{
	uint32_t number;
	int error = grow(w, thing + 1);

	if (error || thing_at(w, thing)->seen == w->tries) {
		return error;
	}
	struct ct_thing *const t = thing_at(w, thing);

	t->seen = w->tries;
	if (t->count >= t->room) {
		take_out_old(w, t);
	}
	error = new_look(w, &number);
	if (!error) {
		*look_at(w, number) = (struct ct_look){w->trying, w->tried[w->trying], t->first};
		t->first = number;
		t->count++;
	}
	return error;
}

/* ---- Waking ------------------------------------------------------------------------------------------ */

int ct_watch_wake_part(struct ct_watch *w, uint32_t part)
{
	int error = 0;

	if (!w->is_awake[part]) {
		error = ct_array_grow(&w->awake, w->awake.count + 1, sizeof part);
		if (!error) {
			((uint32_t *)w->awake.at)[w->awake.count++] = part;
			w->is_awake[part] = true;
		}
	}
	return error;
}

int ct_watch_wake(struct ct_watch *w, uint64_t thing)
{
	int error = 0;

	if (thing >= w->thing.capacity) {
		return 0;
	}
	struct ct_thing *const t = thing_at(w, thing);

	while (t->first != 0 && !error) {
		const uint32_t number = t->first;
		const struct ct_look *const l = look_at(w, number);

		error = is_old(w, l) ? 0 : ct_watch_wake_part(w, l->part);
		t->first = l->next;
		drop(w, number);
	}
	t->count = 0;
	return error;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

uint64_t ct_watch_take(struct ct_watch *w, const uint32_t **ret_parts)
{
	const uint64_t count = w->awake.count;
	const uint32_t *const parts = w->awake.at;

	if (count > 1) {
		qsort(w->awake.at, count, sizeof(uint32_t), by_number);
	}
	for (uint64_t i = 0; i < count; i++) {
		w->is_awake[parts[i]] = false;
	}
	w->awake.count = 0;
	*ret_parts = parts;
	return count;
}
