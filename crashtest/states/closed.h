/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A partial choice of a state under buffered epoch persistency calls some stores durable or lost, and some
 * operations acknowledged or not. A state is a set of stores that has, with each, all that must persist
 * before it (before.h); an operation is acknowledged in it if the set has all that the operation waited for.
 *
 * What is durable, and what acknowledged operations waited for, has a least closed set. If there is a state
 * of the choice, that set is one: whatever is lost in some closed set with all this is lost in the least,
 * too, and an operation that is not acknowledged there is not acknowledged in the least. So a choice is
 * extended only as far as the least set stays free of what is lost, and no choice that was made is ever taken
 * back.
 */
#ifndef CRASHTEST_CLOSED_H
#define CRASHTEST_CLOSED_H

#include "before.h"

struct ct_closed {
	const struct ct_medium *medium;
	struct ct_before before;
	struct ct_array durable; /* uint64_t: bits, the least set */
	bool is_empty;           /* it is, whatever durable has */
	struct ct_array row;     /* uint64_t: bits, for one level */
	struct ct_array lost;    /* uint32_t: stores */
	struct ct_array unacked; /* uint32_t: numbers of told */
	struct ct_array acked;   /* uint32_t: likewise */
	struct ct_array range;   /* struct ct_levels_of: of cells, for ct_closed_hold() */
	bool has_failed;         /* memory is short: the choice is not what was said */
};

void ct_closed_free(struct ct_closed *closed);
/* Begins with nothing said, at the medium's instant, whose stores before has. */
void ct_closed_begin(struct ct_closed *closed, const struct ct_medium *medium);

/* The levels that the cell may have, with all that was said: each from *ret_least to *ret_most. Its levels
 * are a chain. */
void ct_closed_levels(const struct ct_closed *closed, uint32_t cell, unsigned *ret_least, unsigned *ret_most);
/* Says that it has one from least to most, which it may have. */
void ct_closed_take(struct ct_closed *closed, uint32_t cell, unsigned least, unsigned most);
/* The same for one level of any cell. */
bool ct_closed_may_have(struct ct_closed *closed, uint32_t cell, unsigned level);
void ct_closed_take_level(struct ct_closed *closed, uint32_t cell, unsigned level);

/* Whether an operation may be acknowledged, and whether it may be not; told: its number. */
bool ct_closed_may_be_acked(const struct ct_closed *closed, uint32_t told);
bool ct_closed_may_be_unacked(const struct ct_closed *closed, uint32_t told);
void ct_closed_take_ack(struct ct_closed *closed, uint32_t told, bool acked);

/* The least state; levels has one element per cell. */
void ct_closed_state(const struct ct_closed *closed, unsigned *levels);
/* Is the permitted state of these levels one of the choice? */
bool ct_closed_hold(const struct ct_closed *closed, const unsigned *levels);

#endif
