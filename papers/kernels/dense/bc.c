/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bc: betweenness centrality as in Pannotia (Brandes's algorithm; stc 6). From each source the launches go
 * forwards, level by level: they find the nodes of the next level and count the shortest paths to them; then
 * backwards: each node collects from the next level the part of the paths that lead through it.
 *
 * Forwards several nodes may find one node. The first one sets its level by a compare-exchange, all add their
 * paths; all set the same level, and additions of integers commute (modulo 2^32). Backwards a node is written
 * by its own work-item.
 */
#include "dense.h"

enum { SOURCES };
enum { ROWS, COLUMNS, LEVELS, PATHS, SHARES, CENTRALITY, MORE };

static const struct nvw_option options[] = {
	DENSE_GRAPH_OPTION("rmat:10:8"),
	DENSE_SIZE("sources", "4", "nodes that paths begin at: the first ones, at most all"),
	DENSE_OPTIONS_END,
};

static void bc_shape(struct dense_plan *p)
{
	const uint64_t nodes = p->graph.nodes;

	dense_array_graph(p, ROWS);
	dense_written(p, LEVELS, DENSE_INT32, nodes, "levels"); /* -1: not reached */
	dense_written(p, PATHS, DENSE_UINT32, nodes, "paths");
	dense_written(
		p, SHARES, DENSE_DOUBLE, nodes, "shares", "centrality"); /* shares: Brandes's dependencies */
	dense_written(p, MORE, DENSE_INT32, 1, "more");
}

static void bc_fill(struct dense_plan *p)
{
}

static uint64_t sources(const struct dense_plan *p)
{
	return u64_min(p->size[SOURCES], p->graph.nodes);
}

struct args {
	const uint32_t *rows, *columns;
	int32_t *levels, *more;
	uint32_t *paths;
	double *shares, *centrality;
	uint64_t nodes, source;
	int32_t level;
};

/* ---- The GPU --------------------------------------------------------------------------------------- */

DENSE_ITEMS(bc_clear, a, v, a->nodes)
{
	nvw_store(&a->levels[v], v == a->source ? 0 : -1);
	nvw_store(&a->paths[v], v == a->source);
	nvw_store(&a->shares[v], 0);
}

/* Node u is of the next level, as known before or found now. */
DENSE_BRANCH void add_paths(const struct args *a, uint32_t u, uint32_t paths, bool is_new)
{
	(void)nvw_atomic_add(&a->paths[u], paths, NVW_RELAXED, NVW_SCOPE_AGENT);
	if (is_new) {
		dense_tell(a->more);
	}
}

DENSE_ITEMS(bc_forwards, a, v, a->nodes)
{
	if (nvw_atomic_load(&a->levels[v], NVW_RELAXED, NVW_SCOPE_AGENT) != a->level) {
		return;
	}

	const uint32_t paths = nvw_load(&a->paths[v]);

	DENSE_ARCS(i, a, v) {
		const uint32_t u = nvw_load_read_only(&a->columns[i]);
		const int32_t level = nvw_atomic_compare_exchange(
			&a->levels[u], -1, a->level + 1, NVW_RELAXED, NVW_SCOPE_AGENT);

		if (level == -1 || level == a->level + 1) {
			add_paths(a, u, paths, level == -1);
		}
	}
}

DENSE_BRANCH double share_of(const struct args *a, uint32_t u, double paths)
{
	return paths / nvw_load(&a->paths[u]) * (1 + nvw_load(&a->shares[u]));
}

DENSE_ITEMS(bc_backwards, a, v, a->nodes)
{
	double share = 0;

	if (nvw_load(&a->levels[v]) != a->level) {
		return;
	}

	const double paths = nvw_load(&a->paths[v]);

	DENSE_ARCS(i, a, v) {
		const uint32_t u = nvw_load_read_only(&a->columns[i]);

		if (nvw_load(&a->levels[u]) == a->level + 1) {
			share += share_of(a, u, paths);
		}
	}
	nvw_store(&a->shares[v], share);
	nvw_store(&a->centrality[v], nvw_load(&a->centrality[v]) + share);
}

/* Level 0 is the source, whose paths do not lead through it. */
static int run_source(struct dense_plan *p, struct args *args)
{
	bool is_more = true;

	assert(args->source < args->nodes);
	NVW_TRY(dense_launch(p, bc_clear, args, args->nodes));
	for (args->level = 0; is_more; args->level++) {
		NVW_TRY(dense_clear_flag(p, MORE));
		NVW_TRY(dense_launch(p, bc_forwards, args, args->nodes));
		NVW_TRY(dense_get_flag(p, MORE, &is_more));
	}
	for (args->level--; args->level > 0; args->level--) {
		NVW_TRY(dense_launch(p, bc_backwards, args, args->nodes));
	}
	return 0;
}

static int bc_run(struct dense_plan *p)
{
	struct args args = {.rows = p->device[ROWS],
		.columns = p->device[COLUMNS],
		.levels = p->device[LEVELS],
		.more = p->device[MORE],
		.paths = p->device[PATHS],
		.shares = p->device[SHARES],
		.centrality = p->device[CENTRALITY],
		.nodes = p->graph.nodes};

	for (args.source = 0; args.source < sources(p); args.source++) {
		NVW_TRY(run_source(p, &args));
	}
	return 0;
}

/* ---- The sequential version ------------------------------------------------------------------------ */

/* Counts paths in the order of a queue, which has room for all nodes; returns its end. */
static uint32_t expect_forwards(struct dense_plan *p, uint32_t source, uint32_t *queue)
{
	const struct graph *const g = &p->graph;
	int32_t *const levels = p->expected[LEVELS];
	uint32_t *const paths = p->expected[PATHS], tail = 1;

	queue[0] = source;
	NVW_FOR(head, tail) {
		const uint32_t v = queue[head];

		GRAPH_EACH(i, g, v) {
			const uint32_t u = g->column[i];

			if (levels[u] == -1) {
				levels[u] = levels[v] + 1;
				queue[tail++] = u;
			}
			if (levels[u] == levels[v] + 1) {
				paths[u] += paths[v];
			}
		}
	}
	assert(tail <= g->nodes);
	return tail;
}

static void expect_backwards(struct dense_plan *p, const uint32_t *queue, uint32_t end)
{
	const struct graph *const g = &p->graph;
	const int32_t *const levels = p->expected[LEVELS];
	const uint32_t *const paths = p->expected[PATHS];
	double *const shares = p->expected[SHARES];

	assert(end > 0 && end <= g->nodes);
	while (--end > 0) {
		const uint32_t v = queue[end];

		GRAPH_EACH(i, g, v) {
			const uint32_t u = g->column[i];

			if (levels[u] == levels[v] + 1) {
				shares[v] += (double)paths[v] / paths[u] * (1 + shares[u]);
			}
		}
		((double *)p->expected[CENTRALITY])[v] += shares[v];
	}
}

/* The queue is in the place of the rows, which it never outgrows, and which are as before afterwards. */
static void bc_expect(struct dense_plan *p)
{
	uint32_t *const queue = p->expected[ROWS];

	assert(p->array[ROWS].count > p->graph.nodes);
	NVW_FOR(source, sources(p)) {
		NVW_FOR(v, p->graph.nodes) {
			((int32_t *)p->expected[LEVELS])[v] = v == source ? 0 : -1;
			((uint32_t *)p->expected[PATHS])[v] = v == source;
			((double *)p->expected[SHARES])[v] = 0;
		}
		expect_backwards(p, queue, expect_forwards(p, source, queue));
	}
	for (uint32_t v = 0; v <= p->graph.nodes; v++) {
		queue[v] = p->graph.row[v];
	}
}

DENSE_WORKLOAD(bc, "bc", "betweenness centrality of a graph's nodes");
