/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The durable form of btree: nodes of 512 bytes, their slots unsorted.
 *
 *	bitmap | high | next | level | 28 keys | 28 values | spare
 *
 * A slot counts if its bit is set: one 8-byte store publishes any number of slots. A leaf's slots are keys
 * and values; an inner node's are the lowest key of a child and its offset. high is the greatest key that
 * may be in the node, next its right neighbour of the same level (B-link): a key above high is found there,
 * so that a split is complete before its separator is in the parent.
 */
#ifndef WORKLOADS_BTREE_LAYOUT_H
#define WORKLOADS_BTREE_LAYOUT_H

#include <nvw/pool.h>

enum { BTREE_ROOT = 0, BTREE_SLOTS = 28, BTREE_FILL = 20, BTREE_NODE_BYTES = 512, BTREE_LEVELS = 24 };

struct btree_node {
	uint64_t bitmap, high;
	nvw_off next;
	uint64_t level; /* 0: a leaf */
	uint64_t keys[BTREE_SLOTS], values[BTREE_SLOTS];
	uint64_t spare[4];
};

#endif
