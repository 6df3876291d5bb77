/* SPDX-License-Identifier: BSD-3-Clause */
/* From edges to rows (graph.h), in time linear in the number of edges. */
#include "graph.h"

#include <inttypes.h>
#include <stdlib.h>

int graph_add_edge(struct graph_edges *edges, uint32_t u, uint32_t v)
{
	assert(edges->count <= edges->room);
	if (u == v) {
		return 0;
	}
	NVW_FAIL_IF(edges->count == GRAPH_EDGES_MAX, NVW_E_INPUT,
		"graph: expected at most %d edges, found more", GRAPH_EDGES_MAX);
	if (edges->count == edges->room) {
		const uint64_t room = 2 * edges->room + 1024;
		uint64_t *const pairs = realloc(edges->pairs, room * sizeof(*pairs));

		NVW_ALLOCATED(pairs, "graph: no memory for %" PRIu64 " edges", room);
		edges->pairs = pairs;
		edges->room = room;
	}
	edges->pairs[edges->count++] = (uint64_t)u << 32 | v;
	return 0;
}

/* Turns counts into positions: row[v] becomes the beginning of the row of v. */
static void sum_up(uint32_t *row, uint32_t nodes)
{
	uint32_t sum = 0;

	for (uint32_t v = 0; v <= nodes; v++) {
		const uint32_t count = row[v];

		row[v] = sum;
		sum += count;
	}
}

/* Fills rows whose positions are set; afterwards row[v] is the end of the row of v. */
static void place_arcs(const struct graph_edges *edges, uint32_t *row, uint32_t *column)
{
	NVW_FOR(i, edges->count) {
		const uint32_t u = (uint32_t)(edges->pairs[i] >> 32), v = (uint32_t)edges->pairs[i];

		column[row[u]++] = v;
		column[row[v]++] = u;
	}
}

/* Appends every node, in ascending order, to the rows of its neighbours: rows keep their length and become
 * sorted, since arcs come in both directions. end[v] is the end of the old row of v. */
static void transpose(
	uint32_t nodes, const uint32_t *end, const uint32_t *old, uint32_t *row, uint32_t *column)
{
	for (uint32_t v = 0, i = 0; v < nodes; v++) {
		for (; i < end[v]; i++) {
			column[row[old[i]]++] = v;
		}
	}
}

/* Removes repeated neighbours and closes the gaps. end[v] is the end of the sorted row of v. */
static void drop_repeated(struct graph *g, const uint32_t *end)
{
	uint32_t kept = 0;

	for (uint32_t v = 0, i = 0; v < g->nodes; v++) {
		g->row[v] = kept;
		for (; i < end[v]; i++) {
			if (kept == g->row[v] || g->column[kept - 1] != g->column[i]) {
				g->column[kept++] = g->column[i];
			}
		}
	}
	g->row[g->nodes] = g->arcs = kept;
}

static void fill_rows(const struct graph_edges *edges, struct graph *g, uint32_t *end, uint32_t *unsorted)
{
	NVW_FOR(i, edges->count) {
		end[edges->pairs[i] >> 32]++;
		end[(uint32_t)edges->pairs[i]]++;
	}
	sum_up(end, g->nodes);
	for (uint32_t v = 0; v <= g->nodes; v++) {
		g->row[v] = end[v];
	}
	place_arcs(edges, end, unsorted);
	transpose(g->nodes, end, unsorted, g->row, g->column);
	drop_repeated(g, end);
}

int graph_build(const struct graph_edges *edges, uint32_t nodes, struct graph *ret_graph)
{
	const uint64_t arcs = 2 * edges->count;
	uint32_t *const end = calloc((uint64_t)nodes + 1, sizeof(*end));
	uint32_t *const unsorted = calloc(arcs + 1, sizeof(*unsorted));
	struct graph g = {.nodes = nodes};

	g.row = calloc((uint64_t)nodes + 1, sizeof(*g.row));
	g.column = calloc(arcs + 1, sizeof(*g.column));
	if (end && unsorted && g.row && g.column) {
		fill_rows(edges, &g, end, unsorted);
		assert(g.arcs % 2 == 0);
		*ret_graph = g;
	} else {
		graph_free(&g);
	}
	free(end);
	free(unsorted);
	NVW_ALLOCATED(
		g.row, "graph: no memory for %" PRIu32 " nodes and %" PRIu64 " edges", nodes, edges->count);
	return 0;
}

void graph_free(struct graph *graph)
{
	free(graph->row);
	free(graph->column);
	*graph = (struct graph){0};
}
