/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bfs: breadth-first search as in Rodinia, level by level, two launches per level. The first visits the nodes
 * of the frontier and gives their new neighbours the next level; the second makes those the frontier and
 * informs the host, which continues until the frontier is empty.
 *
 * Several nodes of a frontier may find the same neighbour. All store the same level and the same mark; the
 * original does so by racing plain stores, this one by relaxed atomics.
 */
#include "dense.h"

enum { SOURCE };
enum { ROWS, COLUMNS, LEVELS, FRONTIER, FOUND, VISITED, MORE };

static const struct nvw_option options[] = {
	DENSE_GRAPH_OPTION("rmat:13:8"),
	DENSE_SIZE("source", "1", "node that the search begins at, counted from 1; modulo the nodes"),
	DENSE_OPTIONS_END,
};

static uint32_t bfs_source(const struct dense_plan *p)
{
	assert(p->graph.nodes > 0);
	return (uint32_t)((p->size[SOURCE] - 1) % p->graph.nodes);
}

static void bfs_shape(struct dense_plan *p)
{
	const uint64_t nodes = p->graph.nodes;

	dense_array_graph(p, ROWS);
	dense_written(p, LEVELS, DENSE_INT32, nodes, "levels", "frontier", "found",
		"visited"); /* level -1: not reached */
	dense_written(p, MORE, DENSE_INT32, 1, "more");
}

static void bfs_fill(struct dense_plan *p)
{
	int32_t *const levels = p->input[LEVELS];

	NVW_FOR(v, p->graph.nodes) {
		levels[v] = -1;
	}
	levels[bfs_source(p)] = 0;
	((int32_t *)p->input[FRONTIER])[bfs_source(p)] = 1;
	((int32_t *)p->input[VISITED])[bfs_source(p)] = 1;
}

struct args {
	const uint32_t *rows, *columns;
	int32_t *levels, *frontier, *found, *visited, *more;
	uint64_t nodes;
};

DENSE_BRANCH void find(const struct args *a, uint32_t u, int32_t level)
{
	nvw_atomic_store(&a->levels[u], level, NVW_RELAXED, NVW_SCOPE_AGENT);
	nvw_atomic_store(&a->found[u], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
}

DENSE_ITEMS(bfs_visit, a, v, a->nodes)
{
	if (!nvw_load(&a->frontier[v])) {
		return;
	}

	const int32_t next = nvw_load(&a->levels[v]) + 1;
	const uint32_t end = nvw_load_read_only(&a->rows[v + 1]);

	nvw_store(&a->frontier[v], 0);
	for (uint32_t i = nvw_load_read_only(&a->rows[v]); i < end; i++) {
		const uint32_t u = nvw_load_read_only(&a->columns[i]);

		if (!nvw_load(&a->visited[u])) {
			find(a, u, next);
		}
	}
}

DENSE_ITEMS(bfs_advance, a, v, a->nodes)
{
	if (nvw_load(&a->found[v])) {
		nvw_store(&a->frontier[v], 1);
		nvw_store(&a->visited[v], 1);
		nvw_store(&a->found[v], 0);
		dense_tell(a->more);
	}
}

static int bfs_run(struct dense_plan *p)
{
	const struct args args = {.rows = p->device[ROWS],
		.columns = p->device[COLUMNS],
		.levels = p->device[LEVELS],
		.frontier = p->device[FRONTIER],
		.found = p->device[FOUND],
		.visited = p->device[VISITED],
		.more = p->device[MORE],
		.nodes = p->graph.nodes};
	bool is_more = true;

	while (is_more) {
		NVW_TRY(dense_clear_flag(p, MORE));
		NVW_TRY(dense_launch(p, bfs_visit, &args, args.nodes));
		NVW_TRY(dense_launch(p, bfs_advance, &args, args.nodes));
		NVW_TRY(dense_get_flag(p, MORE, &is_more));
	}
	return 0;
}

/* With a queue: in place of the frontier's array, which is empty in the end. */
static void bfs_expect(struct dense_plan *p)
{
	const struct graph *const g = &p->graph;
	int32_t *const levels = p->expected[LEVELS], *const visited = p->expected[VISITED];
	int32_t *const queue = p->expected[FRONTIER];
	uint32_t head = 0, tail = 1;

	queue[0] = (int32_t)bfs_source(p);
	while (head < tail) {
		const uint32_t v = (uint32_t)queue[head];

		GRAPH_EACH(i, g, v) {
			const uint32_t u = g->column[i];

			if (!visited[u]) {
				visited[u] = 1;
				levels[u] = levels[v] + 1;
				queue[tail++] = (int32_t)u;
			}
		}
		queue[head++] = 0;
	}
	assert(tail <= g->nodes);
	queue[bfs_source(p)] = 0;
}

DENSE_WORKLOAD(bfs, "bfs", "breadth-first search of a graph, level by level");
