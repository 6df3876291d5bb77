/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the check states of the B+tree, of one node or key at a time (nvw_parts). On a recovered pool check.c
 * walks the levels: it calls (order), (next) and (keys) of each node, and finds by its walk what (down), (up)
 * and the keys ask of others.
 *
 *	tree	the root word names a node; on the left edge every first key is 0, and every inner node has a
 *		child
 *	node b	if the block is allocated,
 *		(order)	it is a node of some level with ascending keys up to its high key, an inner one with a
 *			child;
 *		(next)	it has a right neighbour exactly if its high key is not the highest; that one is an
 *			allocated node of the level with higher keys
 *		(down)	in an inner node: the chain from each child leads to the child after it, of this node
 *			or of the first in the right neighbour, and that one's lowest key is as said
 *		(up)	it is the root, or the right neighbour of an allocated node of its level, or a child
 *			of one of the level above
 *		(keys)	in a leaf: every key has a value that it may have
 *	key k	if it may not be absent, an allocated leaf has it
 *
 * By induction over the levels, from the root's down, all parts together say what the walk says. Of the
 * root's level: the root is an allocated node, and by (next) so is every node to the right of it, in
 * ascending order, up to the one with the highest key. If the chain of level l is whole, then that of level l
 * - 1 begins at the first child of its first node (tree), leads from each child to the next (down) and on to
 * the highest key (next), and names all children in order. So the walk reaches every node of the chains, each
 * is allocated, and none is in two chains, since it states its level.
 *
 * No allocated node is outside the chains, which check.c says by counting. Else take one of the highest such
 * level, and of these the one with the lowest high key. It is not the root, and no child: its parent would be
 * in a chain, and so would it, by (down). So by (up) it is the right neighbour of an allocated node of its
 * level, which is then outside as well, and has a lower high key (next). Thus every allocated leaf is in the
 * chain, and a key that one of them has is found by the walk.
 *
 * No part searches from the root, or each would be tried again with every change of the nodes above it. Who
 * names a node, and who has a key, nvw_pool_holders() says.
 *
 * The tree has no recovery of its own; epochs undo splits, and the pool is read after that.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "check.h"

enum { STEPS_MAX = 4096, HOLDERS_MAX = 64, GRAIN = 64 };

/* What a part says of a node: each looks at few of its words, so the node's slots do not multiply. */
enum aspect { ASPECT_ORDER, ASPECT_NEXT, ASPECT_UP, ASPECT_SLOTS };

#define BROKEN(c, off, ...) nvw_violation((c)->findings, (off), __VA_ARGS__)

static unsigned aspects(const struct btree_plan *p)
{
	return ASPECT_SLOTS + p->slots;
}

static uint64_t count(const void *plan, const struct nvw_pool_geometry *g)
{
	const struct btree_plan *const p = plan;

	return 1 + p->by_key_count + p->loaded_count +
	       nvw_heap_places(g, btree_node_bytes(p->slots)) * aspects(p);
}

/* ---- Words of a node ------------------------------------------------------------------------------ */

static uint64_t order_of(const struct btree_case *c, nvw_off node)
{
	return nvw_pool_word(c->pool, node + offsetof(struct btree_node, order));
}

static uint64_t next_of(const struct btree_case *c, nvw_off node)
{
	return nvw_pool_word(c->pool, node + offsetof(struct btree_node, next));
}

static uint64_t high_of(const struct btree_case *c, nvw_off node)
{
	return nvw_pool_word(c->pool, node + offsetof(struct btree_node, high));
}

static uint64_t info_of(const struct btree_case *c, nvw_off node)
{
	return nvw_pool_word(c->pool, node + offsetof(struct btree_node, info));
}

static uint64_t key_in(const struct btree_case *c, nvw_off node, unsigned slot)
{
	return nvw_pool_word(c->pool, node + offsetof(struct btree_node, words) + 8 * slot);
}

static uint64_t value_in(const struct btree_case *c, nvw_off node, unsigned slot)
{
	return nvw_pool_word(c->pool, node + offsetof(struct btree_node, words) + 8 * (c->slots + slot));
}

/* The i-th key in order. */
static uint64_t key_at(const struct btree_case *c, nvw_off node, uint64_t order, unsigned i)
{
	return key_in(c, node, btree_slot(order, i));
}

static bool is_sound(unsigned of, uint64_t order)
{
	uint64_t slots = 0;

	NVW_FOR(i, of) {
		slots |= UINT64_C(1) << btree_slot(order, i);
	}
	return btree_count(order) <= of && slots == (UINT64_C(1) << of) - 1;
}

