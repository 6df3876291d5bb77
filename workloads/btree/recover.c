/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The durable tree: recovery, check, inspection. Never trusts an offset on the medium.
 *
 * Recovery only frees nodes that no chain reaches (a root that was not named). A separator that did not get
 * to its parent stays missing: searches go by next, and check() allows it.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "btree.h"

struct walk {
	struct nvw_pool *pool;
	struct nvw_findings *findings; /* NULL: only collect */
	nvw_off *nodes;
	uint64_t count, room, per_level[BTREE_LEVELS];
	struct btree_plan *plan;
	uint64_t entries;
	unsigned violations;
};

static void violate(struct walk *w, nvw_off off, const char *what)
{
	w->violations++;
	if (w->findings != NULL) {
		(void)nvw_violation(w->findings, off, "%s", what);
	}
}

static const struct btree_node *node_at(struct walk *w, nvw_off off)
{
	uint64_t bytes;

	if (!nvw_heap_is_allocated(w->pool, off, &bytes) || bytes != BTREE_NODE_BYTES) {
		violate(w, off, "a reference to what is no allocated node");
		return NULL;
	}
	return nvw_pool_at(w->pool, off, BTREE_NODE_BYTES);
}

static bool collect(struct walk *w, nvw_off off)
{
	if (w->count == w->room) {
		const uint64_t room = w->room == 0 ? 64 : 2 * w->room;
		nvw_off *const more = realloc(w->nodes, room * sizeof(*more));

		if (more == NULL) {
			return false;
		}
		w->nodes = more;
		w->room = room;
	}
	w->nodes[w->count++] = off;
	return true;
}

