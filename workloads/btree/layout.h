/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of a B+tree in a pool.
 *
 * Root word 0 is the offset of the root node. All nodes of a tree have the same number of slots, 4 to 14,
 * which each node states (info). An *order word* gives the number of used slots and the order of their keys
 * (like Masstree's permutation): one 8-byte store of it publishes any number of new slots. The nodes of a
 * level form a chain (next), and a node states the highest key that it may hold: a search for a higher key
 * moves right (a B-link tree). So a split is complete before its parent is changed.
 *
 * In an inner node a slot is (lowest key of the child, offset of the child). The first child's lowest key is
 * the lowest key of the node; on the left edge it is 0.
 */
#ifndef WORKLOADS_BTREE_LAYOUT_H
#define WORKLOADS_BTREE_LAYOUT_H

#include <assert.h>

#include <stdbool.h>

#include <nvw/pool.h>

enum { BTREE_SLOTS_MIN = 4, BTREE_SLOTS_MAX = 14, BTREE_LEVELS_MAX = 24 };

struct btree_node {
	/* bits 0-3: used slots; bits 4 + 4 i: the slot of the i-th key, then the free slots */
	uint64_t order;
	uint64_t next; /* the right neighbour, 0 for the last of its level */
	uint64_t high; /* the highest key allowed here and below */
	uint64_t info; /* btree_info() */
	/* The keys of all slots, then their values: in a leaf the stored values, in an inner node the
	 * children. A node with few slots ends early: btree_node_bytes(). */
	uint64_t words[2 * BTREE_SLOTS_MAX];
};
_Static_assert(sizeof(struct btree_node) == 256, "a node is at most four lines");

#define BTREE_MAGIC UINT64_C(0x6e6f646500000000)

static inline uint64_t btree_info(unsigned slots, unsigned level)
{
	return BTREE_MAGIC | slots << 8 | level;
}

/* The level of a node (0 for a leaf), and its number of slots. */
static inline unsigned btree_level(uint64_t info)
{
	return info & 0xff;
}

static inline unsigned btree_slots(uint64_t info)
{
	return info >> 8 & 0xff;
}

static inline bool btree_info_is_sound(uint64_t info)
{
	return (info & ~UINT64_C(0xffff)) == BTREE_MAGIC && btree_level(info) < BTREE_LEVELS_MAX &&
	       btree_slots(info) >= BTREE_SLOTS_MIN && btree_slots(info) <= BTREE_SLOTS_MAX;
}

/* A node is a block of the heap, of this size class (nvw/heap.h): two lines or four. */
static inline unsigned btree_node_class(unsigned slots)
{
	return 32 + 16 * slots <= 128 ? 1 : 2;
}

static inline unsigned btree_node_bytes(unsigned slots)
{
	return 64u << btree_node_class(slots);
}

/* Most slots used in a new node, so that it does not split at once: five sevenths. */
static inline unsigned btree_fill(unsigned slots)
{
	return (5 * slots + 6) / 7;
}

/* Number of nodes for this many pairs. */
static inline uint64_t btree_nodes_for(unsigned slots, uint64_t pairs)
{
	assert(slots >= BTREE_SLOTS_MIN);
	return pairs ? (pairs + btree_fill(slots) - 1) / btree_fill(slots) : 1;
}

/* The words of a slot. */
#define BTREE_KEY(node, slot)          (&(node)->words[slot])
#define BTREE_VALUE(node, slots, slot) (&(node)->words[(slots) + (slot)])

/* Slots 0 to count - 1 are used, in this order. */
static inline uint64_t btree_order(unsigned slots, unsigned count)
{
	assert(count <= slots);
	return (UINT64_C(0xdcba9876543210) & ((UINT64_C(1) << 4 * slots) - 1)) << 4 | count;
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

/* Gives the first free slot to the i-th key. */
static inline uint64_t btree_order_insert(uint64_t order, unsigned i)
{
	const unsigned count = btree_count(order), low = 4 + 4 * i, high = 4 + 4 * count;
	const uint64_t slot = btree_slot(order, count);
	const uint64_t below = order & ((UINT64_C(1) << low) - 1);
	const uint64_t moved = order >> low << low & ((UINT64_C(1) << high) - 1);
	const uint64_t above = count + 1 < BTREE_SLOTS_MAX ? order >> (high + 4) << (high + 4) : 0;

	return (above | moved << 4 | slot << low | below) + 1;
}

/* Frees the i-th key's slot. */
static inline uint64_t btree_order_remove(uint64_t order, unsigned i)
{
	const unsigned count = btree_count(order), low = 4 + 4 * i, high = 4 + 4 * (count - 1);
	const uint64_t slot = btree_slot(order, i);
	const uint64_t below = order & ((UINT64_C(1) << low) - 1);
	const uint64_t moved = order >> (low + 4) << low & ((UINT64_C(1) << high) - 1);
	const uint64_t above = order >> (high + 4) << (high + 4);

	return (above | slot << high | moved | below) - 1;
}

/* Keeps the first count keys and frees the other slots. */
static inline uint64_t btree_order_truncate(uint64_t order, unsigned count)
{
	return (order & ~UINT64_C(15)) | count;
}

#endif
