/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of a B+tree in a pool.
 *
 * Root word 0 is the offset of the root node. A node has 14 slots in any order and an *order word*, which
 * says how many are used and in which order their keys ascend (as Masstree's permutation): one 8-byte store
 * of it publishes any number of new slots. Nodes of a level are a chain (next), and a node knows the highest
 * key that may be in it: who comes to a node that has been split, and looks for a higher key, goes right (a
 * B-link tree). So a split is complete without its parent knowing.
 *
 * In an inner node a slot is (lowest key of the child, offset of the child). The first child's lowest key is
 * the lowest key of the node; on the left edge it is 0.
 */
#ifndef WORKLOADS_BTREE_LAYOUT_H
#define WORKLOADS_BTREE_LAYOUT_H

#include <nvw/pool.h>

enum { BTREE_SLOTS = 14, BTREE_FILL = 10, BTREE_NODE_BYTES = 256, BTREE_LEVELS_MAX = 16 };

struct btree_node {
	/* bits 0-3: used slots; bits 4 + 4 i: the slot of the i-th key, then the free slots */
	uint64_t order;
	uint64_t next; /* the right neighbour, 0 for the last of its level */
	uint64_t high; /* the highest key that may be here or below */
	uint64_t info; /* level (0: leaf) | BTREE_MAGIC */
	uint64_t keys[BTREE_SLOTS];
	uint64_t values[BTREE_SLOTS]; /* of a leaf; children of an inner node */
};
_Static_assert(sizeof(struct btree_node) == BTREE_NODE_BYTES, "a node is four lines");

#define BTREE_MAGIC UINT64_C(0x6e6f646500000000)

/* Slots 0 to count - 1 in this order, the others free. */
static inline uint64_t btree_order(unsigned count)
{
	return UINT64_C(0x0dcba98765432100) | count;
}

static inline unsigned btree_count(uint64_t order)
{
	return order & 15;
}

/* The slot of the i-th key; for i from count on, a free slot. */
static inline unsigned btree_slot(uint64_t order, unsigned i)
{
	return order >> (4 + 4 * i) & 15;
}

/* The first free slot becomes the i-th key's. */
static inline uint64_t btree_order_insert(uint64_t order, unsigned i)
{
	const unsigned count = btree_count(order), low = 4 + 4 * i, high = 4 + 4 * count;
	const uint64_t slot = btree_slot(order, count);
	const uint64_t below = order & ((UINT64_C(1) << low) - 1);
	const uint64_t moved = order >> low << low & ((UINT64_C(1) << high) - 1);
	const uint64_t above = count + 1 < BTREE_SLOTS ? order >> (high + 4) << (high + 4) : 0;

	return (above | moved << 4 | slot << low | below) + 1;
}

/* The i-th key's slot becomes free. */
static inline uint64_t btree_order_remove(uint64_t order, unsigned i)
{
	const unsigned count = btree_count(order), low = 4 + 4 * i, high = 4 + 4 * (count - 1);
	const uint64_t slot = btree_slot(order, i);
	const uint64_t below = order & ((UINT64_C(1) << low) - 1);
	const uint64_t moved = order >> (low + 4) << low & ((UINT64_C(1) << high) - 1);
	const uint64_t above = order >> (high + 4) << (high + 4);

	return (above | slot << high | moved | below) - 1;
}

/* The first count keys stay, the other slots become free. */
static inline uint64_t btree_order_truncate(uint64_t order, unsigned count)
{
	return (order & ~UINT64_C(15)) | count;
}

static inline unsigned btree_level(uint64_t info)
{
	return info & 0xff;
}

#endif