static bool order_is_sound(const struct btree_case *c, uint64_t order)
{
	return is_sound(c->slots, order);
}

/* Most parts want little of an order word, which each insert changes: whether one slot has a key, and which
 * one follows. */
struct wanted {
	unsigned slots, slot;
};
enum { UNUSED, LAST, FOLLOWED }; /* FOLLOWED by slot number 0, and so on */

static uint64_t follower(const void *context, uint64_t order)
{
	const struct wanted *const w = context;
	const unsigned count = is_sound(w->slots, order) ? btree_count(order) : 0;
	unsigned i = 0;

	while (i < count && btree_slot(order, i) != w->slot) {
		i++;
	}
	if (i == count) {
		return UNUSED;
	}
	return i + 1 == count ? LAST : FOLLOWED + btree_slot(order, i + 1);
}

static uint64_t use(const void *context, uint64_t order)
{
	return follower(context, order) == UNUSED ? UNUSED : LAST;
}

/* UNUSED: it has none. */
static uint64_t first_slot(const void *slots, uint64_t order)
{
	if (is_sound(*(const unsigned *)slots, order) && btree_count(order) > 0) {
		return FOLLOWED + btree_slot(order, 0);
	}
	return UNUSED;
}

static bool is_node(const struct btree_case *c, nvw_off off, unsigned level)
{
	uint64_t bytes = 0;

	return nvw_heap_is_allocated(c->pool, off, &bytes) && bytes == btree_node_bytes(c->slots) &&
	       info_of(c, off) == btree_info(c->slots, level);
}

/* Its own part speaks of its order word. */
int btree_check_node(const struct btree_case *c, nvw_off off, unsigned level)
{
	uint64_t bytes = 0;

	if (off % GRAIN != 0 || !nvw_heap_is_allocated(c->pool, off, &bytes) ||
		bytes != btree_node_bytes(c->slots)) {
		return BROKEN(
			c, off, "a node refers to offset %" PRIu64 ", which is not an allocated block", off);
	}
	if (info_of(c, off) == btree_info(c->slots, level)) {
		return 0;
	}
	return BROKEN(
		c, off, "the node at %" PRIu64 " is not of level %u: its content is not durable", off, level);
}

/* ---- Who refers to it ----------------------------------------------------------------------------- */

/* A word that lies where a node may be. */
struct place {
	nvw_off node;
	bool is_next, is_key, is_value;
	unsigned slot;
};

static struct place place_of(const struct btree_case *c, nvw_off off)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(c->pool);
	const uint64_t bytes = btree_node_bytes(c->slots), number = nvw_heap_place_of(g, bytes, off);
	struct place at = {0};

	if (number != UINT64_MAX) {
		at.node = nvw_heap_place(g, bytes, number);
		const uint64_t in = off - at.node, words = offsetof(struct btree_node, words);
		const uint64_t i = (in - words) / 8;

		at.is_next = in == offsetof(struct btree_node, next);
		at.is_key = in >= words && i < c->slots;
		at.is_value = in >= words && i >= c->slots && i < 2 * c->slots;
		at.slot = (unsigned)(i % c->slots);
	}
	return at;
}

/* It says nothing of a node with a broken order word: the node's own part speaks of it. */
static uint64_t ask_order(const struct btree_case *c, nvw_off node, unsigned slot,
	uint64_t (*of)(const void *context, uint64_t order))
{
	const struct wanted wanted = {c->slots, slot};

	return nvw_pool_ask(c->pool, node + offsetof(struct btree_node, order), of, &wanted);
}

static bool is_used(const struct btree_case *c, nvw_off node, unsigned slot)
{
	return ask_order(c, node, slot, use) != UNUSED;
}

/* The first child or key of a node is in this slot; false if it has none. */
static bool has_first(const struct btree_case *c, nvw_off node, unsigned *ret_slot)
{
	const uint64_t first =
		nvw_pool_ask(c->pool, node + offsetof(struct btree_node, order), first_slot, &c->slots);

	*ret_slot = (unsigned)(first - FOLLOWED);
	return first != UNUSED;
}

static nvw_off root_word(const struct btree_case *c)
{
	return nvw_pool_root_off(nvw_pool_geometry(c->pool), 0);
}

