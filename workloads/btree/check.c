/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle of the B+tree: walks level by level along next, leaves last. What must hold of a node and of a
 * key parts.c states. What the walk adds:
 *
 *	the children of a level, in order, are in the chain of the level below, in its order (a node whose
 *	split has not reached its parent is only in the chain) nothing else is allocated keys that no leaf
 *	has may be absent
 */
#include <inttypes.h>

#include "common/figures.h"
#include "check.h"
#include "common/bounds.h"

struct walk {
	struct btree_case c;
	uint64_t nodes;
	uint64_t op, loaded; /* positions in by_key and loaded: everything below them has been checked */
	uint64_t keys, unparented;
	int error;
};

#define BROKEN(w, off, ...) ((w)->error = nvw_violation((w)->c.findings, (off), __VA_ARGS__))

/* A node that has been checked. */
static const struct btree_node *node_at(const struct walk *w, nvw_off off)
{
	return nvw_pool_at(w->c.pool, off, btree_node_bytes(w->c.slots));
}

/* ---- Contents ------------------------------------------------------------------------------ */

static bool was_loaded(struct walk *w, uint64_t key)
{
	const struct btree_plan *const p = w->c.plan;

	while (w->loaded < p->loaded_count && p->loaded[w->loaded] < key) {
		w->loaded++;
	}
	return w->loaded < p->loaded_count && p->loaded[w->loaded] == key;
}

/* Checks the next key, against its operations and what was loaded, and passes over them. */
static void judge_key(struct walk *w, uint64_t key, bool present, uint64_t value, nvw_off off)
{
	const struct btree_owed owed = {
		w->c.plan, w->c.acks, key, w->op, btree_end_of(w->c.plan, key, w->op), was_loaded(w, key)};
	const int error = btree_check_key(&w->c, &owed, present, value, off);

	if (error) {
		w->error = error;
	}
	w->op = owed.end;
	w->loaded += owed.loaded;
}

/* Checks all planned and loaded keys below limit (and limit itself, if it is present with value). */
static void judge_up_to(struct walk *w, uint64_t limit, bool present, bool last, uint64_t value, nvw_off off)
{
	const struct btree_plan *const p = w->c.plan;

	for (;;) {
		const bool some_op = w->op < p->by_key_count, some_load = w->loaded < p->loaded_count;
		const uint64_t op_key = some_op ? p->keys[p->by_key[w->op]] : UINT64_MAX;
		const uint64_t load_key = some_load ? p->loaded[w->loaded] : UINT64_MAX;
		const uint64_t key = u64_min(op_key, load_key);

		if ((!some_op && !some_load) || (!last && key >= limit)) {
			break;
		}
		judge_key(w, key, false, 0, off);
	}
	if (present) {
		judge_key(w, limit, true, value, off);
	}
}

static void judge_leaf(struct walk *w, nvw_off off, const struct btree_node *node)
{
	for (unsigned i = 0; i < btree_count(node->order) && !w->error; i++) {
		const unsigned slot = btree_slot(node->order, i);

		judge_up_to(
			w, *BTREE_KEY(node, slot), true, false, *BTREE_VALUE(node, w->c.slots, slot), off);
	}
}

/* ---- Structure ----------------------------------------------------------------------------- */

/* Position in the level above: the next child that a parent names. */
struct cursor {
	nvw_off off; /* 0: no parent is left */
	unsigned i;
};

static void cursor_child(const struct walk *w, const struct cursor *at, uint64_t *ret_low, nvw_off *ret_child)
{
	const struct btree_node *const node = node_at(w, at->off);
	const unsigned slot = btree_slot(node->order, at->i);

	*ret_low = *BTREE_KEY(node, slot);
	*ret_child = *BTREE_VALUE(node, w->c.slots, slot);
}

static void cursor_step(const struct walk *w, struct cursor *at)
{
	const struct btree_node *const node = node_at(w, at->off);

	if (++at->i == btree_count(node->order)) {
		*at = (struct cursor){.off = node->next};
	}
}

