/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle of the B+tree. Structure: walked level by level along next, leaves last.
 *
 *	every node is an allocated block with the magic, its level and a valid order word
 *	keys ascend within a node, lie above the left neighbour's high key and up to the node's own
 *	the children of a level, in order, are nodes of the level below, in its chain's order (a node whose
 * split has not reached its parent is only in the chain) a level ends with the highest key nothing else is
 * allocated
 *
 * Contents: a key holds the result of the last acknowledged operation on it, or of a later one.
 */
#include <inttypes.h>

#include "owed.h"

struct walk {
	struct btree_plan *plan; /* NULL: structure only */
	const struct nvw_pool *pool;
	const struct nvw_acks *acks;
	struct nvw_findings *findings;
	unsigned slots; /* slots per node, as stated by the root */
	uint64_t nodes;
	uint64_t op, loaded; /* positions in by_key and loaded: everything below them has been checked */
	uint64_t keys, unparented;
	int error;
};

#define BROKEN(w, off, ...) ((w)->error = nvw_violation((w)->findings, (off), __VA_ARGS__))

static const struct btree_node *node_at(struct walk *w, nvw_off off, unsigned level)
{
	const struct btree_node *const node = nvw_pool_at(w->pool, off, btree_node_bytes(w->slots));
	uint64_t bytes = 0, slots = 0;

	if (!node || off % 64 || !nvw_heap_is_allocated(w->pool, off, &bytes) ||
		bytes != btree_node_bytes(w->slots)) {
		BROKEN(w, off, "a node refers to offset %" PRIu64 ", which is not an allocated block", off);
		return NULL;
	}
	if (node->info != btree_info(w->slots, level)) {
		BROKEN(w, off, "the node at %" PRIu64 " is not of level %u: its content is not durable", off,
			level);
		return NULL;
	}
	for (unsigned i = 0; i < w->slots; i++) {
		slots |= UINT64_C(1) << btree_slot(node->order, i);
	}
	if (btree_count(node->order) > w->slots || slots != (1u << w->slots) - 1) {
		BROKEN(w, off, "the node at %" PRIu64 " has a broken order word", off);
		return NULL;
	}
	return node;
}

/* ---- Contents ------------------------------------------------------------------------------ */

static bool was_loaded(struct walk *w, uint64_t key)
{
	const struct btree_plan *const p = w->plan;

	while (w->loaded < p->loaded_count && p->loaded[w->loaded] < key) {
		w->loaded++;
	}
	return w->loaded < p->loaded_count && p->loaded[w->loaded] == key;
}

/* Checks key against its operations, by_key[first] to by_key[end - 1]. */
static void judge_key(
	struct walk *w, uint64_t key, uint64_t first, uint64_t end, bool present, uint64_t value, nvw_off off)
{
	const struct btree_plan *const p = w->plan;
	const struct btree_owed owed = {p, w->acks, key, first, end, was_loaded(w, key)};
	const bool changes = btree_changes(p);

	if (btree_may_be(&owed, present, value)) {
		return;
	}
	const uint64_t from = btree_last_acked(&owed);

	if (from > first && changes && !present) {
		BROKEN(w, off, "key %" PRIu64 " is lost: operation %" PRIu64 " was acknowledged", key,
			p->by_key[from - 1]);
	} else if (from > first && changes) {
		BROKEN(w, off,
			"key %" PRIu64 " holds 0x%" PRIx64 ", which is older than operation %" PRIu64
			" that was acknowledged, or torn",
			key, value, p->by_key[from - 1]);
	} else if (present) {
		BROKEN(w, off, "key %" PRIu64 " holds 0x%" PRIx64 ", which no operation put there", key,
			value);
	} else {
		BROKEN(w, off, "key %" PRIu64 " is lost: it was loaded", key);
	}
}

