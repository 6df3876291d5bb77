/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order that a program's own synchronization has made of its stores, whatever the order of its
 * work-items: by program order, barriers of groups and kernels, and releases with the acquires that see them
 * (docs/races.md).
 *
 * Work-items, and places through which they synchronize, are *members*. A state marks what it needs; what
 * must come before it follows along edges, backwards from the latest one.
 */
#ifndef CRASHTEST_PROGRAM_ORDER_H
#define CRASHTEST_PROGRAM_ORDER_H

#include <stdint.h>

#include <nvw/pool.h>

struct ct_member {
	uint64_t id;
	uint32_t kernel;
	uint64_t newest; /* store so far, while the order is read */
	/* What the state needs of it: its stores up to this one, because of that one; of another state if the
	 * serial number is. */
	uint64_t serial, upto, because;
};

/* "to" has done what comes behind its store "after", so "from" has done all up to its store "upto". at: the
 * stores of all members by then; it never decreases. */
struct ct_edge {
	uint64_t at, after, upto;
	uint32_t from, to;
};

/* Zero-initialise; freed by ct_program_order_free(). */
struct ct_program_order {
	struct ct_member *member;
	uint32_t members;
	uint32_t *table, mask; /* members + 1, by kernel and id */
	struct ct_edge *edge;
	uint64_t edges, edge_capacity;
	uint64_t serial;
};

/*
 * Reads what a run has told of its synchronization (emu_tell_syncs()); syncs_fd 0: nothing. There is room for
 * members of this many stores first, then these are taken, and then it is read: store number i + 1 is
 * members[i]'s.
 */
NVW_CHECKED int ct_program_order_make(struct ct_program_order *order, int syncs_fd, uint64_t stores);
uint32_t ct_program_order_take(struct ct_program_order *order, uint32_t kernel, uint64_t work_item);
NVW_CHECKED int ct_program_order_read(
	struct ct_program_order *order, int syncs_fd, uint64_t stores, const uint32_t *members);
void ct_program_order_free(struct ct_program_order *order);

/* The number of a member + 1; 0: there is no such one. */
uint32_t ct_program_order_member(const struct ct_program_order *order, uint32_t kernel, uint64_t work_item);

/* A state begins; it needs a store of a member. */
void ct_program_order_begin(struct ct_program_order *order);
void ct_program_order_need(struct ct_program_order *order, uint32_t member, uint64_t store);
/* Follows the edges from this many stores on back to the store "earliest". */
void ct_program_order_follow(struct ct_program_order *order, uint64_t stores, uint64_t earliest);
/* The needed store that comes after this one of the member, 0: none. */
uint64_t ct_program_order_later(const struct ct_program_order *order, uint32_t member, uint64_t store);

#endif
