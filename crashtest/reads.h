/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pruning by what recovery and check look at. A state that passed stands for every state of its instant that differs
 * from it only in cells that were not looked at: their recovery would do the same.
 *
 * So an instant is walked as a tree that branches only on cells that were looked at. Every leaf is a state that is
 * tested, and stands for all states that agree with it in those cells; when no branch is left, every state of the
 * instant is accounted for, however many there are.
 */
#ifndef CRASHTEST_READS_H
#define CRASHTEST_READS_H

#include "medium.h"

struct ct_reads {
	uint64_t instant;
	unsigned cells; /* of the instant */
	/* Levels and which of them are fixed, of branches that are left. */
	struct ct_array branch; /* unsigned: per branch a level, plus CT_FIXED if fixed, for every cell */
	uint64_t branches;
	unsigned *leaf; /* the branch that is being tested */
	/* Cells that the last state's recovery and check looked at; for every cell of them when. */
	unsigned looked, *list;
	uint32_t *rank;
};

void ct_reads_free(struct ct_reads *reads);

/* Forgets everything if the medium is at another instant than the last time. */
NVW_CHECKED int ct_reads_at(struct ct_reads *reads, const struct ct_medium *medium);

/* What was looked at has more states than the budget allows for: a tree would hardly end. */
bool ct_reads_are_many(struct ct_reads *reads, const struct ct_medium *medium, uint64_t budget);

/* The root of the tree, at the states with nothing durable that need not be. */
NVW_CHECKED int ct_tree_begin(struct ct_reads *reads, const struct ct_medium *medium);
/* The next leaf: true and its levels, false when no branch is left. */
bool ct_tree_next(struct ct_reads *reads, const struct ct_medium *medium, unsigned *levels);
/* That leaf has been tested: branches on the cells that it looked at. */
NVW_CHECKED int ct_tree_learn(struct ct_reads *reads, const struct ct_medium *medium);

#endif