/* Checks all planned and loaded keys below limit (and limit itself, if it is present with value). */
static void judge_up_to(struct walk *w, uint64_t limit, bool present, bool last, uint64_t value, nvw_off off)
{
	const struct btree_plan *const p = w->plan;

	for (;;) {
		const bool some_op = w->op < p->count, some_load = w->loaded < p->loaded_count;
		const uint64_t op_key = some_op ? p->keys[p->by_key[w->op]] : UINT64_MAX;
		const uint64_t load_key = some_load ? p->loaded[w->loaded] : UINT64_MAX;
		const uint64_t key = op_key < load_key ? op_key : load_key;
		uint64_t end = w->op;

		if ((!some_op && !some_load) || (!last && key >= limit)) {
			break;
		}
		while (end < p->count && p->keys[p->by_key[end]] == key) {
			end++;
		}
		judge_key(w, key, w->op, end, false, 0, off);
		w->op = end;
		w->loaded += w->loaded < p->loaded_count && p->loaded[w->loaded] == key;
	}
	if (present) {
		uint64_t end = w->op;

		while (end < p->count && p->keys[p->by_key[end]] == limit) {
			end++;
		}
		judge_key(w, limit, w->op, end, true, value, off);
		w->op = end;
		w->loaded += w->loaded < p->loaded_count && p->loaded[w->loaded] == limit;
	}
}

static void judge_leaf(struct walk *w, nvw_off off, const struct btree_node *node)
{
	for (unsigned i = 0; i < btree_count(node->order) && !w->error; i++) {
		const unsigned slot = btree_slot(node->order, i);

		judge_up_to(w, *BTREE_KEY(node, slot), true, false, *BTREE_VALUE(node, w->slots, slot), off);
	}
}

/* ---- Structure ----------------------------------------------------------------------------- */

/* Position in the level above: the next child that a parent names. */
struct cursor {
	nvw_off off;
	const struct btree_node *node;
	unsigned i;
};

static bool cursor_child(const struct walk *w, const struct cursor *c, uint64_t *ret_low, nvw_off *ret_child)
{
	if (!c->node) {
		return false;
	}
	*ret_low = *BTREE_KEY(c->node, btree_slot(c->node->order, c->i));
	*ret_child = *BTREE_VALUE(c->node, w->slots, btree_slot(c->node->order, c->i));
	return true;
}

/* The level above has no empty nodes: children are never removed. */
static void cursor_step(struct walk *w, struct cursor *c, unsigned level)
{
	if (++c->i < btree_count(c->node->order)) {
		return;
	}
	c->off = c->node->next;
	c->i = 0;
	c->node = c->off ? node_at(w, c->off, level) : NULL;
	if (c->node && !btree_count(c->node->order)) {
		BROKEN(w, c->off, "the inner node at %" PRIu64 " has no child", c->off);
		c->node = NULL;
	}
}

static void check_keys(struct walk *w, nvw_off off, const struct btree_node *node, uint64_t low)
{
	uint64_t least = low;

	for (unsigned i = 0; i < btree_count(node->order) && !w->error; i++) {
		const uint64_t key = *BTREE_KEY(node, btree_slot(node->order, i));

		if (key < least || key > node->high ||
			(i && key == *BTREE_KEY(node, btree_slot(node->order, i - 1)))) {
			BROKEN(w, off,
				"key %" PRIu64 " at %" PRIu64 " is out of order, or not between %" PRIu64
				" and %" PRIu64,
				key, off, low, node->high);
		}
		least = key;
	}
}

