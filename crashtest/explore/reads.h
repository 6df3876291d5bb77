/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read-based pruning. A passing state represents every state of its instant that differs from it only in
 * cells that recovery and check did not read: they would do the same there.
 *
 * So an instant is searched as a tree that branches only on cells that were read. Every leaf is a tested
 * state and represents all states that agree with it in those cells; when no branch remains, every state of
 * the instant is accounted for, however many there are.
 */
#ifndef CRASHTEST_READS_H
#define CRASHTEST_READS_H

#include "../states/medium.h"

struct ct_reads {
	uint64_t instant;
	unsigned cells; /* of the instant */
	/* Levels of the remaining branches, and which of them are fixed. */
	struct ct_array branch; /* unsigned: per branch and cell a level, plus CT_FIXED if fixed */
	uint64_t branches;
	unsigned *leaf; /* the branch that is being tested */
	/* Cells read by recovery and check of the last state; for every cell its place in that order. */
	unsigned looked, *list;
	uint32_t *rank;
};

void ct_reads_free(struct ct_reads *reads);

/* Discards everything if the medium is at another instant than the last time. */
NVW_CHECKED int ct_reads_at(struct ct_reads *reads, const struct ct_medium *medium);

/* Do the cells that were read have more states than the budget allows? A tree would hardly end. */
bool ct_reads_are_many(struct ct_reads *reads, const struct ct_medium *medium, uint64_t budget);

/* Begins at the root of the tree, where nothing is durable that need not be. */
NVW_CHECKED int ct_tree_begin(struct ct_reads *reads, const struct ct_medium *medium);
/* Goes to the next leaf and says its levels; false when no branch remains. */
bool ct_tree_next(struct ct_reads *reads, const struct ct_medium *medium, unsigned *levels);
/* After the leaf has been tested: adds branches for the cells that were read. */
NVW_CHECKED int ct_tree_learn(struct ct_reads *reads, const struct ct_medium *medium);

#endif
