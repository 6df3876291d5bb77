/* SPDX-License-Identifier: BSD-3-Clause */
/* The host side of a graph run: copying arrays to the device, then iterations of one or two launches. */
#include <inttypes.h>
#include <stdlib.h>

#include "kernel.h"

enum { LINE_BYTES = 64 };

struct run {
	struct graph_plan *plan;
	struct nvw_machine *machine;
	struct graph_args args;
	uint64_t *tails; /* tails of the queues, as advanced by the host */
};

/* ---- Arrays ---------------------------------------------------------------------------------------- */

/* Device memory for n elements of element bytes, initialised from the host's array if there is one. NULL if
 * *error is set, before or now. */
static void *to_device(struct run *r, const void *from, uint64_t n, uint64_t element, int *error)
{
	void *device;
	assert(element > 0);

	if (*error != 0) {
		return NULL;
	}
	device = nvw_alloc(r->machine, n * element + 1);
	if (!device) {
		*error = nvw_fail(NVW_E_MEMORY,
			"graph: the machine's DRAM (dram.size) is too small for %" PRIu64
			" nodes and %" PRIu64 " edges",
			(uint64_t)r->plan->graph.nodes, (uint64_t)r->plan->graph.arcs / 2);
	} else if (from && n != 0) {
		*error = nvw_write(r->machine, device, from, n * element);
	}
	return device;
}

/* The same for an array that make() fills; element is the size of its elements. */
static void *make_array(struct run *r, uint64_t n, uint64_t element,
	void (*make)(const struct graph_plan *p, void *array), int *error)
{
	void *array, *device;

	if (*error != 0) {
		return NULL;
	}
	array = calloc(n + 1, element);
	if (!array) {
		*error = nvw_fail(NVW_E_MEMORY, "graph: no memory for an array of %" PRIu64, n);
		return NULL;
	}
	make(r->plan, array);
	device = to_device(r, array, n, element, error);
	free(array);
	return device;
}

static void make_weights(const struct graph_plan *p, void *array)
{
	const struct graph *const g = &p->graph;
	uint32_t *const weights = array;

	NVW_FOR(v, g->nodes) {
		GRAPH_EACH(i, g, v) {
			weights[i] = graph_weight(v, g->column[i]);
		}
	}
}

static void make_distances(const struct graph_plan *p, void *array)
{
	uint32_t *const distances = array;

	NVW_FOR(v, p->graph.nodes) {
		distances[v] = v == p->source ? 0 : GRAPH_FAR;
	}
}

static void make_priorities(const struct graph_plan *p, void *array)
{
	uint32_t *const priorities = array;

	NVW_FOR(v, p->graph.nodes) {
		priorities[v] = graph_priority(p->seed, v);
	}
}

static void make_ranks(const struct graph_plan *p, void *array)
{
	uint64_t *const ranks = array;

	NVW_FOR(v, p->graph.nodes) {
		ranks[v] = GRAPH_RANK_ONE;
	}
}

static void make_shares(const struct graph_plan *p, void *array)
{
	uint64_t *const shares = array;

	NVW_FOR(v, p->graph.nodes) {
		shares[v] = graph_share(GRAPH_RANK_ONE, graph_degree(&p->graph, v));
	}
}

static void make_values(struct run *r, int *error)
{
	struct graph_args *const a = &r->args;
	const uint64_t nodes = r->plan->graph.nodes;

	switch (r->plan->algorithm) {
	case GRAPH_SSSP:
		a->weight = make_array(r, r->plan->graph.arcs, sizeof(*a->weight), make_weights, error);
		a->now = make_array(r, nodes, sizeof(uint32_t), make_distances, error);
		a->next = to_device(r, NULL, nodes, sizeof(uint32_t), error);
		break;
	case GRAPH_COLOR:
		a->priority = make_array(r, nodes, sizeof(*a->priority), make_priorities, error);
		a->now = to_device(r, NULL, nodes, sizeof(uint32_t), error);
		a->next = to_device(r, NULL, nodes, sizeof(uint32_t), error);
		break;
	case GRAPH_PAGERANK:
		a->rank = make_array(r, nodes, sizeof(*a->rank), make_ranks, error);
		a->shares = make_array(r, nodes, sizeof(*a->shares), make_shares, error);
		a->next_shares = to_device(r, NULL, nodes, sizeof(*a->next_shares), error);
		break;
	}
}

