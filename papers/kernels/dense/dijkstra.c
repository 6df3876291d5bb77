/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dijkstra: shortest paths between all pairs of nodes (hechtman14 Table 3.2, a microbenchmark of the author):
 * one work-item per source runs Dijkstra's algorithm on a matrix of weights. Neighbours among the work-items
 * have their distances side by side.
 *
 * Loads of several nodes are issued together and used afterwards: they are independent, and a memory system
 * that allows several loads under way per work-item can overlap them (3.4.3).
 */
#include "dense.h"

enum { NODES };
enum { WEIGHTS, DISTANCES, DONE }; /* from x to; node x source for the others */
enum {
	ISSUED = 8,
	WEIGHT_MAX = 100,
	FAR = 1 << 29
}; /* nodes whose loads are issued together; no way: twice that fits */

static const struct nvw_option options[] = {
	DENSE_SIZE("size", "80", "nodes"),
	DENSE_OPTIONS_END,
};

static void dijkstra_shape(struct dense_plan *p)
{
	const uint64_t pairs = p->size[NODES] * p->size[NODES];

	dense_read_only(p, WEIGHTS, DENSE_INT32, pairs, "weights");
	dense_written(p, DISTANCES, DENSE_INT32, pairs, "distances", "done");
}

static void dijkstra_fill(struct dense_plan *p)
{
	dense_fill_edges(p, WEIGHTS, WEIGHT_MAX, FAR);
	dense_fill_far(p->input[DISTANCES], p->size[NODES], FAR);
}

struct args {
	const int32_t *weights;
	int32_t *distances, *done;
	uint64_t nodes;
};

/* The node that is nearest to the source and not done: the first of several. */
static uint64_t nearest(const struct args *a, const int32_t *distances, const int32_t *done)
{
	const uint64_t n = a->nodes;
	uint64_t nearest = n;
	int32_t least = FAR;

	for (uint64_t first = 0; first < n; first += ISSUED) {
		const uint64_t count = u64_min(n - first, ISSUED);
		struct nvw_issued distance[ISSUED], is_done[ISSUED];

		NVW_FOR(i, count) {
			distance[i] = nvw_load_issue(&distances[(first + i) * n]);
			is_done[i] = nvw_load_issue(&done[(first + i) * n]);
		}
		NVW_FOR(i, count) {
			const int32_t here = nvw_load_use(distance[i], int32_t);

			if (!nvw_load_use(is_done[i], int32_t) && (nearest == n || here < least)) {
				nearest = first + i;
				least = here;
			}
		}
	}
	return nearest;
}

DENSE_BRANCH void shorten(int32_t *distance, int32_t value)
{
	nvw_store(distance, value);
}

/* Ways over node u, which is so far away. */
static void relax(const struct args *a, int32_t *distances, uint64_t u, int32_t away)
{
	const uint64_t n = a->nodes;

	for (uint64_t first = 0; first < n; first += ISSUED) {
		const uint64_t count = u64_min(n - first, ISSUED);
		struct nvw_issued distance[ISSUED], weight[ISSUED];

		NVW_FOR(i, count) {
			distance[i] = nvw_load_issue(&distances[(first + i) * n]);
			weight[i] = nvw_load_issue(&a->weights[u * n + first + i]);
		}
		NVW_FOR(i, count) {
			const int32_t over = away + nvw_load_use(weight[i], int32_t);

			if (over < nvw_load_use(distance[i], int32_t)) {
				shorten(&distances[(first + i) * n], over);
			}
		}
	}
}

DENSE_ITEMS(dijkstra_source, a, source, a->nodes)
{
	NVW_FOR(step, a->nodes) {
		const uint64_t u = nearest(a, a->distances + source, a->done + source);

		nvw_store(&a->done[u * a->nodes + source], 1);
		relax(a, a->distances + source, u, nvw_load(&a->distances[u * a->nodes + source]));
	}
}

static int dijkstra_run(struct dense_plan *p)
{
	const struct args args = {.weights = p->device[WEIGHTS],
		.distances = p->device[DISTANCES],
		.done = p->device[DONE],
		.nodes = p->size[NODES]};

	return dense_launch(p, dijkstra_source, &args, args.nodes);
}

/* Another algorithm, Floyd and Warshall's: distances are unique, and in the end all nodes are done. */
static void dijkstra_expect(struct dense_plan *p)
{
	const uint64_t n = p->size[NODES];
	const int32_t *const weights = p->expected[WEIGHTS];
	int32_t *const distances = p->expected[DISTANCES];

	assert(p->array[DONE].count == n * n);
	NVW_FOR(i, n * n) {
		const uint64_t from = i % n, to = i / n;

		distances[i] = from == to ? 0 : weights[from * n + to];
		((int32_t *)p->expected[DONE])[i] = 1;
	}
	dense_shorten(distances, n);
}

DENSE_WORKLOAD(dijkstra, "dijkstra", "shortest paths between all pairs of nodes by Dijkstra's algorithm",
	.most = {[NODES] = 2048});