/* Does the root word, a left neighbour or a parent name the node? */
static bool is_named(const struct btree_case *c, nvw_off node, unsigned level)
{
	nvw_off off[HOLDERS_MAX];
	const unsigned holders = nvw_pool_holders(c->pool, node, off, HOLDERS_MAX);
	bool named = false;

	for (unsigned i = 0; i < holders && i < HOLDERS_MAX && !named; i++) {
		const struct place at = place_of(c, off[i]);

		named = (off[i] == root_word(c) || (at.is_next && is_node(c, at.node, level)) ||
				(at.is_value && is_node(c, at.node, level + 1) &&
					is_used(c, at.node, at.slot))) &&
			nvw_pool_word(c->pool, off[i]) == node;
	}
	return named;
}

/* Does an allocated leaf have the key? */
static bool is_there(const struct btree_case *c, uint64_t key)
{
	nvw_off off[HOLDERS_MAX];
	const unsigned holders = nvw_pool_holders(c->pool, key, off, HOLDERS_MAX);
	bool there = false;

	for (unsigned i = 0; i < holders && i < HOLDERS_MAX && !there; i++) {
		const struct place at = place_of(c, off[i]);

		there = at.is_key && is_node(c, at.node, 0) && is_used(c, at.node, at.slot) &&
			nvw_pool_word(c->pool, off[i]) == key;
	}
	return there;
}

/* A child, a neighbour and the root are found by their place, a key by itself. */
static uint64_t key_of(const void *plan, uint64_t word)
{
	return word;
}

uint64_t btree_root_info(const struct nvw_pool *pool)
{
	const nvw_off root = nvw_pool_word(pool, nvw_pool_root_off(nvw_pool_geometry(pool), 0));
	const nvw_off word = root + offsetof(struct btree_node, info);
	uint64_t info;

	if (root == 0 || root % 64 != 0) {
		return 0;
	}
	info = nvw_pool_word(pool, word);
	return btree_info_is_sound(info) ? info : 0;
}

/* ---- The tree ------------------------------------------------------------------------------------- */

static int check_tree(const struct btree_case *c)
{
	nvw_off off = nvw_pool_word(c->pool, root_word(c));
	const uint64_t info = off != 0 && off % GRAIN == 0 ? info_of(c, off) : 0;

	if (!btree_info_is_sound(info) || btree_slots(info) != c->slots) {
		return BROKEN(c, off, "the root word names offset %" PRIu64 ", which is not a node", off);
	}
	for (unsigned level = btree_level(info); level > 0; level--) {
		unsigned first;

		NVW_TRY(btree_check_node(c, off, level));
		if (!has_first(c, off, &first)) {
			return BROKEN(c, off, "the inner node at %" PRIu64 " has no child", off);
		}
		if (key_in(c, off, first) != 0) {
			return BROKEN(c, off, "the first key of the first node of level %u is not 0", level);
		}
		off = value_in(c, off, first);
	}
	return btree_check_node(c, off, 0);
}

/* ---- A node --------------------------------------------------------------------------------------- */

static int check_order(const struct btree_case *c, nvw_off off, uint64_t order)
{
	const unsigned count = btree_count(order);

	NVW_FOR(i, count) {
		const uint64_t key = key_at(c, off, order, i);

		if (i > 0 && key <= key_at(c, off, order, i - 1)) {
			return BROKEN(c, off, "key %" PRIu64 " at %" PRIu64 " is out of order", key, off);
		}
		if (i + 1 == count && key > high_of(c, off)) {
			return BROKEN(c, off, "key %" PRIu64 " at %" PRIu64 " is above %" PRIu64, key, off,
				high_of(c, off));
		}
	}
	return 0;
}

int btree_check_next(const struct btree_case *c, nvw_off off, unsigned level)
{
	const uint64_t high = high_of(c, off);
	const nvw_off next = next_of(c, off);

	if (!next != (high == UINT64_MAX)) {
		return BROKEN(c, off, "the chain of level %u ends at %" PRIu64 " before the highest key",
			level, off);
	}
	if (next == 0) {
		return 0;
	}
	NVW_TRY(btree_check_node(c, next, level));
	unsigned first;

	if (has_first(c, next, &first) && key_in(c, next, first) <= high) {
		return BROKEN(c, next, "key %" PRIu64 " at %" PRIu64 " is out of order",
			key_in(c, next, first), next);
	}
	if (high_of(c, next) > high) {
		return 0;
	}
	return BROKEN(c, next, "the high key of %" PRIu64 " is not above its left neighbour's", next);
}

