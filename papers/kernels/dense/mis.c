/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mis: a maximal independent set of a graph as in Pannotia (Luby's algorithm; stc 6). In each round a node
 * joins the set if it goes before all its undecided neighbours; these leave. Three launches per round: find
 * the first nodes, let them join, let their neighbours leave; the last one informs the host whether some node
 * is still undecided.
 *
 * Several nodes may exclude the same neighbour: all store the same value, by relaxed atomics (the original by
 * racing plain stores). Since a node's priority does not change from round to round, the set is the one of
 * the greedy algorithm by priority.
 */
#include "dense.h"

enum { ROWS, COLUMNS, PRIORITIES, FIRST, SENT_AWAY, STATES, MORE };
enum { UNDECIDED, INSIDE, OUTSIDE };

static const struct nvw_option options[] = {
	DENSE_GRAPH_OPTION("rmat:12:8"),
	DENSE_OPTIONS_END,
};

static void mis_shape(struct dense_plan *p)
{
	dense_array_graph(p, ROWS);
	dense_read_only(p, PRIORITIES, DENSE_INT32, p->graph.nodes, "priorities");
	dense_written(p, FIRST, DENSE_INT32, p->graph.nodes, "first", "sent away", "states");
	dense_written(p, MORE, DENSE_INT32, 1, "more");
}

static void mis_fill(struct dense_plan *p)
{
	dense_fill_int(p, PRIORITIES, 0, INT32_MAX);
}

/* The lower number wins; of equal ones the node with the lower number. */
static inline bool goes_before(int32_t priority_u, uint64_t u, int32_t priority_v, uint64_t v)
{
	return priority_u < priority_v || (priority_u == priority_v && u < v);
}

struct args {
	const uint32_t *rows, *columns;
	const int32_t *priorities;
	int32_t *first, *sent_away, *states, *more;
	uint64_t nodes;
};

DENSE_BRANCH bool goes_before_undecided(const struct args *a, int32_t priority, uint64_t v, uint32_t u)
{
	return goes_before(priority, v, nvw_load_read_only(&a->priorities[u]), u);
}

DENSE_ITEMS(mis_compare, a, v, a->nodes)
{
	bool is_first = true;

	if (nvw_load(&a->states[v]) != UNDECIDED) {
		return;
	}

	const int32_t priority = nvw_load_read_only(&a->priorities[v]);
	const uint32_t end = nvw_load_read_only(&a->rows[v + 1]);

	for (uint32_t i = nvw_load_read_only(&a->rows[v]); is_first && i < end; i++) {
		const uint32_t u = nvw_load_read_only(&a->columns[i]);

		is_first = nvw_load(&a->states[u]) != UNDECIDED || goes_before_undecided(a, priority, v, u);
	}
	nvw_store(&a->first[v], is_first);
}

DENSE_ITEMS(mis_join, a, v, a->nodes)
{
	if (nvw_load(&a->states[v]) != UNDECIDED || !nvw_load(&a->first[v])) {
		return;
	}

	const uint32_t end = nvw_load_read_only(&a->rows[v + 1]);

	nvw_store(&a->states[v], INSIDE);
	for (uint32_t i = nvw_load_read_only(&a->rows[v]); i < end; i++) {
		const uint32_t u = nvw_load_read_only(&a->columns[i]);

		nvw_atomic_store(&a->sent_away[u], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	}
}

DENSE_ITEMS(mis_leave, a, v, a->nodes)
{
	if (nvw_load(&a->states[v]) != UNDECIDED) {
		return;
	}
	if (nvw_load(&a->sent_away[v])) {
		nvw_store(&a->states[v], OUTSIDE);
	} else {
		dense_tell(a->more);
	}
}

static int mis_run(struct dense_plan *p)
{
	const struct args args = {.rows = p->device[ROWS],
		.columns = p->device[COLUMNS],
		.priorities = p->device[PRIORITIES],
		.first = p->device[FIRST],
		.sent_away = p->device[SENT_AWAY],
		.states = p->device[STATES],
		.more = p->device[MORE],
		.nodes = p->graph.nodes};
	bool is_more = true;

	while (is_more) {
		NVW_TRY(dense_clear_flag(p, MORE));
		NVW_TRY(dense_launch(p, mis_compare, &args, args.nodes));
		NVW_TRY(dense_launch(p, mis_join, &args, args.nodes));
		NVW_TRY(dense_launch(p, mis_leave, &args, args.nodes));
		NVW_TRY(dense_get_flag(p, MORE, &is_more));
	}
	return 0;
}

/* ---- The sequential version: the greedy algorithm --------------------------------------------------- */

/* A node is outside if a neighbour that goes before it is inside; inside, if all of those are outside; else
 * it has to wait. */
static int32_t decide(const struct dense_plan *p, uint32_t v)
{
	const struct graph *const g = &p->graph;
	const int32_t *const priorities = p->expected[PRIORITIES];
	const int32_t *const states = p->expected[STATES];
	bool is_waiting = false;

	assert(states[v] == UNDECIDED);
	GRAPH_EACH(i, g, v) {
		const uint32_t u = g->column[i];

		if (goes_before(priorities[u], u, priorities[v], v)) {
			if (states[u] == INSIDE) {
				return OUTSIDE;
			}
			is_waiting |= states[u] == UNDECIDED;
		}
	}
	return is_waiting ? UNDECIDED : INSIDE;
}

static void mis_expect(struct dense_plan *p)
{
	int32_t *const states = p->expected[STATES];
	bool is_more = true;

	assert(p->array[STATES].count == p->graph.nodes);
	while (is_more) {
		is_more = false;
		NVW_FOR(v, p->graph.nodes) {
			if (states[v] == UNDECIDED) {
				states[v] = decide(p, v);
			}
			is_more |= states[v] == UNDECIDED;
		}
	}
	NVW_FOR(v, p->graph.nodes) {
		((int32_t *)p->expected[FIRST])[v] = states[v] == INSIDE;
		((int32_t *)p->expected[SENT_AWAY])[v] = states[v] == OUTSIDE;
	}
}

DENSE_WORKLOAD(mis, "mis", "a maximal independent set of a graph");
