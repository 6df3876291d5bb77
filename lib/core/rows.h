/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of one size, identified by number. 0 means no row. A freed row is reused by the next one taken.
 *
 * Structures that refer to each other keep numbers: they take half the space of pointers, and stay valid when
 * the rows move to larger memory. A pointer to a row is valid until the next row is taken. The first word of
 * a free row is the number of the next free one. Not thread-safe.
 */
#ifndef CORE_ROWS_H
#define CORE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "invariant.h"

/* Zeroed but for row_bytes, which is at least 4. */
struct nvw_rows {
	char *at;
	uint32_t row_bytes;
	uint32_t count; /* the highest number so far, free rows included */
	uint32_t capacity;
	uint32_t free; /* the row that was given back last */
};

static inline void *nvw_row(const struct nvw_rows *rows, uint32_t i)
{
	NVW_DEEP_INVARIANT(i <= rows->count);
	return rows->at + (size_t)i * rows->row_bytes;
}

/* A zeroed row; 0 if there is no memory. */
uint32_t nvw_rows_take(struct nvw_rows *rows);
void nvw_rows_give(struct nvw_rows *rows, uint32_t i);
/* Gives all of them back; their memory serves the next ones. */
void nvw_rows_reset(struct nvw_rows *rows);
/* The end: frees their memory. */
void nvw_rows_finish(struct nvw_rows *rows);

#endif
