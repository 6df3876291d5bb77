/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trees-uts: unbalanced tree search, on the trees of uts (common/unbalanced.h; sinclair15 5.4.2). A task is a
 * node: it adds its hash to a sum and forks its children. There are no queues, and nobody steals: the next
 * epoch's launch spreads the nodes over the CUs.
 */
#include "trees.h"

#include "common/unbalanced.h"

enum { NODES };
enum { TABLE, ROOT, TOTAL };
enum { ROOT_LOW, ROOT_HIGH, ROOT_CHILDREN, ROOT_NODES, ROOT_SUM, ROOT_WORDS };
enum { TOTAL_NODES, TOTAL_SUM, TOTAL_WORDS };

static const struct nvw_option options[] = {
	{"nodes", NVW_OPTION_COUNT, "16384", NULL, "of the tree, give or take 1/32"},
	TREES_OPTIONS_END,
};

struct data {
	const uint32_t *table;
	uint32_t *total;
	uint64_t root;
	uint32_t root_children;
};

/* Words: the node's hash. */
static void visit(struct nvw_task *t)
{
	const struct data *const d = nvw_task_data(t);
	const uint64_t node = nvw_task_word(t, 0) | (uint64_t)nvw_task_word(t, 1) << 32;
	const uint32_t children =
		node == d->root ? d->root_children : nvw_load_read_only(&d->table[node >> 56]);

	(void)nvw_wavefront_add(&d->total[TOTAL_NODES], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	(void)nvw_wavefront_add(&d->total[TOTAL_SUM], (uint32_t)node, NVW_RELAXED, NVW_SCOPE_AGENT);
	NVW_FOR(i, children) {
		const uint64_t child = unbalanced_child(node, i);

		nvw_fork(t, visit, (uint32_t)child, (uint32_t)(child >> 32));
	}
}

static const struct nvw_task_program program = {
	.name = "uts",
	.functions = (const struct nvw_task_function[]){{"visit", visit, false}, {NULL, NULL, false}},
	.words = 2,
};

static void trees_uts_shape(struct dense_plan *p)
{
	dense_read_only(p, TABLE, DENSE_UINT32, UNBALANCED_TABLE, "table");
	dense_read_only(p, ROOT, DENSE_UINT32, ROOT_WORDS, "root");
	dense_written(p, TOTAL, DENSE_UINT32, TOTAL_WORDS, "total");
}

static void trees_uts_fill(struct dense_plan *p)
{
	uint32_t *const table = p->input[TABLE], *const root = p->input[ROOT];
	struct unbalanced tree;

	if (unbalanced_find(&tree, p->size[NODES], p->random.state) != 0) {
		return; /* prepare() sees a tree without nodes */
	}
	NVW_FOR(i, UNBALANCED_TABLE) {
		table[i] = tree.table[i];
	}
	root[ROOT_LOW] = (uint32_t)tree.root;
	root[ROOT_HIGH] = (uint32_t)(tree.root >> 32);
	root[ROOT_CHILDREN] = tree.root_children;
	root[ROOT_NODES] = (uint32_t)tree.nodes;
	root[ROOT_SUM] = (uint32_t)tree.sum;
}

static int prepare_tree(
	const struct dense_kernel *kernel, const struct nvw_options *o, uint64_t seed, void **ret_plan)
{
	const struct dense_plan *p;

	NVW_TRY(trees_prepare(kernel, o, seed, ret_plan));
	p = *ret_plan;
	if (((const uint32_t *)p->input[ROOT])[ROOT_NODES] != 0) {
		return 0;
	}
	dense_dispose(*ret_plan);
	return nvw_fail(NVW_E_USAGE, "trees-uts: --nodes: found no tree with so many nodes");
}

static int trees_uts_run(struct dense_plan *p)
{
	const uint32_t *const root = p->input[ROOT];
	const struct data data = {p->device[TABLE], p->device[TOTAL],
		root[ROOT_LOW] | (uint64_t)root[ROOT_HIGH] << 32, root[ROOT_CHILDREN]};

	assert(root[ROOT_NODES] > 0);
	return trees_run(p, &program, &data, visit, root[ROOT_LOW], root[ROOT_HIGH]);
}

/* The search by which the tree was found: one node after the other, with a stack. */
static void trees_uts_expect(struct dense_plan *p)
{
	const uint32_t *const root = p->input[ROOT];
	uint32_t *const total = p->expected[TOTAL];

	total[TOTAL_NODES] = root[ROOT_NODES];
	total[TOTAL_SUM] = root[ROOT_SUM];
}

DENSE_DEFINE(trees_uts, "trees-uts", "tasks: unbalanced tree search (sinclair15, UTS), on the trees of uts",
	options, prepare_tree, DENSE_HOOKS(trees_uts), .least = {[NODES] = UNBALANCED_SUBTREE},
	.report = trees_report);