static void visit_leaf_entry(struct walk *w, nvw_off off, uint64_t key, uint64_t value)
{
	struct btree_plan *const p = w->plan;
	uint64_t lo = 0, hi;

	w->entries++;
	if (p == NULL) {
		return;
	}
	hi = p->preload + p->count;
	while (lo < hi) {
		const uint64_t mid = (lo + hi) / 2;

		if (p->sorted[2 * mid] < key) {
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
	if (lo == p->preload + p->count || p->sorted[2 * lo] != key) {
		violate(w, off, "a key that no operation inserted");
	} else if (p->seen[p->sorted[2 * lo + 1]] == p->checks) {
		violate(w, off, "a key twice");
	} else if (value != btree_value(p->seed, key)) {
		violate(w, off, "a key with a value that nobody gave it");
	} else {
		p->seen[p->sorted[2 * lo + 1]] = p->checks;
	}
}

/* The entries of a node: in its range, no key twice; children one level below and from that key on. */
static void visit_entries(struct walk *w, nvw_off off, const struct btree_node *n, uint64_t low)
{
	for (uint64_t bits = n->bitmap; bits != 0; bits &= bits - 1) {
		const int i = __builtin_ctzll(bits);

		if (n->keys[i] < low || n->keys[i] > n->high) {
			violate(w, off, "a key outside the range of its node");
		}
		for (uint64_t rest = bits & (bits - 1); rest != 0; rest &= rest - 1) {
			if (n->keys[__builtin_ctzll(rest)] == n->keys[i]) {
				violate(w, off, "a key twice in a node");
			}
		}
		if (n->level == 0) {
			visit_leaf_entry(w, off, n->keys[i], n->values[i]);
			continue;
		}

		const struct btree_node *const child = node_at(w, n->values[i]);

		if (child != NULL && (child->level != n->level - 1 || child->high < n->keys[i])) {
			violate(w, off, "a child of another level or range");
		}
	}
}

/* One level's chain from its first node; *ret_child is the first node of the level below. */
static int walk_level(struct walk *w, nvw_off off, uint64_t level, nvw_off *ret_child)
{
	uint64_t low = 0;

	*ret_child = 0;
	for (bool is_first = true; off != 0; is_first = false) {
		const struct btree_node *const n = node_at(w, off);

		if (n == NULL) {
			return 0;
		}
		if (n->level != level || (!is_first && low == 0) || n->high < low ||
			n->bitmap >> BTREE_SLOTS != 0) {
			violate(w, off, "a chain that is out of order or of mixed levels");
			return 0;
		}
		if (!collect(w, off)) {
			return nvw_fail(NVW_E_MEMORY, "no memory to walk the tree");
		}
		w->per_level[level]++;
		visit_entries(w, off, n, low);
		for (uint64_t b = is_first && level != 0 ? n->bitmap : 0; b != 0; b &= b - 1) {
			if (n->keys[__builtin_ctzll(b)] == 0) {
				*ret_child = n->values[__builtin_ctzll(b)];
			}
		}
		if (n->next == 0 && n->high != UINT64_MAX) {
			violate(w, off, "a chain that ends too early");
		}
		low = n->high + 1;
		off = n->next;
	}
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const nvw_off x = *(const nvw_off *)a, y = *(const nvw_off *)b;

	return (x > y) - (x < y);
}

static int walk_tree(struct walk *w, uint64_t *ret_levels)
{
	const nvw_off word = nvw_pool_root_off(nvw_pool_geometry(w->pool), BTREE_ROOT);
	nvw_off off = nvw_pool_word(w->pool, word);
	const struct btree_node *const root = off == 0 ? NULL : node_at(w, off);
	int error = 0;

	*ret_levels = root == NULL ? 0 : root->level + 1;
	if (*ret_levels > BTREE_LEVELS) {
		violate(w, off, "a root of impossible level");
		*ret_levels = 0;
	}
	for (uint64_t level = *ret_levels; error == 0 && off != 0 && level > 0; level--) {
		error = walk_level(w, off, level - 1, &off);
		if (error == 0 && off == 0 && level > 1) {
			violate(w, 0, "a level without a first child");
		}
	}
	if (w->count != 0) {
		qsort(w->nodes, w->count, sizeof(*w->nodes), by_offset);
	}
	return error;
}

static bool is_node(void *context, nvw_off block, uint64_t bytes)
{
	const struct walk *const w = context;

	(void)bytes;
	return w->count != 0 &&
	       bsearch(&block, w->nodes, w->count, sizeof(block), by_offset) != NULL;
}

int btree_recover(struct nvw_pool *pool, struct nvw_recovery *report)
{
	struct walk w = {.pool = pool};
	uint64_t levels;
	int error = walk_tree(&w, &levels);

	/* What cannot be walked is left as it is, for check() to report. */
	if (error == 0 && w.violations == 0) {
		error = nvw_heap_sweep(pool, is_node, &w, report);
	}
	free(w.nodes);
	return error;
}

static int visit_block(void *context, nvw_off block, uint64_t bytes)
{
	if (!is_node(context, block, bytes)) {
		violate(context, block, "a block that nothing refers to");
	}
	return 0;
}

int btree_check(void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	struct btree_plan *const p = plan;
	struct walk w = {.pool = pool, .plan = plan, .findings = findings};
	uint64_t levels;

	if (p != NULL) {
		p->checks++;
	}

	int error = walk_tree(&w, &levels);

	if (error == 0 && w.violations == 0) {
		error = nvw_heap_visit(pool, visit_block, &w);
	}
	for (uint64_t op = 0; p != NULL && acks != NULL && op < p->preload + p->count; op++) {
		if (p->seen[op] != p->checks && nvw_acked(acks, op)) {
			violate(&w, 0, "an acknowledged key is lost");
		}
	}
	free(w.nodes);
	return error != 0 ? error : w.violations != 0 ? NVW_E_INCONSISTENT : 0;
}

int btree_inspect(struct nvw_pool *pool, struct nvw_description *description)
{
	struct walk w = {.pool = pool};
	uint64_t levels;
	int error = walk_tree(&w, &levels);

	if (error == 0) {
		error = nvw_describe_u64(description, "btree.depth", levels, "count", "levels of the tree");
	}
	if (error == 0) {
		error = nvw_describe_u64(description, "btree.nodes", w.count, "count", "nodes");
	}
	if (error == 0) {
		error = nvw_describe_u64(description, "btree.keys", w.entries, "count", "keys");
	}
	free(w.nodes);
	return error;
}
