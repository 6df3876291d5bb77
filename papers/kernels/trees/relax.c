/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trees-bfs, trees-sssp, and their rivals list-bfs, list-sssp (hechtman14 5.6.4): distances from one node,
 * driven by the nodes whose distance has become less. Both relax the neighbours of such a node by atomic
 * minimum. As tasks, each neighbour that got nearer is a fork. With work lists, as Lonestar has them, it is
 * appended to the list that the next launch reads; the host reads its length.
 *
 * A node may be in an epoch, or on a list, several times. Distances end at those of the shortest paths in any
 * order.
 */
#include "trees.h"

enum { SOURCE };
enum { ROWS, COLUMNS, WEIGHTS, DISTANCES, LISTS, TAIL };
enum { WEIGHT_MAX = 100, FAR = INT32_MAX };

struct data {
	const uint32_t *rows, *columns;
	const int32_t *weights;
	int32_t *distances;
};

/* Relaxes the neighbours of v, and calls PUSH(u) for each that has got nearer. A node that has got nearer
 * since it was pushed is relaxed with its present distance. */
#define RELAX(d, v, PUSH)                                                                                   \
	do {                                                                                                \
		const int32_t from_ = nvw_atomic_load(&(d)->distances[v], NVW_RELAXED, NVW_SCOPE_AGENT);    \
                                                                                                            \
		DENSE_ARCS(i_, d, v) {                                                                      \
			const uint32_t u_ = nvw_load_read_only(&(d)->columns[i_]);                          \
			const int32_t to_ = from_ + nvw_load_read_only(&(d)->weights[i_]);                  \
                                                                                                            \
			if (to_ < nvw_atomic_min(&(d)->distances[u_], to_, NVW_RELAXED, NVW_SCOPE_AGENT)) { \
				PUSH(u_);                                                                   \
			}                                                                                   \
		}                                                                                           \
	} while (0)

/* ---- What all share ------------------------------------------------------------------------------- */

static uint32_t relax_source(const struct dense_plan *p)
{
	assert(p->graph.nodes > 0);
	return (uint32_t)((p->size[SOURCE] - 1) % p->graph.nodes);
}

static struct data data_of(const struct dense_plan *p)
{
	return (struct data){p->device[ROWS], p->device[COLUMNS], p->device[WEIGHTS], p->device[DISTANCES]};
}

static void relax_shape(struct dense_plan *p)
{
	dense_array_graph(p, ROWS);
	dense_read_only(p, WEIGHTS, DENSE_INT32, p->array[COLUMNS].count, "weights");
	dense_written(p, DISTANCES, DENSE_INT32, p->graph.nodes, "distances");
}

static void fill_distances(struct dense_plan *p)
{
	int32_t *const distances = p->input[DISTANCES];

	NVW_FOR(v, p->graph.nodes) {
		distances[v] = FAR;
	}
	distances[relax_source(p)] = 0;
}

static void fill_bfs(struct dense_plan *p)
{
	dense_fill_int(p, WEIGHTS, 1, 2);
	fill_distances(p);
}

static void fill_sssp(struct dense_plan *p)
{
	dense_fill_int(p, WEIGHTS, 1, WEIGHT_MAX + 1);
	fill_distances(p);
}

/* The Bellman-Ford algorithm. */
static void relax_expect(struct dense_plan *p)
{
	const struct graph *const g = &p->graph;
	const int32_t *const weights = p->expected[WEIGHTS];
	int32_t *const distances = p->expected[DISTANCES];
	bool changed = true;

	assert(p->array[WEIGHTS].count >= g->arcs);
	while (changed) {
		changed = false;
		NVW_FOR(v, g->nodes) {
			for (uint32_t i = g->row[v]; distances[v] != FAR && i < g->row[v + 1]; i++) {
				if (distances[v] + weights[i] < distances[g->column[i]]) {
					distances[g->column[i]] = distances[v] + weights[i];
					changed = true;
				}
			}
		}
	}
}

/* ---- Tasks ---------------------------------------------------------------------------------------- */

