/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of Treiber's stacks in a pool: heads, one announcement per work-item, and the nodes, in one
 * extent.
 *
 *	root word 0  offset of the extent, 0: the pool is not set up
 *	root word 1  stacks | words of payload << 32
 *	root word 2  nodes | work-items << 32
 *
 * A head is the offset of the first node, 0 for an empty stack, in a line of its own. A node is the offset of
 * the next one, the payload, and a digest of both its number and its payload. Node t is pushed once, onto the
 * stack that its number chooses, and never reused: an unchanged head means an unchanged stack (no ABA
 * problem).
 *
 * A work-item announces the node that it will take, in a word of its own: node + 1, and the stack in the high
 * half.
 *
 * Guarantees after a crash at any point, once recovery has run
 *	(1) every node on a stack is complete, was pushed onto this stack, and is on it once;
 *	(2) a node whose push was acknowledged is on its stack, or its taking was acknowledged, or a work-item
 *	    has announced it;
 *	(3) a node whose taking was acknowledged is on no stack;
 *	(4) no announcement names a node that is on a stack, and none a node of another stack.
 */
#ifndef WORKLOADS_STACK_LAYOUT_H
#define WORKLOADS_STACK_LAYOUT_H

#include <assert.h>

#include <nvw/pool.h>
#include <nvw/random.h>

enum { STACK_EXTENT, STACK_SHAPE, STACK_SIZES }; /* root words */
enum {
	STACK_HEAD_BYTES = 64,
	STACK_PAYLOAD_MAX = 30,
	STACK_STACKS_MAX = 1 << 16,
	STACK_NODES_MAX = 1 << 24,
	STACK_WORK_ITEMS_MAX = 1 << 20,
};

/* The places of all parts in the extent. */
struct stack_layout {
	nvw_off extent;
	uint64_t stacks, payload, nodes, work_items;
};

static inline nvw_off stack_head(const struct stack_layout *l, uint64_t stack)
{
	return l->extent + stack * STACK_HEAD_BYTES;
}

static inline nvw_off stack_announcement(const struct stack_layout *l, uint64_t work_item)
{
	return stack_head(l, l->stacks) + 8 * work_item;
}

/* Size of a node: the link, the payload, the digest. */
static inline uint64_t stack_node_bytes(const struct stack_layout *l)
{
	return 8 * (l->payload + 2);
}

static inline nvw_off stack_first_node(const struct stack_layout *l)
{
	return stack_announcement(l, (l->work_items + 7) / 8 * 8);
}

static inline nvw_off stack_node(const struct stack_layout *l, uint64_t node)
{
	return stack_first_node(l) + node * stack_node_bytes(l);
}

static inline uint64_t stack_extent_bytes(const struct stack_layout *l)
{
	return stack_node(l, l->nodes) - l->extent;
}

/* The number of the node at an offset, UINT64_MAX if none begins there. */
static inline uint64_t stack_node_number(const struct stack_layout *l, nvw_off off)
{
	const uint64_t at = off - stack_first_node(l);

	if (off < stack_first_node(l) || at % stack_node_bytes(l) != 0 ||
		at / stack_node_bytes(l) >= l->nodes) {
		return UINT64_MAX;
	}
	return at / stack_node_bytes(l);
}

/* The stack that node is pushed onto. */
static inline uint64_t stack_of(const struct stack_layout *l, uint64_t node)
{
	return nvw_mix64(node + 0x452821e638d01377u) % l->stacks;
}

static inline uint64_t stack_announcement_word(uint64_t node, uint64_t stack)
{
	assert((node + 1) <= UINT32_MAX && stack <= UINT32_MAX);
	return (node + 1) | stack << 32;
}

static inline uint64_t stack_digest_begin(uint64_t node)
{
	return nvw_mix64(node + 0xbe5466cf34e90c6cu);
}

static inline uint64_t stack_digest_add(uint64_t digest, uint64_t word)
{
	return nvw_mix64(digest ^ word) + 0xc0ac29b7c97c50ddu;
}

/* Word i of the payload of a node; for i = payload, the digest. */
static inline uint64_t stack_word(uint64_t seed, uint64_t node, uint64_t i, uint64_t payload)
{
	uint64_t digest = stack_digest_begin(node);

	assert(i <= payload);
	if (i < payload) {
		return nvw_mix64(seed + node * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u);
	}
	for (i = 0; i < payload; i++) {
		digest = stack_digest_add(digest, stack_word(seed, node, i, payload));
	}
	return digest;
}

#endif
