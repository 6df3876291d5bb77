/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * apsp: shortest paths between all pairs of nodes, as hechtman14 4.4.2 describes it: from every node a search
 * for the shortest paths of a single source, until all have converged. Loads of distances are load-acquires
 * and stores are store-releases, so that a work-item sees what others have found in the same launch; the host
 * launches until nobody finds anything shorter. The thesis says no more; here work-item (s, v) looks at the
 * neighbours of v a few times per launch.
 *
 * A distance is written by only one work-item, never grows, and is the length of some path. So the launches
 * end with the lengths of the shortest paths, whatever the schedule. The number of launches depends on the
 * schedule and on the protocol.
 */
#include "dense.h"

enum { SWEEPS };
enum { ROWS, COLUMNS, WEIGHTS, DISTANCES, MORE };
enum { NODES_MAX = 4096, WEIGHT_MAX = 100, FAR = INT32_MAX };

static const struct nvw_option options[] = {
	DENSE_GRAPH_OPTION("road:128"),
	DENSE_SIZE("sweeps", "4", "times that a work-item looks at its neighbours in a launch"),
	DENSE_OPTIONS_END,
};

static void apsp_shape(struct dense_plan *p)
{
	const uint64_t nodes = p->graph.nodes;

	dense_array_graph(p, ROWS);
	dense_read_only(p, WEIGHTS, DENSE_INT32, p->array[COLUMNS].count, "weights");
	dense_written(p, DISTANCES, DENSE_INT32, nodes * nodes, "distances"); /* source x node */
	dense_written(p, MORE, DENSE_INT32, 1, "more");
}

static void apsp_fill(struct dense_plan *p)
{
	assert(p->array[DISTANCES].count == (uint64_t)p->graph.nodes * p->graph.nodes);
	dense_fill_int(p, WEIGHTS, 1, WEIGHT_MAX + 1);
	dense_fill_far(p->input[DISTANCES], p->graph.nodes, FAR);
}

/* The distance over an edge from a node that is so far away. */
static inline int32_t over(int32_t distance, int32_t weight)
{
	return distance == FAR ? FAR : distance + weight;
}

struct args {
	const uint32_t *rows, *columns;
	const int32_t *weights;
	int32_t *distances, *more;
	uint64_t nodes, sweeps;
};

DENSE_BRANCH void shorten(int32_t *distance, int32_t value)
{
	nvw_atomic_store(distance, value, NVW_RELEASE, NVW_SCOPE_AGENT);
}

DENSE_ITEMS(apsp_relax, a, id, a->nodes * a->nodes)
{
	const uint64_t source = id / a->nodes, v = id % a->nodes;
	int32_t *const distances = a->distances + source * a->nodes;
	const uint32_t first = nvw_load_read_only(&a->rows[v]), end = nvw_load_read_only(&a->rows[v + 1]);
	const int32_t before = nvw_load(&distances[v]);
	int32_t distance = before;

	NVW_FOR(sweep, a->sweeps) {
		int32_t least = distance;

		for (uint32_t i = first; i < end; i++) {
			const uint32_t u = nvw_load_read_only(&a->columns[i]);
			const int32_t there = nvw_atomic_load(&distances[u], NVW_ACQUIRE, NVW_SCOPE_AGENT);
			const int32_t here = over(there, nvw_load_read_only(&a->weights[i]));

			if (here < least) {
				least = here;
			}
		}
		if (least < distance) {
			shorten(&distances[v], least);
			distance = least;
		}
	}
	if (distance < before) {
		dense_tell(a->more);
	}
}

static int apsp_run(struct dense_plan *p)
{
	const struct args args = {.rows = p->device[ROWS],
		.columns = p->device[COLUMNS],
		.weights = p->device[WEIGHTS],
		.distances = p->device[DISTANCES],
		.more = p->device[MORE],
		.nodes = p->graph.nodes,
		.sweeps = p->size[SWEEPS]};
	bool is_more = true;

	while (is_more) {
		NVW_TRY(dense_clear_flag(p, MORE));
		NVW_TRY(dense_launch(p, apsp_relax, &args, args.nodes * args.nodes));
		NVW_TRY(dense_get_flag(p, MORE, &is_more));
	}
	return 0;
}

/* A node tries the ways over its neighbours, for one source; whether its distance has fallen. */
static bool relax(const struct graph *g, const int32_t *weights, int32_t *distances, uint32_t v)
{
	const int32_t before = distances[v];

	assert(v < g->nodes);
	GRAPH_EACH(i, g, v) {
		const int32_t here = over(distances[g->column[i]], weights[i]);

		if (here < distances[v]) {
			distances[v] = here;
		}
	}
	return distances[v] < before;
}

static bool relax_all(const struct graph *g, const int32_t *weights, int32_t *distances)
{
	bool is_shorter = false;

	NVW_FOR(v, g->nodes) {
		is_shorter |= relax(g, weights, distances, v);
	}
	return is_shorter;
}

static void apsp_expect(struct dense_plan *p)
{
	int32_t *const distances = p->expected[DISTANCES];

	NVW_FOR(s, p->graph.nodes) {
		while (relax_all(&p->graph, p->expected[WEIGHTS], distances + s * p->graph.nodes)) {
		}
	}
}

DENSE_WORKLOAD(apsp, "apsp", "shortest paths between all pairs of nodes by load-acquire and store-release",
	.nodes_most = NODES_MAX);
