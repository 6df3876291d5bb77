/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logs of a program whose kernels ran on a machine: kernels' stores are ordered by the machine's model, those
 * of host code by x86.
 *
 *	(1) Two stores of a kernel are ordered as the model says: strict persistency orders all of them,
 *	    buffered epoch persistency by its equations; epoch persistency orders none that are uncertain.
 *	(2) Stores of host code to one line persist in program order; those of one instruction (whose order is
 *	    unknown, host/convert.c) together.
 *	(3) Stores to the same bytes persist in coherence order, whoever made them.
 *	(4) Nothing else is ordered. What host code has flushed is durable when its fence has completed: all
 *	    that was visible in the line, kernels' stores too. A persist barrier of a kernel makes no store of
 *	    host code durable, except by (3).
 *
 * A *node* is a version of a cell; the versions that one instruction of host code makes in a line are one.
 */
#ifndef CRASHTEST_MIXED_H
#define CRASHTEST_MIXED_H

#include "medium.h"

enum { CT_MIXED_UNITS = 8 }; /* of a line */

struct ct_mixed_node {
	uint64_t write; /* the number of its last store; first: nvw_by_u64() orders by it */
	uint64_t instruction;
	struct ct_stamp by;
	uint32_t kernel; /* 0: of host code */
	uint32_t line;   /* of host code: lines are numbered from 0 */
	unsigned count;
	uint32_t cell[CT_MIXED_UNITS], version[CT_MIXED_UNITS];
};

/* What is uncertain at an instant, in the order of the stores. */
struct ct_mixed {
	uint64_t record; /* the medium's, at that time, plus 1 */
	struct ct_mixed_node *node;
	uint64_t count, room;
	uint32_t lines;
	uint64_t *bound; /* by line */
	uint64_t bound_room;
	uint64_t chained; /* strict persistency: stores of kernels up to this one are certain */
	bool chaining;    /* they are becoming so */
};

void ct_mixed_free(struct ct_mixed *mixed);

/* The nodes of the present instant; NULL: no memory. */
const struct ct_mixed *ct_mixed_of(const struct ct_medium *medium);
/* Must a persist before b, which is later? */
bool ct_mixed_precedes(
	const struct ct_medium *m, const struct ct_mixed_node *a, const struct ct_mixed_node *b);
bool ct_mixed_is_durable(const struct ct_medium *m, const struct ct_mixed_node *node, const unsigned *levels);
/* Upward, loses what must persist after a lost store; else makes durable what must persist before a durable
 * one. */
void ct_mixed_close(const struct ct_medium *m, bool upward, unsigned *levels);
bool ct_mixed_is_closed(const struct ct_medium *m, const unsigned *levels);

/* Versions have become certain in the cell at off: so do all that persist before them. */
void ct_mixed_completed(struct ct_medium *m, nvw_off off, const struct ct_last *last);
/* A flushed line, up to a write. */
void ct_mixed_complete_flushed(struct ct_medium *m, nvw_off line, uint64_t write);
/* After a fence: flights of host code that are certain leave. */
void ct_mixed_settle(struct ct_medium *m);
/* All stores of kernels up to a write are certain. */
void ct_mixed_land_kernels(struct ct_medium *m, uint64_t write);

#endif