static void visit(struct nvw_task *t)
{
	const struct data *const d = nvw_task_data(t);
	const uint32_t v = nvw_task_word(t, 0);

#define FORK(u) nvw_fork(t, visit, u)
	RELAX(d, v, FORK);
#undef FORK
}

static const struct nvw_task_program program = {
	.name = "relax",
	.functions = (const struct nvw_task_function[]){{"visit", visit, false}, {NULL, NULL, false}},
	.words = 1,
};

static int run_tasks(struct dense_plan *p)
{
	const struct data data = data_of(p);

	return trees_run(p, &program, &data, visit, relax_source(p));
}

/* ---- Work lists ----------------------------------------------------------------------------------- */

struct list_args {
	struct data data;
	const uint32_t *in;
	uint32_t *out, *tail;
	uint32_t count, room;
};

DENSE_KERNEL(relax_list, const struct list_args, a)
{
	if (nvw_global_id() < a->count) {
		const uint32_t v = nvw_load(&a->in[nvw_global_id()]);

#define APPEND(u)                                                                              \
	do {                                                                                   \
		const uint32_t at_ = nvw_atomic_add(a->tail, 1, NVW_RELAXED, NVW_SCOPE_AGENT); \
                                                                                               \
		if (at_ < a->room) {                                                           \
			nvw_store(&a->out[at_], u);                                            \
		}                                                                              \
	} while (0)
		RELAX(&a->data, v, APPEND);
#undef APPEND
	}
}

static void shape_lists(struct dense_plan *p)
{
	relax_shape(p);
	dense_scratch(p, LISTS, DENSE_UINT32, 2 * (uint64_t)(p->graph.arcs + p->graph.nodes), "lists");
	dense_scratch(p, TAIL, DENSE_UINT32, 1, "tail");
}

static int run_lists(struct dense_plan *p)
{
	uint32_t *const lists = p->device[LISTS], first = relax_source(p);
	struct list_args a = {.data = data_of(p),
		.in = lists,
		.out = lists + p->array[LISTS].count / 2,
		.tail = p->device[TAIL],
		.count = 1,
		.room = (uint32_t)(p->array[LISTS].count / 2)};

	assert(p->array[LISTS].count % 2 == 0);
	NVW_TRY(dense_put(p, LISTS, 0, 1, &first));
	while (a.count > 0) {
		const uint32_t *const read = a.in, none = 0;

		NVW_TRY(dense_put(p, TAIL, 0, 1, &none));
		NVW_TRY(dense_launch(p, relax_list, &a, a.count));
		NVW_TRY(dense_get(p, TAIL, 0, 1, &a.count));
		NVW_FAIL_IF(a.count > a.room, NVW_E_FULL, "%s: the work list of %u nodes is full",
			p->kernel->name, a.room);
		a.in = a.out;
		a.out = (uint32_t *)read;
	}
	return 0;
}

/* ---- The four workloads --------------------------------------------------------------------------- */

#define SEARCH_OPTIONS                                                              \
	DENSE_GRAPH_OPTION("rmat:11:8"),                                            \
	{                                                                           \
		"source", NVW_OPTION_COUNT, "1", NULL,                              \
			"node from which distances count, from 1; modulo the nodes" \
	}

static const struct nvw_option task_options[] = {SEARCH_OPTIONS, TREES_OPTIONS_END},
			       list_options[] = {SEARCH_OPTIONS, DENSE_OPTIONS_END};

#define TASKS(WHAT, SUMMARY)                                                                              \
	TREES_DEFINE(trees_##WHAT, "trees-" #WHAT, "tasks: " SUMMARY, task_options, .shape = relax_shape, \
		.fill = fill_##WHAT, .run = run_tasks, .expect = relax_expect)
#define LISTS(WHAT, SUMMARY)                                                                          \
	DENSE_DEFINE(list_##WHAT, "list-" #WHAT, "work lists: " SUMMARY, list_options, dense_prepare, \
		.shape = shape_lists, .fill = fill_##WHAT, .run = run_lists, .expect = relax_expect)

TASKS(bfs, "distances in edges from a node");
TASKS(sssp, "lengths of the shortest paths from a node");
LISTS(bfs, "distances in edges from a node");
LISTS(sssp, "lengths of the shortest paths from a node");
