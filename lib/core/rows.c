/* SPDX-License-Identifier: BSD-3-Clause */
/* See rows.h. */
#include "rows.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "invariant.h"

enum { ROWS_MIN = 256 };

/* Rows have numbers from 1 on, and a free row is one that was taken. */
__attribute__((unused)) static bool rows_are_valid(const struct nvw_rows *rows)
{
	return rows->row_bytes >= sizeof rows->free && rows->free <= rows->count &&
	       (rows->count == 0 || rows->count < rows->capacity) &&
	       (rows->at != NULL) == (rows->capacity > 0);
}

/* Row 0 has a place too, which is not used. */
static int grow_rows(struct nvw_rows *rows)
{
	const uint32_t capacity = NVW_OR(2 * rows->capacity, ROWS_MIN);
	char *grown;

	if (capacity <= rows->capacity) {
		return -1;
	}
	grown = realloc(rows->at, (size_t)capacity * rows->row_bytes);
	if (!grown) {
		return -1;
	}
	rows->at = grown;
	rows->capacity = capacity;
	return 0;
}

uint32_t nvw_rows_take(struct nvw_rows *rows)
{
	uint32_t i = rows->free;

	NVW_DEEP_INVARIANT(rows_are_valid(rows));
	if (i) {
		memcpy(&rows->free, nvw_row(rows, i), sizeof rows->free);
		NVW_DEEP_INVARIANT(rows->free <= rows->count);
	} else {
		if (rows->count + 1 >= rows->capacity && grow_rows(rows) < 0) {
			return 0;
		}
		i = ++rows->count;
	}
	NVW_DEEP_INVARIANT(rows_are_valid(rows));
	memset(nvw_row(rows, i), 0, rows->row_bytes);
	return i;
}

void nvw_rows_give(struct nvw_rows *rows, uint32_t i)
{
	NVW_DEEP_INVARIANT(rows_are_valid(rows));
	NVW_DEEP_INVARIANT(i && i <= rows->count && i != rows->free);
	memcpy(nvw_row(rows, i), &rows->free, sizeof rows->free);
	rows->free = i;
}

void nvw_rows_reset(struct nvw_rows *rows)
{
	NVW_DEEP_INVARIANT(rows->free <= rows->count);
	rows->count = rows->free = 0;
}

void nvw_rows_finish(struct nvw_rows *rows)
{
	free(rows->at);
	rows->at = NULL;
	rows->capacity = 0;
	nvw_rows_reset(rows);
}