/* The chain from one child leads to the next, whose lowest key is low. */
static int check_step(const struct btree_case *c, nvw_off off, nvw_off child, nvw_off to, uint64_t low)
{
	for (unsigned steps = 0; child != 0 && child % 8 == 0 && steps < STEPS_MAX; steps++) {
		const uint64_t high = high_of(c, child);

		if (next_of(c, child) == to) {
			if (high + 1 == low) {
				return 0;
			}
			return BROKEN(c, to,
				"the parent of the node at %" PRIu64 " gives %" PRIu64
				" as its first key, not %" PRIu64,
				to, low, high + 1);
		}
		if (high >= low) {
			break;
		}
		child = next_of(c, child);
	}
	return BROKEN(c, off,
		"the node at %" PRIu64 " names a child that is not in the chain of the level below", off);
}

/* The child in a slot of an inner node, and the chain from it; to: the slot after it in the order. */
static int check_child(const struct btree_case *c, nvw_off off, unsigned slot, uint64_t to, unsigned level)
{
	const nvw_off child = value_in(c, off, slot);
	unsigned first;

	NVW_TRY(btree_check_node(c, child, level - 1));
	if (to != LAST) {
		first = (unsigned)(to - FOLLOWED);
		return check_step(c, off, child, value_in(c, off, first), key_in(c, off, first));
	}
	const nvw_off next = next_of(c, off);

	/* (next) says whether that is a node with a child. */
	if (next == 0 || !has_first(c, next, &first)) {
		return 0;
	}
	return check_step(c, off, child, value_in(c, next, first), key_in(c, next, first));
}

/* ---- Keys ----------------------------------------------------------------------------------------- */

static struct btree_owed owed_to(const struct btree_case *c, uint64_t key)
{
	const struct btree_plan *const plan = c->plan;
	const uint64_t first = btree_first_of(plan, key, 0);

	return (struct btree_owed){
		plan, c->acks, key, first, btree_end_of(plan, key, first), btree_is_loaded(plan, key)};
}

int btree_check_key(
	const struct btree_case *c, const struct btree_owed *owed, bool present, uint64_t value, nvw_off off)
{
	if (btree_may_be(owed, present, value)) {
		return 0;
	}
	const uint64_t key = owed->key, last = btree_last_acked(owed);

	if (last == owed->first) {
		if (present) {
			return BROKEN(c, off,
				"key %" PRIu64 " holds 0x%" PRIx64 ", which no operation put there", key,
				value);
		}
		return BROKEN(c, off, "key %" PRIu64 " is lost: it was loaded", key);
	}
	if (!present) {
		return BROKEN(c, off, "key %" PRIu64 " is lost: operation %" PRIu64 " was acknowledged", key,
			c->plan->by_key[last - 1]);
	}
	return BROKEN(c, off,
		"key %" PRIu64 " holds 0x%" PRIx64 ", which is older than operation %" PRIu64
		" that was acknowledged, or torn",
		key, value, c->plan->by_key[last - 1]);
}

static int check_value(const struct btree_case *c, nvw_off off, unsigned slot)
{
	const struct btree_owed owed = owed_to(c, key_in(c, off, slot));

	return btree_check_key(c, &owed, true, value_in(c, off, slot), off);
}

static int check_key(const struct btree_case *c, uint64_t key)
{
	const struct btree_owed owed = owed_to(c, key);

	return btree_may_be(&owed, false, 0) || is_there(c, key) ? 0 : btree_check_key(c, &owed, false, 0, 0);
}

static int check_slot(const struct btree_case *c, nvw_off off, unsigned slot, unsigned level)
{
	const uint64_t to = ask_order(c, off, slot, level > 0 ? follower : use);

	if (to == UNUSED) {
		return 0;
	}
	return level > 0 ? check_child(c, off, slot, to, level) : check_value(c, off, slot);
}

int btree_check_keys(const struct btree_case *c, nvw_off off, unsigned level)
{
	NVW_TRY(btree_check_node(c, off, level));

	const uint64_t order = order_of(c, off);

	if (!order_is_sound(c, order)) {
		return BROKEN(c, off, "the node at %" PRIu64 " has a broken order word", off);
	}
	if (level > 0 && btree_count(order) == 0) {
		return BROKEN(c, off, "the inner node at %" PRIu64 " has no child", off);
	}
	return check_order(c, off, order);
}

static int check_aspect(const struct btree_case *c, nvw_off off, unsigned aspect)
{
	uint64_t bytes;

	if (!nvw_heap_is_allocated(c->pool, off, &bytes)) {
		return 0;
	}
	const unsigned level = btree_level(info_of(c, off));

	switch (aspect) {
	case ASPECT_ORDER:
		return btree_check_keys(c, off, level);
	case ASPECT_NEXT:
		return btree_check_next(c, off, level);
	case ASPECT_UP:
		if (is_named(c, off, level)) {
			return 0;
		}
		return BROKEN(
			c, off, "the block at %" PRIu64 " is allocated, but the tree does not have it", off);
	default:
		return check_slot(c, off, aspect - ASPECT_SLOTS, level);
	}
}

