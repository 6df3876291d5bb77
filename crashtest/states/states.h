/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The states of an instant, as levels of its cells: their count, each state by number, samples, and the
 * closest permitted state after changing one cell.
 *
 *	free	every combination of levels is permitted
 *	chain	strict persistency: the stores up to one of them
 *	graph	buffered epoch persistency: downward-closed sets of the persist order
 */
#ifndef CRASHTEST_STATES_H
#define CRASHTEST_STATES_H

#include <nvw/random.h>

#include "medium.h"

struct ct_count {
	double log2;     /* of the states of this instant; an upper bound unless exact */
	double old_log2; /* of those that an earlier instant had; -1 if there are none */
	bool exact;
	uint64_t fresh; /* states that no earlier instant had, CT_COUNT_MANY if more or unknown */
};
#define CT_COUNT_MANY 0x7fffffffu
NVW_CHECKED int ct_states_count(const struct ct_medium *medium, struct ct_count *ret_count);

/* A walk through the states of one instant. Zero-initialise; freed by ct_walk_end(). */
struct ct_walk {
	struct ct_graph *graph;
	uint64_t instant, next;
};
void ct_walk_end(struct ct_walk *walk);

/* The number of values for ct_states_by_number(), including skipped ones, if fresh is not CT_COUNT_MANY. */
uint64_t ct_states_numbers(const struct ct_medium *medium);
/* State number number. False if an earlier instant had it too (it is skipped), or there is none. */
bool ct_states_by_number(
	const struct ct_medium *medium, struct ct_walk *walk, uint64_t number, unsigned *levels);

/* A random state. free, chain: uniform for every second draw, otherwise with a density of its own; graph:
 * every state is possible; those with few and recent losses are more likely. */
void ct_states_sample(const struct ct_medium *medium, struct nvw_random *random, unsigned *levels);

/* Changes a cell's level, and as few others as the order and the limits of the medium (limits.h) require. */
void ct_states_raise(const struct ct_medium *medium, unsigned cell, unsigned level, unsigned *levels);
void ct_states_lower(const struct ct_medium *medium, unsigned cell, unsigned level, unsigned *levels);
/* Raises the cells [first, end) as far as possible. The result is that of one after the other; what they
 * require is looked for once. */
void ct_states_raise_all(const struct ct_medium *medium, unsigned first, unsigned end, unsigned *levels);

/* The same without limits. */
void ct_levels_raise(const struct ct_medium *medium, unsigned cell, unsigned level, unsigned *levels);
void ct_levels_raise_all(const struct ct_medium *medium, unsigned first, unsigned end, unsigned *levels);
void ct_levels_lower(const struct ct_medium *medium, unsigned cell, unsigned level, unsigned *levels);

#endif
