/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffered epoch persistency: which stores in flight must be durable if one of them is. A state is a set of
 * stores that has, with each, all that must persist before it (states.h). So for every store there is the
 * least such set with it, and for every acknowledgement the least in which it holds.
 *
 * The sets are bits, a row for each store; stores of one work-item between the same barriers share theirs,
 * unless a store to the same bytes comes before. They are kept up to date from instant to instant: until the
 * kernel ends stores are only added. With n stores in flight that costs up to n * n / 16 bytes, and as many
 * steps of a word. Beyond a limit none are kept; nor are any, until the kernel ends, once the order is
 * irregular: an epoch of a work-item, of a group or of the kernel is older than the one before. Both are
 * too_many, and reported as a crowd (parts.h).
 */
#ifndef CRASHTEST_BEFORE_H
#define CRASHTEST_BEFORE_H

#include "medium.h"

#include "core/bits.h"

struct ct_row {
	uint64_t *bits; /* of the stores before it */
	uint32_t words;
};

struct ct_before {
	const struct ct_medium *medium; /* at the last update */
	uint64_t first;                 /* number of the store that is bit 0 */
	uint32_t count;                 /* of stores */
	struct ct_array row;            /* struct ct_row, by store: what must be durable before it */
	struct ct_array node;           /* struct ct_before_node, likewise */
	struct ct_array told_row;    /* struct ct_row, by number of the medium's told: what it holds after */
	struct ct_array item, group; /* struct ct_member */
	struct ct_array told_of;     /* uint32_t, by operation: number of its told + 1 */
	struct ct_array told_ops;    /* struct ct_told: the operations of told_of */
	struct ct_array owned;       /* uint64_t *: the rows */
	struct ct_row kernel;        /* what must be durable before a store of the newest kernel-wide epoch */
	uint32_t kernel_epoch;
	uint64_t bytes;      /* of all rows */
	uint64_t most_bytes; /* 0: as many as is usual */
	bool too_many;       /* there are no sets: too many stores, or an order that is not of this kind */
};

/* An operation that is told of twice waits for both; one of several that were told of differently has no
 * set. */
#define CT_TOLD_TWICE UINT32_MAX

void ct_before_free(struct ct_before *before);
/* Takes note of the medium's stores and acknowledgements since the last call. */
NVW_CHECKED int ct_before_update(struct ct_before *before, const struct ct_medium *medium);

/* The number of a store in the sets, by the number of its write. */
static inline uint32_t ct_before_number(const struct ct_before *b, uint64_t write)
{
	return (uint32_t)(write - b->first);
}
static inline struct ct_row ct_before_row(const struct ct_before *b, uint32_t number)
{
	NVW_DEEP_INVARIANT(number < b->count);
	return ((const struct ct_row *)b->row.at)[number];
}
/* Number + 1 of the operation's told, 0: it is certain, or not acknowledged. */
uint32_t ct_before_told(const struct ct_before *before, uint64_t op);

static inline bool ct_row_has(struct ct_row row, uint32_t number)
{
	return number / 64 < row.words && nvw_has_bit(row.bits, number);
}

#endif