/* Is the node at off, whose lowest key is low, the child that a parent names next? */
static void check_parent(struct walk *w, struct cursor *parent, nvw_off off, uint64_t low)
{
	uint64_t child_low = 0;
	nvw_off child = 0;

	if (parent->off != 0) {
		cursor_child(w, parent, &child_low, &child);
	}
	if (child != off) {
		w->unparented++;
		return;
	}
	if (child_low != low) {
		BROKEN(w, off,
			"the parent of the node at %" PRIu64 " gives %" PRIu64
			" as its first key, not %" PRIu64,
			off, child_low, low);
	}
	cursor_step(w, parent);
}

static int check_node(const struct btree_case *c, nvw_off off, unsigned level)
{
	NVW_TRY(btree_check_keys(c, off, level));
	return btree_check_next(c, off, level);
}

/* Checks one level along its chain, from first; above is the first node of the level above, 0 for the
 * root's. */
static void walk_level(struct walk *w, nvw_off first, unsigned level, nvw_off above)
{
	struct cursor parent = {.off = above};
	nvw_off off = first;
	uint64_t low = 0;

	while (off != 0 && w->error == 0) {
		w->error = check_node(&w->c, off, level);
		if (w->error != 0) {
			return;
		}
		const struct btree_node *const node = node_at(w, off);

		w->nodes++;
		if (above != 0) {
			check_parent(w, &parent, off, low);
		}
		if (level == 0) {
			w->keys += btree_count(node->order);
		}
		if (level == 0 && w->c.plan) {
			judge_leaf(w, off, node);
		}
		low = node->high + 1;
		off = node->next;
	}
	if (w->error == 0 && parent.off != 0) {
		BROKEN(w, parent.off,
			"the node at %" PRIu64 " names a child that is not in the chain of level %u",
			parent.off, level);
	}
}

static int count_block(void *context, nvw_off block, uint64_t bytes)
{
	++*(uint64_t *)context;
	return 0;
}

static void walk_tree(struct walk *w)
{
	const nvw_off root = nvw_pool_word(w->c.pool, nvw_pool_root_off(nvw_pool_geometry(w->c.pool), 0));
	const uint64_t info = btree_root_info(w->c.pool);
	nvw_off first = root, above = 0;

	if (!info) {
		BROKEN(w, root, "the root word names offset %" PRIu64 ", which is not a node", root);
		return;
	}
	w->c.slots = btree_slots(info);
	for (unsigned level = btree_level(info) + 1; level-- > 0;) {
		walk_level(w, first, level, above);
		if (w->error != 0 || level == 0) {
			return;
		}
		const struct cursor begin = {.off = first};
		uint64_t low;

		above = first;
		cursor_child(w, &begin, &low, &first);
	}
}

static int check_leaks(struct walk *w)
{
	uint64_t allocated = 0;
	const int r = nvw_heap_visit(w->c.pool, count_block, &allocated);

	if (r == 0 && allocated != w->nodes) {
		BROKEN(w, 0, "%" PRIu64 " blocks are allocated, the tree has %" PRIu64 " nodes", allocated,
			w->nodes);
	}
	return r;
}

int btree_check(void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	struct walk w = {.c = {.plan = plan, .pool = pool, .acks = acks, .findings = findings}};
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
	struct walk w = {.c = {.pool = pool}};

	/* For a broken tree, the check gives the details. */
	if (btree_check(NULL, pool, NULL, NULL) != 0) {
		return nvw_describe_text(d, "btree.state", "broken", "see the findings");
	}
	walk_tree(&w);

	const struct figure rows[] = {
		{"btree.height", btree_level(btree_root_info(pool)) + 1, "levels", "levels, leaves included"},
		{"btree.order", w.c.slots, "count", "most keys per node"},
		{"btree.nodes", w.nodes, "count", "nodes"},
		{"btree.keys", w.keys, "count", "keys"},
		{"btree.unparented", w.unparented, "count", "nodes that only their left neighbour names"},
	};

	return FIGURES_DESCRIBE(d, rows);
}
