/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fw: shortest paths between all pairs of nodes as in Pannotia (Floyd and Warshall's algorithm; stc 6): a
 * launch per node k, in which every pair tries the way over k.
 *
 * In launch k all work-items read row k and column k of the matrix, and no way over k shortens those: the
 * launch does not write what other work-items read.
 */
#include "dense.h"

enum { NODES };
enum { DISTANCES };
enum { WEIGHT_MAX = 100, FAR = 1 << 29 }; /* no way: twice that fits */

static const struct nvw_option options[] = {
	DENSE_SIZE("size", "80", "nodes"),
	DENSE_OPTIONS_END,
};

static void fw_shape(struct dense_plan *p)
{
	dense_written(p, DISTANCES, DENSE_INT32, p->size[NODES] * p->size[NODES], "distances");
}

static void fw_fill(struct dense_plan *p)
{
	int32_t *const distances = p->input[DISTANCES];

	dense_fill_edges(p, DISTANCES, WEIGHT_MAX, FAR);
	NVW_FOR(i, p->size[NODES]) {
		distances[i * p->size[NODES] + i] = 0;
	}
}

struct args {
	int32_t *distances;
	uint64_t nodes, over;
};

DENSE_ITEMS(fw_node, a, id, a->nodes * a->nodes)
{
	const uint64_t from = id / a->nodes, to = id % a->nodes;
	const int32_t there = nvw_load(&a->distances[from * a->nodes + a->over]);
	const int32_t over = there + nvw_load(&a->distances[a->over * a->nodes + to]);

	if (over < nvw_load(&a->distances[id])) {
		nvw_store(&a->distances[id], over);
	}
}

static int fw_run(struct dense_plan *p)
{
	struct args args = {.distances = p->device[DISTANCES], .nodes = p->size[NODES]};

	for (args.over = 0; args.over < args.nodes; args.over++) {
		NVW_TRY(dense_launch(p, fw_node, &args, args.nodes * args.nodes));
	}
	return 0;
}

static void fw_expect(struct dense_plan *p)
{
	dense_shorten(p->expected[DISTANCES], p->size[NODES]);
}

DENSE_WORKLOAD(fw, "fw", "shortest paths between all pairs of nodes by Floyd and Warshall's algorithm",
	.most = {[NODES] = 2048});
