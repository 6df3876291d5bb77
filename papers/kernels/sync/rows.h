/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data in rows, as in HeteroSync, the benchmark suite of sinclair15's authors: each row is computed from the
 * one before, from the last to the first, so values move on by a row. Row 0 is never written. Sixteen
 * work-items share a line of each row, and their rows are adjacent.
 */
#ifndef PAPERS_SYNC_ROWS_H
#define PAPERS_SYNC_ROWS_H

#include <assert.h>
#include "place.h"

/* Words of this many rows of a work-group, plus row 0. */
static inline uint64_t sync_rows_words(unsigned rows, unsigned group_size)
{
	assert(rows > 0 && group_size > 0);
	return (uint64_t)u64_parts(group_size, SYNC_LINE_WORDS) * (rows + 1) * SYNC_LINE_WORDS;
}

/* Words of the data of a work-group, in either layout. */
static inline uint64_t sync_layout_words(enum sync_layout layout, unsigned accesses, unsigned group_size)
{
	return layout == SYNC_ROWS ? sync_rows_words(accesses, group_size) : (uint64_t)accesses * group_size;
}

/* Index of a work-item's datum in a row, 0 to rows. */
static inline uint64_t sync_row_word(unsigned rows, unsigned row, unsigned item)
{
	assert(row <= rows);
	return ((uint64_t)item / SYNC_LINE_WORDS * (rows + 1) + row) * SYNC_LINE_WORDS +
	       item % SYNC_LINE_WORDS;
}

/*
 * The order of critical sections as they observed it, in host memory, which costs no simulated time. Sections
 * are numbered from 1, and each stores its number in row 1. So the rows name the preceding sections, the last
 * one first.
 */
struct sync_history {
	uint32_t *before; /* [section]: the preceding section; SYNC_UNSEEN until reported by its work-items */
	uint32_t sections;
	uint64_t wrong; /* loads that did not find the data of the preceding sections */
};

#define SYNC_UNSEEN UINT32_MAX

NVW_CHECKED int sync_history_make(struct sync_history *history, uint64_t sections);
void sync_history_free(struct sync_history *history);

/* In the kernel: one critical section on its group's rows. */
void sync_move_rows(struct sync_history *history, uint32_t *data, unsigned rows, uint32_t section);

/* On the host: length of the chain of sections up to the last one; SYNC_UNSEEN if it is a cycle. */
uint32_t sync_history_length(const struct sync_history *history, uint32_t last);

#endif
