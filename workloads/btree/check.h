/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the check says of a node and of a key (parts.c): the parts say it word by word (nvw_parts), the walk
 * of check.c on a recovered pool.
 */
#ifndef WORKLOADS_BTREE_CHECK_H
#define WORKLOADS_BTREE_CHECK_H

#include "owed.h"

struct btree_case {
	const struct btree_plan *plan; /* NULL: structure only */
	const struct nvw_pool *pool;
	const struct nvw_acks *acks;
	struct nvw_findings *findings;
	unsigned slots; /* of a node */
};

/* There is an allocated node of this level at off. */
int btree_check_node(const struct btree_case *c, nvw_off off, unsigned level);
/* So there is, and its keys ascend up to its high key. */
int btree_check_keys(const struct btree_case *c, nvw_off off, unsigned level);
/* It is the last of its level, or its right neighbour is a node with higher keys. */
int btree_check_next(const struct btree_case *c, nvw_off off, unsigned level);
/* The key may be present with this value, or absent. off: where it was found or missed. */
int btree_check_key(
	const struct btree_case *c, const struct btree_owed *owed, bool present, uint64_t value, nvw_off off);

#endif
