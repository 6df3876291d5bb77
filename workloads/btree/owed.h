/* SPDX-License-Identifier: BSD-3-Clause */
/* What the acknowledgements of a crash owe to a key: the result of the last acknowledged operation on it, or
 * of a later one. */
#ifndef WORKLOADS_BTREE_OWED_H
#define WORKLOADS_BTREE_OWED_H

#include "plan.h"

struct btree_owed {
	const struct btree_plan *plan;
	const struct nvw_acks *acks;
	uint64_t key, first, end; /* its operations: by_key[first] to by_key[end - 1] */
	bool loaded;              /* it was, before them */
};

/* The operations change the tree. */
static inline bool btree_changes(const struct btree_plan *plan)
{
	return plan->op <= BTREE_DELETE;
}

/* May the key be present with this value, or absent? */
bool btree_may_be(const struct btree_owed *owed, bool present, uint64_t value);

/* The position after the last acknowledged operation; first if there is none. */
uint64_t btree_last_acked(const struct btree_owed *owed);

#endif
