/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data in rows, as the benchmark suite of sinclair15's authors (HeteroSync) has them: a row is made from the one before,
 * from the last to the first, so the values move on by a row. Nobody writes row 0. Sixteen work-items have a line of
 * each row, and their rows stand one after the other.
 */
#ifndef WORKLOADS_SYNC_ROWS_H
#define WORKLOADS_SYNC_ROWS_H

#include "place.h"

/* Of so many rows of a work-group, and row 0. */
static inline uint64_t sync_rows_words(unsigned rows, unsigned group_size)
{
	return (uint64_t)((group_size + SYNC_LINE_WORDS - 1) / SYNC_LINE_WORDS) * (rows + 1) *
	       SYNC_LINE_WORDS;
}

/* The datum of a work-item in a row; 0 to rows. */
static inline uint64_t sync_row_word(unsigned rows, unsigned row, unsigned item)
{
	return ((uint64_t)item / SYNC_LINE_WORDS * (rows + 1) + row) * SYNC_LINE_WORDS +
	       item % SYNC_LINE_WORDS;
}

/*
 * What critical sections saw of each other, in host memory, where it costs no simulated time. Sections have numbers
 * from 1 on, and each leaves its number in row 1. So the rows name the sections before, the last one first.
 */
struct sync_history {
	uint32_t
		*before; /* [section]: which was the one before; SYNC_UNSEEN until its work-items have said */
	uint32_t sections;
	uint64_t wrong; /* loads that did not find what the sections before had left */
};

#define SYNC_UNSEEN UINT32_MAX

NVW_CHECKED int sync_history_make(struct sync_history *history, uint64_t sections);
void sync_history_free(struct sync_history *history);

/* In the kernel: a critical section on its group's rows. */
void sync_move_rows(struct sync_history *history, uint32_t *data, unsigned rows, uint32_t section);

/* On the host: how many sections follow each other up to the last one; SYNC_UNSEEN if they go round. */
uint32_t sync_history_length(const struct sync_history *history, uint32_t last);

#endif
