/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vector clocks of very many work-items, most of which know nearly the same.
 *
 * A clock says of every work-item of a kernel up to which instant its doings are known (happened before). Instants are
 * one count for the whole kernel, not one for each work-item, so that a barrier makes the entries of all its
 * members equal. A clock is a tree over the wavefronts; a part whose entries are all equal is one word, and equal parts
 * of clocks that came from each other are the same nodes. Nodes never change; they count who refers to them.
 *
 * References: functions borrow their arguments and return a reference of the caller's, given back by vclock_drop().
 * When memory runs out they note it in the pool's failed and return what is known less.
 */
#ifndef EMU_VCLOCK_H
#define EMU_VCLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* A node's address, or an instant (times 2, plus 1) that holds for everything below. */
typedef uintptr_t vclock;

#define VCLOCK_NONE ((vclock)1) /* knows nothing of anybody */

struct vclock_node;

struct vclock_pool {
	unsigned height; /* levels of nodes above the wavefronts */
	bool failed;
	struct vclock_node *spare;
	struct vclock_chunk *chunks, *current;
	uint32_t used; /* nodes of the current chunk */
	/* The latest results: who asks twice gets the same nodes. Borrowed, forgotten when one of them goes. */
	struct {
		vclock a, b, result;
	} joined;
	struct {
		vclock a, result;
		uint32_t wavefront, time;
		uint64_t lanes;
	} marked;
};

/* Forgets every clock; the next ones are of a kernel of so many wavefronts. Keeps the memory. */
void vclock_reset(struct vclock_pool *pool, uint64_t wavefronts);
void vclock_finish(struct vclock_pool *pool);

vclock vclock_keep(vclock clock);
void vclock_drop(struct vclock_pool *pool, vclock clock);

/* What either of them knows. Is a itself (the same reference) if b knows nothing that a does not. */
vclock vclock_join(struct vclock_pool *pool, vclock a, vclock b);
/* a, which also knows what lanes of a wavefront did up to time; time is not before anything in a. */
vclock vclock_mark(struct vclock_pool *pool, vclock a, uint32_t wavefront, uint64_t lanes, uint32_t time);
/* Those of the lanes of a wavefront of which a does not know what they did at time. */
uint64_t vclock_unknown(
	const struct vclock_pool *pool, vclock a, uint32_t wavefront, uint64_t lanes, uint32_t time);

#endif