static int start_graph(struct run *r)
{
	const struct graph_plan *const p = r->plan;
	struct graph_args *const a = &r->args;
	int error = 0;

	assert(p->queues > 0 && p->chunk > 0 && p->victims < p->queues);
	*a = (struct graph_args){
		.nodes = p->graph.nodes,
		.queue_count = p->queues,
		.chunk = p->chunk,
		.reach = p->scenario->steals ? 1 + p->victims : 1,
		.left_stride = u64_parts(p->group_size, LINE_BYTES) * LINE_BYTES,
		.epsilon = p->epsilon,
		.steals_half = p->steals_half,
		.own = p->scenario->own,
		.steal = p->scenario->steal,
	};
	a->row = to_device(r, p->graph.row, (uint64_t)p->graph.nodes + 1, sizeof(*a->row), &error);
	a->column = to_device(r, p->graph.column, p->graph.arcs, sizeof(*a->column), &error);
	make_values(r, &error);
	a->queues = to_device(r, NULL, p->queues, sizeof(*a->queues), &error);
	a->left = to_device(r, NULL, p->queues, a->left_stride, &error);
	a->changed = to_device(r, NULL, 1, sizeof(*a->changed), &error);
	r->tails = calloc(p->queues, sizeof(*r->tails));
	if (error == 0 && !r->tails) {
		error = nvw_fail(NVW_E_MEMORY, "graph: no memory for %" PRIu64 " queues", p->queues);
	}
	return error;
}

/* ---- Iterations ------------------------------------------------------------------------------------ */

/* Makes all nodes tasks of the next iteration. */
static int push_tasks(struct run *r)
{
	struct graph_plan *const p = r->plan;

	NVW_FOR(q, p->queues) {
		const uint64_t tasks = graph_tasks(p->graph.nodes, p->queues, p->chunk, q);

		p->tasks += tasks;
		r->tails[q] += tasks;
		NVW_TRY(nvw_write(r->machine, &r->args.queues[q].tail, &r->tails[q], sizeof(r->tails[q])));
	}
	return 0;
}

static int add_counts(struct run *r)
{
	struct graph_plan *const p = r->plan;
	struct graph_counts counts;

	NVW_FOR(q, p->queues) {
		NVW_TRY(nvw_read(r->machine, &counts, &r->args.queues[q].counts, sizeof(counts)));
		p->popped += counts.popped;
		p->stolen += counts.stolen;
		p->attempts += counts.attempts;
	}
	return 0;
}

static int launch_tasks(struct run *r, const char *name, nvw_kernel kernel)
{
	const struct graph_plan *const p = r->plan;

	NVW_TRY(push_tasks(r));
	NVW_TRY(nvw_launch(r->machine, name, kernel, &r->args, p->queues * p->group_size, p->group_size));
	return add_counts(r);
}

/* With one launch, next becomes now; with two, the second has stored the values in now. */
static int launch_iteration(struct run *r)
{
	static const struct {
		const char *name, *gather_name, *apply_name;
		nvw_kernel kernel, gather, apply;
	} kernels[] = {
		[GRAPH_SSSP] = {"graph_sssp", "graph_sssp_gather", "graph_sssp_apply", graph_sssp,
			graph_sssp_gather, graph_sssp_apply},
		[GRAPH_COLOR] = {"graph_color", "graph_color_gather", "graph_color_apply", graph_color,
			graph_color_gather, graph_color_apply},
		[GRAPH_PAGERANK] = {"graph_pagerank", "graph_pagerank_gather", "graph_pagerank_apply",
			graph_pagerank, graph_pagerank_gather, graph_pagerank_apply},
	};
	const enum graph_algorithm algorithm = r->plan->algorithm;
	struct graph_args *const a = &r->args;
	void *const now = a->now;
	int error;

	assert(r->plan->kernels == 1 || r->plan->kernels == 2);
	if (r->plan->kernels == 2) {
		NVW_TRY(launch_tasks(r, kernels[algorithm].gather_name, kernels[algorithm].gather));
		return launch_tasks(r, kernels[algorithm].apply_name, kernels[algorithm].apply);
	}
	error = launch_tasks(r, kernels[algorithm].name, kernels[algorithm].kernel);
	a->now = a->next;
	a->next = now;
	return error;
}

static int run_iteration(struct run *r)
{
	struct graph_plan *const p = r->plan;
	uint64_t changed;

	assert(!p->is_done);
	r->args.iteration = ++p->iterations;
	NVW_TRY(launch_iteration(r));
	NVW_TRY(nvw_read(r->machine, &changed, r->args.changed, sizeof(changed)));
	p->is_done = changed != r->args.iteration;
	return 0;
}

int graph_run(void *plan, struct nvw_machine *machine)
{
	struct graph_plan *const p = plan;
	struct run r = {.plan = p, .machine = machine};
	int error = start_graph(&r);

	p->iterations = p->tasks = p->popped = p->stolen = p->attempts = 0;
	p->is_done = false;
	while (error == 0 && !p->is_done && (p->max_iterations == 0 || p->iterations < p->max_iterations)) {
		error = run_iteration(&r);
	}
	p->result = r.args.now;
	if (p->algorithm == GRAPH_PAGERANK) {
		p->result = r.args.rank;
	}
	free(r.tails);
	return error;
}
