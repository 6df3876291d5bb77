/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pruning by what recovery and check look at. A state that passed stands for every state of its instant that differs
 * from it only in cells that were not looked at: their recovery would do the same.
 *
 *	known	a state whose looked-at cells are as in one that passed need not be tested
 *	tree	an instant with more states than can be tested one by one, but whose recovery looks at few cells:
 *		branches only on cells that were looked at, so that every leaf stands for all states that agree
 *		with it in those; when no branch is left, every state of the instant is accounted for
 */
#ifndef CRASHTEST_READS_H
#define CRASHTEST_READS_H

#include "medium.h"

enum { CT_READ_SETS = 12 };

struct ct_reads {
	uint64_t instant;
	unsigned cells; /* of the instant */
	/* Known: different sets of cells that were looked at, and a hash set of what passed. */
	unsigned sets;
	struct ct_read_set {
		unsigned count, capacity;
		unsigned *cell;
	} set[CT_READ_SETS];
	struct ct_array passed; /* uint64_t, hashed; capacity a power of two */
	/* Tree: levels and which of them are fixed, of branches that are left. */
	struct ct_array branch; /* unsigned: per branch a level, plus CT_FIXED if fixed, for every cell */
	uint64_t branches;
	unsigned *leaf;         /* the branch that is being tested */
	/* Cells that the last state's recovery and check looked at; for every cell of them when. */
	unsigned looked, *list;
	uint32_t *rank;
};

void ct_reads_free(struct ct_reads *reads);

/* Forgets everything if the medium is at another instant than the last time. */
NVW_CHECKED int ct_reads_at(struct ct_reads *reads, const struct ct_medium *medium);

/* True if a state that passed stands for this one. */
bool ct_reads_know(const struct ct_reads *reads, const struct ct_medium *medium, const unsigned *levels);

/* The state passed; the image knows what was looked at. */
void ct_reads_passed(struct ct_reads *reads, const struct ct_medium *medium, const unsigned *levels);

/* What was looked at has more states than the budget allows for: a tree would hardly end. */
bool ct_reads_are_many(struct ct_reads *reads, const struct ct_medium *medium, uint64_t budget);

/* The root of the tree, at the states with nothing durable that need not be. */
NVW_CHECKED int ct_tree_begin(struct ct_reads *reads, const struct ct_medium *medium);
/* The next leaf: true and its levels, false when no branch is left. */
bool ct_tree_next(struct ct_reads *reads, const struct ct_medium *medium, unsigned *levels);
/* That leaf has been tested: branches on the cells that it looked at. */
NVW_CHECKED int ct_tree_learn(struct ct_reads *reads, const struct ct_medium *medium);

#endif
