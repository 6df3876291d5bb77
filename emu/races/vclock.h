/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vector clocks for very many work-items, most of which have almost the same clock.
 *
 * A clock gives, for every work-item of a kernel, the instant up to which its actions happened before.
 * Instants are one counter for the whole kernel, not one per work-item, so that a barrier makes the entries
 * of all its members equal. A clock is a tree over the wavefronts; a part whose entries are all equal is one
 * word, and equal parts of clocks derived from each other are the same nodes. Nodes are immutable and
 * reference-counted.
 *
 * References: functions borrow their arguments and return a reference owned by the caller, who releases it by
 * vclock_drop(). When memory runs out they set the pool's failed and return an earlier clock.
 */
#ifndef EMU_VCLOCK_H
#define EMU_VCLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* A node's address, or an instant (times 2, plus 1) that holds for everything below. */
typedef uintptr_t vclock;

#define VCLOCK_NONE ((vclock)1) /* the empty clock */

struct vclock_node;

struct vclock_pool {
	unsigned height; /* levels of nodes above the wavefronts */
	bool failed;
	struct vclock_node *spare;
	struct vclock_chunk *chunks, *current;
	uint32_t used; /* nodes of the current chunk */
	/* The latest results: a repeated call returns the same nodes. Borrowed; dropped when one of them is
	 * freed. */
	struct {
		vclock a, b, result;
	} joined;
	struct {
		vclock a, result;
		uint32_t wavefront, time;
		uint64_t lanes;
	} marked;
};

/* Drops every clock; the next ones are for a kernel of this many wavefronts. Keeps the memory. */
void vclock_reset(struct vclock_pool *pool, uint64_t wavefronts);
void vclock_finish(struct vclock_pool *pool);

vclock vclock_keep(vclock clock);
void vclock_drop(struct vclock_pool *pool, vclock clock);

/* The join of both. Returns a itself (the same reference) if b adds nothing. */
vclock vclock_join(struct vclock_pool *pool, vclock a, vclock b);
/* a with the entries of lanes of a wavefront set to time, which is not before any entry of a. */
vclock vclock_mark(struct vclock_pool *pool, vclock a, uint32_t wavefront, uint64_t lanes, uint32_t time);
/* The lanes of a wavefront whose entry in a is before time. */
uint64_t vclock_unknown(
	const struct vclock_pool *pool, vclock a, uint32_t wavefront, uint64_t lanes, uint32_t time);

#endif
