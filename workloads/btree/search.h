/* SPDX-License-Identifier: BSD-3-Clause */
/* The descent from the root, for all kernels. Order words are loaded once; keys are found by binary search
 * over the order word. */
#ifndef WORKLOADS_BTREE_SEARCH_H
#define WORKLOADS_BTREE_SEARCH_H

#include "kernel.h"

static inline struct btree_node *btree_node_at(const struct nvw_pmem *pmem, nvw_off off)
{
	return nvw_at(pmem, struct btree_node, off);
}

/* The number of keys in the node that are below key, or (upper) not above it. */
static inline unsigned btree_rank(const struct btree_node *node, uint64_t order, uint64_t key, bool upper)
{
	unsigned low = 0, high = btree_count(order);

	while (low < high) {
		const unsigned middle = (low + high) / 2;
		const uint64_t there = nvw_load(BTREE_KEY(node, btree_slot(order, middle)));

		if (there < key || (upper && there == key)) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/* The node of this level that covers key, starting from one that is not right of it. */
static inline nvw_off btree_move_right(const struct nvw_pmem *pmem, nvw_off off, uint64_t key)
{
	while (key > nvw_load(&btree_node_at(pmem, off)->high)) {
		off = nvw_load(&btree_node_at(pmem, off)->next);
	}
	return off;
}

/* The child of an inner node that covers key, or one left of it. */
static inline nvw_off btree_child(const struct nvw_pmem *pmem, unsigned slots, nvw_off off, uint64_t key)
{
	const struct btree_node *const node = btree_node_at(pmem, off);
	const uint64_t order = nvw_load(&node->order);
	const unsigned rank = btree_rank(node, order, key, true);

	return nvw_load(BTREE_VALUE(node, slots, btree_slot(order, rank ? rank - 1 : 0)));
}

/* The leaf that covers key. */
static inline nvw_off btree_find_leaf(const struct btree_args *a, uint64_t key)
{
	nvw_off off = nvw_load(nvw_at(a->pmem, uint64_t, nvw_pool_root_off(&a->pmem->geometry, 0)));

	for (unsigned level = a->height; level-- > 0;) {
		off = btree_move_right(a->pmem, off, key);
		if (level) {
			off = btree_child(a->pmem, a->slots, off, key);
		}
	}
	return off;
}

#endif
