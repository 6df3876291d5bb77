/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers that hold for other states. A checker that is deterministic reads the same words as long as their
 * values are the same, so a state that agrees with a tested one in all words that were read there has its
 * answer. The words are looked up one by one, in the order in which they were read: what is read next depends
 * on what was read before.
 *
 * Only words in which states may differ are observed (read_set.h): those that the image foresees. In an image
 * that varies in many pages, only the pages in which states have differed are. With each further word, all
 * answers are forgotten: they did not tell of it. Answers are also forgotten when the acknowledged operations
 * change.
 */
#ifndef CRASHTEST_SAME_READS_H
#define CRASHTEST_SAME_READS_H

#include <stdbool.h>

#include "ask.h"
#include "read_set.h"
#include "../states/image.h"

/* What this process has. Zero-initialise it. */
struct ct_same_reads {
	pid_t pid;
	uint64_t serial, bytes;  /* of the image */
	uint64_t told;           /* a hash of what the command is told */
	int fd;                  /* of set */
	struct ct_read_set *set; /* NULL: there is none */
	uint64_t pages;          /* observed */
	bool by_and_by;          /* not all pages that vary are */
	bool useless;            /* no longer tried */
	uint64_t observed, gave_up, found;
	unsigned pause;      /* states that are not observed */
	uint64_t last, most; /* observed and found when it was last judged */
	/* The tree. */
	struct ct_same_node *node;
	uint32_t nodes, capacity;
	struct ct_same_answer *answer;
	uint32_t answers;
};

/* Begins a state, whose image has not been written to a file yet. False: it cannot be observed. */
bool ct_same_reads_begin(
	struct ct_same_reads *same, const struct ct_image *image, uint64_t bytes, uint64_t told);

/* True if the state has the answer of another one. */
bool ct_same_reads_find(
	struct ct_same_reads *same, const struct ct_image *image, struct ct_answer *ret_answer);

/* Every state is to be observed: these words, bits as read_set.h has them. False: it cannot be. */
bool ct_same_reads_all(struct ct_same_reads *same, const struct ct_image *image, uint64_t bytes,
	const uint64_t (*words)[CT_READ_BITS]);

/* Before the command runs on the file: it is to be observed. */
void ct_same_reads_expect(struct ct_same_reads *same, uint64_t device, uint64_t inode);

/* What was observed has this answer. False: it was not observed, and the answer is none. */
bool ct_same_reads_learn(
	struct ct_same_reads *same, const struct ct_image *image, const struct ct_answer *answer);

#endif