/* ---- What nobody can notice ------------------------------------------------------------------------ */

/* The key in a slot may be any between its neighbours. */
static bool key_fits(const struct btree_case *c, nvw_off node, unsigned slot, uint64_t key)
{
	const uint64_t order = order_of(c, node);
	const unsigned count = btree_count(order);
	unsigned i = 0;

	while (i < count && btree_slot(order, i) != slot) {
		i++;
	}
	return (i == 0 || key > key_at(c, node, order, i - 1)) &&
	       (i + 1 >= count || key < key_at(c, node, order, i + 1)) && key <= high_of(c, node);
}

static bool order_fits(const struct btree_case *c, nvw_off node, unsigned level, uint64_t order)
{
	return order_is_sound(c, order) && (level == 0 || btree_count(order) > 0) &&
	       check_order(c, node, order) == 0;
}

/* Keys and values of leaves are stored once, without a checksum; nobody counts the keys of a node. */
const char *btree_unguarded(struct nvw_pool *pool, nvw_off off, uint64_t found)
{
	const struct btree_case c = {.pool = pool, .slots = btree_slots(btree_root_info(pool))};
	const struct place at = c.slots > 0 ? place_of(&c, off) : (struct place){0};
	uint64_t bytes;

	if (at.node == 0 || !nvw_heap_is_allocated(pool, at.node, &bytes)) {
		return NULL;
	}
	const unsigned level = btree_level(info_of(&c, at.node));

	if (off == at.node + offsetof(struct btree_node, order) && order_fits(&c, at.node, level, found)) {
		return "which keys a node has";
	}
	if (off >= at.node + offsetof(struct btree_node, words) + 16 * c.slots) {
		return "room behind a node";
	}
	if ((at.is_key || at.is_value) && !is_used(&c, at.node, at.slot)) {
		return "a slot without a key";
	}
	if (level == 0 && at.is_value) {
		return "a value";
	}
	return level == 0 && at.is_key && key_fits(&c, at.node, at.slot, found) ? "a key" : NULL;
}

/* ---- All parts ------------------------------------------------------------------------------------ */

static int check(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks, uint64_t part,
	struct nvw_findings *findings)
{
	const struct btree_plan *const b = plan;
	const struct btree_case c = {b, pool, acks, findings, b->slots};

	if (part == 0) {
		return check_tree(&c);
	}
	part--;
	if (part < b->by_key_count) {
		const uint64_t key = b->keys[b->by_key[part]];

		return part > 0 && b->keys[b->by_key[part - 1]] == key ? 0 : check_key(&c, key);
	}
	part -= b->by_key_count;
	if (part < b->loaded_count) {
		return check_key(&c, b->loaded[part]);
	}
	part -= b->loaded_count;
	return check_aspect(&c,
		nvw_heap_place(nvw_pool_geometry(pool), btree_node_bytes(b->slots), part / aspects(b)),
		(unsigned)(part % aspects(b)));
}

static void name(const void *plan, uint64_t part, char *ret_name, size_t bytes)
{
	const struct btree_plan *const p = plan;

	assert(p->slots >= BTREE_SLOTS_MIN);
	if (part == 0) {
		snprintf(ret_name, bytes, "the tree");
	} else if (part - 1 < p->by_key_count) {
		snprintf(ret_name, bytes, "key %" PRIu64, p->keys[p->by_key[part - 1]]);
	} else if (part - 1 - p->by_key_count < p->loaded_count) {
		snprintf(ret_name, bytes, "key %" PRIu64, p->loaded[part - 1 - p->by_key_count]);
	} else {
		static const char *const about[] = {"the order", "the right neighbour", "who names it"};
		const uint64_t number = part - 1 - p->by_key_count - p->loaded_count;
		const unsigned aspect = (unsigned)(number % aspects(p));

		if (aspect < ASPECT_SLOTS) {
			snprintf(ret_name, bytes, "%s of node %" PRIu64 " of the heap", about[aspect],
				number / aspects(p));
		} else {
			snprintf(ret_name, bytes, "slot %u of node %" PRIu64 " of the heap",
				aspect - ASPECT_SLOTS, number / aspects(p));
		}
	}
}

const struct nvw_parts btree_parts = {.count = count, .check = check, .key = key_of, .name = name};