/* Checks one level along its chain, from first; above is the level above it, NULL for the root's. */
static nvw_off walk_level(struct walk *w, nvw_off first, unsigned level, nvw_off first_above)
{
	struct cursor parent = {.off = first_above};
	nvw_off off = first, below = 0;
	uint64_t low = 0;

	if (first_above) {
		parent.node = node_at(w, first_above, level + 1);
	}
	while (off && !w->error) {
		const struct btree_node *const node = node_at(w, off, level);
		uint64_t child_low;
		nvw_off child;

		if (!node) {
			break;
		}
		w->nodes++;
		check_keys(w, off, node, low);
		if (cursor_child(w, &parent, &child_low, &child) && child == off) {
			if (child_low != low) {
				BROKEN(w, off,
					"the parent of the node at %" PRIu64 " gives %" PRIu64
					" as its first key, not %" PRIu64,
					off, child_low, low);
			}
			cursor_step(w, &parent, level + 1);
		} else {
			w->unparented += first_above != 0;
		}
		if (level && off == first) {
			below = btree_count(node->order) ?
					*BTREE_VALUE(node, w->slots, btree_slot(node->order, 0)) :
					0;
		}
		if (!level) {
			w->keys += btree_count(node->order);
			if (w->plan) {
				judge_leaf(w, off, node);
			}
		}
		if (!node->next != (node->high == UINT64_MAX)) {
			BROKEN(w, off, "the chain of level %u ends at %" PRIu64 " before the highest key",
				level, off);
		}
		low = node->high + 1;
		off = node->next;
	}
	if (!w->error && parent.node) {
		BROKEN(w, parent.off,
			"the node at %" PRIu64 " names a child that is not in the chain of level %u",
			parent.off, level);
	}
	return below;
}

static int count_block(void *context, nvw_off block, uint64_t bytes)
{
	++*(uint64_t *)context;
	return 0;
}

uint64_t btree_root_info(const struct nvw_pool *pool)
{
	const nvw_off root = nvw_pool_word(pool, nvw_pool_root_off(nvw_pool_geometry(pool), 0));
	const nvw_off word = root + offsetof(struct btree_node, info);
	const uint64_t info = root && root % 64 == 0 ? nvw_pool_word(pool, word) : 0;

	return btree_info_is_sound(info) ? info : 0;
}

static void walk_tree(struct walk *w)
{
	const nvw_off root = nvw_pool_word(w->pool, nvw_pool_root_off(nvw_pool_geometry(w->pool), 0));
	const uint64_t info = btree_root_info(w->pool);
	nvw_off first = root, above = 0;

	if (!info) {
		BROKEN(w, root, "the root word names offset %" PRIu64 ", which is not a node", root);
		return;
	}
	w->slots = btree_slots(info);
	for (unsigned level = btree_level(info) + 1; level-- > 0 && !w->error;) {
		const nvw_off below = walk_level(w, first, level, above);

		above = first;
		first = below;
		if (level && !first && !w->error) {
			BROKEN(w, above, "the inner node at %" PRIu64 " has no child", above);
		}
	}
}

static int check_leaks(struct walk *w)
{
	uint64_t allocated = 0;
	const int r = nvw_heap_visit(w->pool, count_block, &allocated);

	if (r == 0 && allocated != w->nodes) {
		BROKEN(w, 0, "%" PRIu64 " blocks are allocated, the tree has %" PRIu64 " nodes", allocated,
			w->nodes);
	}
	return r;
}

int btree_check(void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	struct walk w = {.plan = plan, .pool = pool, .acks = acks, .findings = findings};
	int r = 0;

	walk_tree(&w);
	if (!w.error && plan) {
		judge_up_to(&w, 0, false, true, 0, 0);
	}
	if (!w.error) {
		r = check_leaks(&w);
	}
	return r < 0 ? r : w.error;
}

int btree_inspect(struct nvw_pool *pool, struct nvw_description *d)
{
	struct walk w = {.pool = pool};
	int r;

	/* For a broken tree, the check gives the details. */
	if (btree_check(NULL, pool, NULL, NULL) != 0) {
		return nvw_describe_text(d, "btree.state", "broken", "see the findings");
	}
	walk_tree(&w);
	r = nvw_describe_u64(d, "btree.height", btree_level(btree_root_info(pool)) + 1, "levels",
		"levels, leaves included");
	r = r ? r : nvw_describe_u64(d, "btree.order", w.slots, "count", "most keys per node");
	r = r ? r : nvw_describe_u64(d, "btree.nodes", w.nodes, "count", "nodes");
	r = r ? r : nvw_describe_u64(d, "btree.keys", w.keys, "count", "keys");
	r = r ? r :
		nvw_describe_u64(d, "btree.unparented", w.unparented, "count",
			"nodes that only their left neighbour names");
	return r;
}
