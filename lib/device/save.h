/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of a recovery point (nvw/tasks.h), in 8-byte words: a header, the stack of epochs, the codes of the entries, each
 * of their words, the arrays. 4-byte values lie two to a word.
 */
#ifndef LIB_DEVICE_SAVE_H
#define LIB_DEVICE_SAVE_H

#include "tasks.h"

enum save_header {
	SAVE_NUMBER,  /* of the recovery point */
	SAVE_DEPTH,   /* | next free entry << 32 */
	SAVE_ENTRIES, /* | words per entry << 32 */
	SAVE_EPOCHS,
	SAVE_TASKS,
	SAVE_LAUNCHES,
	SAVE_FORKS,
	SAVE_JOINS,
	SAVE_EMITS,
	SAVE_MAPS,
	SAVE_MOST, /* entries | depth << 32 */
	SAVE_ATOMICS,
	SAVE_HEADER_WORDS = 16,
	SAVE_RANGE_WORDS = 3, /* number | first << 32, end | kept first << 32, kept end */
};

/* Where the parts of a recovery point begin, in words, and how many words it has. */
struct save_parts {
	uint64_t ranges, codes, words, arrays, total;
};

static inline uint64_t save_pairs(uint64_t entries)
{
	return (entries + 1) / 2;
}

static inline struct save_parts save_parts(
	uint32_t depth, uint32_t entries, unsigned words, uint64_t array_words)
{
	struct save_parts p = {.ranges = SAVE_HEADER_WORDS};

	p.codes = p.ranges + (uint64_t)SAVE_RANGE_WORDS * depth;
	p.words = p.codes + save_pairs(entries);
	p.arrays = p.words + words * save_pairs(entries);
	p.total = p.arrays + array_words;
	return p;
}

/* Of one of the two copies; a multiple of a line. */
static inline uint64_t save_copy_bytes(uint32_t entries, unsigned words, uint64_t array_words)
{
	return (8 * save_parts(NVW_TASK_SAVED_DEPTH_MAX, entries, words, array_words).total + 63) &
	       ~UINT64_C(63);
}

/* TREES, as it saves and restores: word i of entry e is word[i * stride + e]. */
struct save_vector {
	int32_t *code;
	uint32_t *word;
	uint64_t stride;
};

/* Makes a recovery point of the run between two epochs. */
NVW_CHECKED int task_save(struct task_run *run, const struct save_vector *vector);
/* Sets the run, the vector and the arrays to the last one. */
NVW_CHECKED int task_restore(struct task_run *run, const struct save_vector *vector);

#endif
