/* SPDX-License-Identifier: BSD-3-Clause */
/* Who looked at what. See watch.h. */
#include <stdlib.h>
#include <string.h>

#include "watch.h"

/* A look is in two lists: of its thing, and of its part. When the thing changes, its list ends there; the part's is gone
 * through when the part is tried, which it is then. */
struct ct_look {
	uint32_t part;
	uint32_t next_of_thing, last_of_thing, next_of_part; /* + 1; last: the one before it, 0: none */
	uint64_t thing;                                      /* IS_OVER: it has changed since */
};
#define IS_OVER UINT64_MAX

/* After so many tries a part forgets what it looked at before: else what it no longer looks at would add up. */
enum { TRIES_TO_FORGET = 8 };

static uint32_t *head(const struct ct_watch *w, uint64_t thing)
{
	return (uint32_t *)w->head.at + thing;
}

static struct ct_look *look_at(const struct ct_watch *w, uint32_t number)
{
	return (struct ct_look *)w->look.at + (number - 1);
}

/* Room for a thing's number. */
static int grow(struct ct_watch *w, uint64_t things)
{
	const uint64_t had = w->head.capacity, saw = w->seen.capacity;

	if (things <= w->head.capacity && things <= w->seen.capacity) {
		return 0;
	}
	int error = ct_array_grow(&w->head, things, sizeof(uint32_t));

	error = error ? error : ct_array_grow(&w->seen, things, sizeof(uint64_t));
	if (!error) {
		memset((uint32_t *)w->head.at + had, 0, (w->head.capacity - had) * sizeof(uint32_t));
		memset((uint64_t *)w->seen.at + saw, 0, (w->seen.capacity - saw) * sizeof(uint64_t));
	}
	return error;
}

int ct_watch_create(uint64_t parts, uint64_t things, struct ct_watch *ret_watch)
{
	struct ct_watch w = {.parts = parts};
	int error = grow(&w, things + 1);

	w.first = calloc(parts + 1, sizeof *w.first);
	w.age = calloc(parts + 1, sizeof *w.age);
	w.is_awake = calloc(parts + 1, sizeof *w.is_awake);
	error = error || !w.first || !w.age || !w.is_awake ?
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
	free(w->head.at);
	free(w->seen.at);
	free(w->look.at);
	free(w->awake.at);
	free(w->first);
	free(w->age);
	free(w->is_awake);
	*w = (struct ct_watch){0};
}

/* ---- Looking ----------------------------------------------------------------------------------------- */

/* Takes a look out of the list of its thing. */
static void unlink_look(struct ct_watch *w, const struct ct_look *l)
{
	if (l->last_of_thing != 0) {
		look_at(w, l->last_of_thing)->next_of_thing = l->next_of_thing;
	} else {
		*head(w, l->thing) = l->next_of_thing;
	}
	if (l->next_of_thing != 0) {
		look_at(w, l->next_of_thing)->last_of_thing = l->last_of_thing;
	}
}

void ct_watch_try(struct ct_watch *w, uint32_t part)
{
	const bool forgets = ++w->age[part] % TRIES_TO_FORGET == 0;
	uint32_t *from = &w->first[part];

	w->trying = part;
	w->tries++;
	while (*from != 0) {
		const uint32_t number = *from;
		struct ct_look *const l = look_at(w, number);

		if (l->thing == IS_OVER || forgets) {
			if (l->thing != IS_OVER) {
				unlink_look(w, l);
			}
			*from = l->next_of_part;
			l->next_of_thing = w->spare;
			w->spare = number;
		} else {
			/* It may not look there again; then a change wakes it in vain. */
			((uint64_t *)w->seen.at)[l->thing] = w->tries;
			from = &l->next_of_part;
		}
	}
}

static int new_look(struct ct_watch *w, uint32_t *ret_number)
{
	if (w->spare != 0) {
		*ret_number = w->spare;
		w->spare = look_at(w, w->spare)->next_of_thing;
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

	if (error || ((uint64_t *)w->seen.at)[thing] == w->tries) {
		return error;
	}
	((uint64_t *)w->seen.at)[thing] = w->tries;
	error = new_look(w, &number);
	if (!error) {
		*look_at(w, number) = (struct ct_look){.part = w->trying,
			.thing = thing,
			.next_of_thing = *head(w, thing),
			.next_of_part = w->first[w->trying]};
		if (*head(w, thing) != 0) {
			look_at(w, *head(w, thing))->last_of_thing = number;
		}
		*head(w, thing) = number;
		w->first[w->trying] = number;
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

	if (thing >= w->head.capacity) {
		return 0;
	}
	for (uint32_t i = *head(w, thing); i != 0 && !error; i = look_at(w, i)->next_of_thing) {
		look_at(w, i)->thing = IS_OVER;
		error = ct_watch_wake_part(w, look_at(w, i)->part);
	}
	*head(w, thing) = 0;
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
