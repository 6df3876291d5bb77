/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The check of a graph run: every task was taken once, and every value is exactly what the host computes by
 * the same iterations, sequentially. The final result is checked independently where possible: distances by
 * Dijkstra's algorithm, colours by comparing the ends of each edge.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "plan.h"

enum { SHOWN = 4 };

/* Arrays of one value per node, wide enough for all algorithms. */
struct reference {
	const struct graph_plan *plan;
	uint64_t iteration;
	uint64_t *now, *next; /* distances, colours, shares */
	uint64_t *rank;
};

/* ---- The same iterations --------------------------------------------------------------------------- */

static uint64_t initial(const struct graph_plan *p, uint32_t v)
{
	switch (p->algorithm) {
	case GRAPH_SSSP:
		return v == p->source ? 0 : GRAPH_FAR;
	case GRAPH_PAGERANK:
		return graph_share(GRAPH_RANK_ONE, graph_degree(&p->graph, v));
	default:
		return 0;
	}
}

static bool relax(struct reference *r, uint32_t v)
{
	const struct graph *const g = &r->plan->graph;
	uint64_t best = r->now[v];

	assert(v < g->nodes);
	GRAPH_EACH(i, g, v) {
		const uint64_t before = r->now[g->column[i]], over_u = before + graph_weight(v, g->column[i]);

		if (before != GRAPH_FAR && over_u < best) {
			best = over_u;
		}
	}
	r->next[v] = best;
	return best != r->now[v];
}

static bool color(struct reference *r, uint32_t v)
{
	const struct graph *const g = &r->plan->graph;
	const uint64_t seed = r->plan->seed;
	bool is_first = true;

	assert(v < g->nodes);
	for (uint32_t i = g->row[v]; i < g->row[v + 1] && is_first; i++) {
		const uint32_t u = g->column[i];

		is_first = r->now[u] != 0 ||
			   !graph_goes_first(graph_priority(seed, u), u, graph_priority(seed, v), v);
	}
	r->next[v] = r->now[v] == 0 && is_first ? r->iteration : r->now[v];
	return r->next[v] == 0;
}

static bool rank(struct reference *r, uint32_t v)
{
	const struct graph *const g = &r->plan->graph;
	const uint64_t was = r->rank[v];
	uint64_t sum = 0;

	assert(v < g->nodes);
	GRAPH_EACH(i, g, v) {
		sum += r->now[g->column[i]];
	}
	r->rank[v] = graph_rank(sum);
	r->next[v] = graph_share(r->rank[v], graph_degree(g, v));
	return graph_distance(r->rank[v], was) > r->plan->epsilon;
}

/* True if the last iteration left no work. */
static bool compute(struct reference *r)
{
	static bool (*const visits[])(struct reference * r, uint32_t v) = {
		[GRAPH_SSSP] = relax,
		[GRAPH_COLOR] = color,
		[GRAPH_PAGERANK] = rank,
	};
	const struct graph_plan *const p = r->plan;
	bool is_left = true;

	assert(r->iteration == 0);
	NVW_FOR(v, p->graph.nodes) {
		r->now[v] = initial(p, v);
		r->rank[v] = GRAPH_RANK_ONE;
	}
	while (is_left && (p->max_iterations == 0 || r->iteration < p->max_iterations)) {
		uint64_t *const now = r->now;

		is_left = false;
		r->iteration++;
		NVW_FOR(v, p->graph.nodes) {
			is_left |= visits[p->algorithm](r, v);
		}
		r->now = r->next;
		r->next = now;
	}
	return !is_left;
}

/* ---- The independent check ----------------------------------------------------------------------------- */

/* A binary heap of distance << 32 | node; each arc adds at most one entry. */
struct heap {
	uint64_t *entries, count;
};

static void heap_push(struct heap *h, uint64_t entry)
{
	uint64_t i = h->count++;

	for (; i > 0 && h->entries[(i - 1) / 2] > entry; i = (i - 1) / 2) {
		h->entries[i] = h->entries[(i - 1) / 2];
	}
	h->entries[i] = entry;
}

static uint64_t heap_pop(struct heap *h)
{
	assert(h->count > 0);

	const uint64_t least = h->entries[0], last = h->entries[--h->count];
	uint64_t i = 0;

	for (uint64_t child; (child = 2 * i + 1) < h->count; i = child) {
		child += child + 1 < h->count && h->entries[child + 1] < h->entries[child];
		if (h->entries[child] >= last) {
			break;
		}
		h->entries[i] = h->entries[child];
	}
	h->entries[i] = last;
	return least;
}

static void dijkstra(const struct graph_plan *p, struct heap *h, uint64_t *distance)
{
	const struct graph *const g = &p->graph;

	assert(p->source < g->nodes);
	NVW_FOR(v, g->nodes) {
		distance[v] = GRAPH_FAR;
	}
	distance[p->source] = 0;
	heap_push(h, p->source);
	while (h->count) {
		const uint64_t entry = heap_pop(h), v = entry & UINT32_MAX;

		for (uint32_t i = g->row[v]; i < g->row[v + 1] && entry >> 32 == distance[v]; i++) {
			const uint32_t u = g->column[i];
			const uint64_t over_v = distance[v] + graph_weight((uint32_t)v, u);

			if (over_v < distance[u]) {
				distance[u] = over_v;
				heap_push(h, over_v << 32 | u);
			}
		}
	}
}

