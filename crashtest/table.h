/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing table of rows, found by the key that each begins with: any number but UINT64_MAX. */
#ifndef CRASHTEST_TABLE_H
#define CRASHTEST_TABLE_H

#include <stdlib.h>
#include <string.h>

#include <nvw/pool.h>
#include <nvw/random.h>

#include "core/each.h"
#include "core/invariant.h"
#include "core/search.h"

struct ct_table {
	void *at;             /* rows; the key of an empty one is UINT64_MAX */
	uint64_t count, room; /* room: a power of two */
};

static inline uint64_t *ct_table_row(const struct ct_table *t, size_t bytes, uint64_t i)
{
	return (uint64_t *)(void *)((char *)t->at + i * bytes);
}

/* The row of a key, or the empty one where it would be. There has to be room. */
static inline uint64_t *ct_table_place(const struct ct_table *t, size_t bytes, uint64_t key)
{
	NVW_DEEP_INVARIANT(t->count < t->room);
	const uint64_t place = NVW_PROBE(i, nvw_mix64(key), t->room,
		*ct_table_row(t, bytes, i) == UINT64_MAX || *ct_table_row(t, bytes, i) == key);

	return ct_table_row(t, bytes, place);
}

/* NULL: no row has the key. */
static inline const void *ct_table_find(const struct ct_table *t, size_t bytes, uint64_t key)
{
	const uint64_t *const row = t->room > 0 ? ct_table_place(t, bytes, key) : NULL;

	return row && *row == key ? row : NULL;
}

NVW_CHECKED static inline int ct_table_grow(struct ct_table *t, size_t bytes)
{
	struct ct_table more = {.count = t->count, .room = t->room ? 2 * t->room : 1024};

	more.at = malloc(more.room * bytes);
	NVW_ALLOCATED(more.at, "no memory for a table of %zu rows", (size_t)more.room);
	memset(more.at, 0xff, more.room * bytes);
	NVW_FOR(i, t->room) {
		const uint64_t *const row = ct_table_row(t, bytes, i);

		if (*row != UINT64_MAX) {
			memcpy(ct_table_place(&more, bytes, *row), row, bytes);
		}
	}
	free(t->at);
	*t = more;
	return 0;
}

/* The row of a key, *(void **)ret_row. A new one is zero but for the key. */
NVW_CHECKED static inline int ct_table_take(struct ct_table *t, size_t bytes, uint64_t key, void *ret_row)
{
	NVW_DEEP_INVARIANT(key != UINT64_MAX);
	if (2 * (t->count + 1) > t->room) {
		NVW_TRY(ct_table_grow(t, bytes));
	}
	uint64_t *const row = ct_table_place(t, bytes, key);

	if (*row != key) {
		memset(row, 0, bytes);
		*row = key;
		t->count++;
	}
	*(void **)ret_row = row;
	return 0;
}

static inline void ct_table_clear(struct ct_table *t, size_t bytes)
{
	if (t->count > 0) {
		memset(t->at, 0xff, t->room * bytes);
	}
	t->count = 0;
}

#endif
