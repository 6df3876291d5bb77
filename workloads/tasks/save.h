/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of a recovery point (tasks/tasks.h), in 8-byte words: a header, the stack of epochs, the codes of
 * the entries, each of their words, the arrays. 4-byte values lie two to a word. The area has two of them;
 * with undo logging it begins with the task vector itself and a word about the last recovery point, and they
 * have no entries. That word is in the undo log, too: the number of the stream's last epoch would not do,
 * because recovery settles an epoch that it rolls back.
 */
#ifndef WORKLOADS_TASKS_SAVE_H
#define WORKLOADS_TASKS_SAVE_H

#include <assert.h>

#include "machine.h"

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
	SAVE_UNDO, /* 1: the task vector is not in it */
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

/* The size of one of the two copies; a multiple of a line. */
static inline uint64_t save_copy_bytes(uint32_t entries, unsigned words, uint64_t array_words)
{
	return (8 * save_parts(NVW_TASK_SAVED_DEPTH_MAX, entries, words, array_words).total + 63) &
	       ~UINT64_C(63);
}

/* Entries of an array of the task vector: whole lines, so that two values at a time can be copied or
 * logged. */
static inline uint64_t save_stride(uint32_t entries)
{
	return (entries + UINT64_C(15)) & ~UINT64_C(15);
}

static inline uint64_t save_vector_bytes(uint32_t entries, unsigned words)
{
	return 4 * save_stride(entries) * (1 + words + !words);
}

/* The word about the last recovery point, with undo logging: number << 1 | which copy. */
static inline uint64_t save_last_off(uint32_t entries, unsigned words)
{
	return save_vector_bytes(entries, words);
}

/* Where copy 0 or 1 begins in the area. */
static inline uint64_t save_copy_off(
	bool undo, uint64_t copy, uint32_t entries, unsigned words, uint64_t array_words)
{
	assert(copy <= 2);
	if (undo) {
		return save_last_off(entries, words) + 64 + copy * save_copy_bytes(0, words, array_words);
	}
	return copy * save_copy_bytes(entries, words, array_words);
}

/* The last recovery point: its number, 0 if there is none, and its copy; and the last settled epoch of its
 * stream. */
struct save_last {
	uint64_t number, copy, settled;
};

/* From the settled epoch, and the word, which is not looked at without undo logging. */
static inline struct save_last save_last(bool undo, uint64_t settled, uint64_t word)
{
	struct save_last last = {.number = settled, .copy = settled % 2, .settled = settled};

	if (undo && settled != 0) {
		last.number = word >> 1;
		last.copy = word & 1;
	}
	return last;
}

/* A step of a recovery point: the right one, or what a seeded bug has in its place. */
#define SAVE_STEP(save, step, right, ...) \
	((save)->replaced && (save)->replaced->step ? (save)->replaced->step(__VA_ARGS__) : (right))

/* TREES, as it saves and restores: word i of entry e is word[i * stride + e]. */
struct save_vector {
	int32_t *code;
	uint32_t *word;
	uint64_t stride;
};

/* With undo logging: the vector in the pool, and what an epoch is about to change, before it runs. */
struct save_vector task_vector_in_pool(const struct task_run *run);
/* In its kernels: their stores are the epoch's, and a value in a new entry needs no undo. */
void task_join_epoch(const struct task_run *run);
void task_spare(const struct task_run *run, const void *at);
void task_order_epoch(const struct task_run *run); /* at the end of its kernel */
NVW_CHECKED int task_log(struct task_run *run, const struct save_vector *vector);

/* Makes a recovery point of the run between two epochs. */
NVW_CHECKED int task_save(struct task_run *run, const struct save_vector *vector);
/* Sets the run, the vector and the arrays to the last one. */
NVW_CHECKED int task_restore(struct task_run *run, const struct save_vector *vector);

#endif