/* ---- Checks -------------------------------------------------------------------------------------------- */

static int compare_values(const struct graph_plan *p, const char *what, const char *computed,
	const uint64_t *found, const uint64_t *expected, struct nvw_findings *findings)
{
	uint64_t wrong = 0;

	NVW_FOR(v, p->graph.nodes) {
		if (found[v] != expected[v] && wrong++ < SHOWN) {
			(void)nvw_violation(findings, 0,
				"%s of node %" PRIu32 ": expected %" PRIu64 ", as %s says, found %" PRIu64,
				what, v, expected[v], computed, found[v]);
		}
	}
	if (wrong == 0) {
		return 0;
	}
	return nvw_violation(
		findings, 0, "%s of %" PRIu64 " of %" PRIu32 " nodes are wrong", what, wrong, p->graph.nodes);
}

static int judge_tasks(const struct graph_plan *p, struct nvw_findings *findings)
{
	if (p->popped + p->stolen == p->tasks) {
		return 0;
	}
	return nvw_violation(findings, 0,
		"tasks: expected each of %" PRIu64 " to be taken once, found %" PRIu64 " popped and %" PRIu64
		" stolen",
		p->tasks, p->popped, p->stolen);
}

static const char *done_text(bool is_done)
{
	return is_done ? "done" : "not done";
}

static int judge_iterations(const struct reference *r, bool is_done, struct nvw_findings *findings)
{
	const struct graph_plan *const p = r->plan;

	if (p->iterations == r->iteration && p->is_done == is_done) {
		return 0;
	}
	return nvw_violation(findings, 0, "iterations: expected %" PRIu64 " (%s), found %" PRIu64 " (%s)",
		r->iteration, done_text(is_done), p->iterations, done_text(p->is_done));
}

static int judge_distances(
	const struct graph_plan *p, const uint64_t *found, uint64_t *scratch, struct nvw_findings *findings)
{
	struct heap h = {malloc(((uint64_t)p->graph.arcs + 1) * sizeof(*h.entries)), 0};
	int error;

	NVW_ALLOCATED(h.entries, "graph: no memory to compute distances");
	dijkstra(p, &h, scratch);
	error = compare_values(p, "distance", "Dijkstra's algorithm", found, scratch, findings);
	free(h.entries);
	return error;
}

static int judge_colors(const struct graph_plan *p, const uint64_t *found, struct nvw_findings *findings)
{
	const struct graph *const g = &p->graph;

	NVW_FOR(v, g->nodes) {
		GRAPH_EACH(i, g, v) {
			if (found[v] == found[g->column[i]]) {
				return nvw_violation(findings, 0,
					"nodes %" PRIu32 " and %" PRIu32
					" are neighbours and both have colour %" PRIu64,
					v, g->column[i], found[v]);
			}
		}
	}
	return 0;
}

/* The device's values, widened. */
static int fetch(const struct graph_plan *p, struct nvw_machine *machine, uint64_t *values)
{
	const uint64_t nodes = p->graph.nodes;

	if (p->algorithm == GRAPH_PAGERANK) {
		return nvw_read(machine, values, p->result, nodes * sizeof(*values));
	}

	uint32_t *const narrow = malloc(nodes * sizeof(*narrow));

	NVW_ALLOCATED(narrow, "graph: no memory for %" PRIu64 " values", nodes);

	const int error = nvw_read(machine, narrow, p->result, nodes * sizeof(*narrow));

	for (uint64_t v = 0; v < nodes && error == 0; v++) {
		values[v] = narrow[v];
	}
	free(narrow);
	return error;
}

static int first_failure(int earlier, int later)
{
	return earlier != 0 ? earlier : later;
}

static int judge(
	struct reference *r, struct nvw_machine *machine, uint64_t *found, struct nvw_findings *findings)
{
	static const char *const what[] = {
		[GRAPH_SSSP] = "distance",
		[GRAPH_COLOR] = "colour",
		[GRAPH_PAGERANK] = "rank",
	};
	const struct graph_plan *const p = r->plan;
	const bool is_done = compute(r);
	const uint64_t *const expected = p->algorithm == GRAPH_PAGERANK ? r->rank : r->now;
	int verdict;

	NVW_TRY(fetch(p, machine, found));
	verdict = judge_tasks(p, findings);
	verdict = first_failure(verdict, judge_iterations(r, is_done, findings));
	verdict = first_failure(
		verdict, compare_values(p, what[p->algorithm], "the host", found, expected, findings));
	if (verdict != 0 || !is_done || p->algorithm == GRAPH_PAGERANK) {
		return verdict;
	}
	return p->algorithm == GRAPH_SSSP ? judge_distances(p, found, r->next, findings) :
					    judge_colors(p, found, findings);
}

int graph_verify(void *plan, struct nvw_machine *machine, struct nvw_findings *findings)
{
	const struct graph_plan *const p = plan;
	const uint64_t nodes = p->graph.nodes;
	uint64_t *const arrays = calloc(4 * nodes, sizeof(*arrays));
	struct reference r = {p, 0, arrays, arrays + nodes, arrays + 2 * nodes};

	NVW_ALLOCATED(arrays, "graph: no memory to compute what is right");

	const int error = judge(&r, machine, arrays + 3 * nodes, findings);

	free(arrays);
	return error;
}
