/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of a graph run. sssp, color and pagerank are an array of values, one per node, from which each
 * iteration computes the next array (Jacobi). No launch reads a value that another work-item writes in it, so
 * the values depend neither on the order of tasks nor on the work-group that executed them, and the host can
 * compute them exactly.
 */
#ifndef PAPERS_GRAPH_PLAN_H
#define PAPERS_GRAPH_PLAN_H

#include <assert.h>

#include <nvw/random.h>
#include <nvw/workload.h>

#include "common/bounds.h"
#include "graph.h"

enum graph_algorithm { GRAPH_SSSP, GRAPH_COLOR, GRAPH_PAGERANK };

/* How queues are synchronized, and whether tasks are stolen (alsop16 IV.B). */
struct graph_scenario {
	const char *name;
	bool steals;
	enum nvw_scope own, steal; /* of pops from the own queue; of steals from another */
	struct nvw_asked asked;
};

struct graph_plan {
	enum graph_algorithm algorithm;
	struct graph graph;
	const struct graph_scenario *scenario;
	uint64_t seed;           /* of the priorities of color */
	uint64_t queues;         /* also the number of work-groups */
	unsigned group_size;     /* work-items */
	uint64_t chunk;          /* nodes per task */
	uint64_t victims;        /* other queues that a thief tries before it gives up */
	bool steals_half;        /* a thief takes half of the remaining tasks instead of one */
	uint64_t max_iterations; /* 0: until done */
	uint64_t kernels;        /* launches per iteration: 1 or 2 */
	uint64_t epsilon;        /* pagerank: a rank that changes by no more has converged */
	uint32_t source;         /* sssp */

	/* State of the run, for verify() and report(). */
	uint64_t iterations, tasks; /* tasks that their launches should have executed */
	uint64_t popped, stolen, attempts;
	bool is_done;       /* the last iteration left no work */
	const void *result; /* device memory: uint32_t distances or colours, uint64_t ranks; one per node */
};

/* ---- Values ---------------------------------------------------------------------------------------- */

/* sssp: distances; a path has fewer than GRAPH_NODES_MAX edges, so no distance comes near this. */
#define GRAPH_FAR UINT32_MAX

enum { GRAPH_WEIGHT_MAX = 100 };

#define GRAPH_WEIGHT_FUNCTION "w(u,v) = 1 + mix64(min(u,v) << 32 | max(u,v)) % 100"

static inline uint32_t graph_weight(uint32_t u, uint32_t v)
{
	return 1 + (uint32_t)(nvw_mix64(u64_min(u, v) << 32 | u64_max(u, v)) % GRAPH_WEIGHT_MAX);
}

/* color: 0 means none yet. The neighbour with the larger priority goes first; with equal
 * priorities, the larger number. */
static inline uint32_t graph_priority(uint64_t seed, uint32_t v)
{
	return (uint32_t)nvw_mix64(nvw_mix64(seed) + v);
}

static inline bool graph_goes_first(uint32_t priority_u, uint32_t u, uint32_t priority_v, uint32_t v)
{
	return priority_u > priority_v || (priority_u == priority_v && u > v);
}

/*
 * pagerank: multiples of 2^-32, scaled so that the mean rank is 1; the sum of all is below 2^57, and 17 times
 * it fits. Integers, because a sum of floating-point numbers depends on its order. Damping is 17/20, rounded
 * down. The rank of isolated nodes is not passed on.
 */
#define GRAPH_RANK_ONE (UINT64_C(1) << 32)

static inline uint64_t graph_rank(uint64_t sum_of_shares)
{
	return 3 * GRAPH_RANK_ONE / 20 + 17 * sum_of_shares / 20;
}

/* The share of a node's rank that each of its neighbours gets. */
static inline uint64_t graph_share(uint64_t rank, uint32_t degree)
{
	return degree ? rank / degree : 0;
}

static inline uint64_t graph_distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* ---- Tasks ----------------------------------------------------------------------------------------- */

/* Queue q has nodes first(q) to first(q + 1) - 1, in tasks of chunk nodes. */
static inline uint64_t graph_first(uint64_t nodes, uint64_t queues, uint64_t q)
{
	assert(q <= queues);
	return q * nodes / queues;
}

static inline uint64_t graph_tasks(uint64_t nodes, uint64_t queues, uint64_t chunk, uint64_t q)
{
	const uint64_t block = graph_first(nodes, queues, q + 1) - graph_first(nodes, queues, q);

	assert(q < queues && chunk > 0);
	return u64_parts(block, chunk);
}

/* ---- Hooks ----------------------------------------------------------------------------------------- */

extern const struct nvw_option graph_sssp_options[], graph_color_options[], graph_pagerank_options[];

int graph_prepare_sssp(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan);
int graph_prepare_color(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan);
int graph_prepare_pagerank(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan);
void graph_dispose(void *plan);
int graph_run(void *plan, struct nvw_machine *machine);
int graph_verify(void *plan, struct nvw_machine *machine, struct nvw_findings *findings);
int graph_report(void *plan, struct nvw_machine *machine, struct nvw_description *description);

#endif
