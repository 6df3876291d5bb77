/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Graphs on the host, in compressed sparse rows: the neighbours of node v, ascending, are column[row[v]] to
 * column[row[v + 1] - 1]. Undirected (each edge is stored in both directions), no self loops, no parallel
 * edges.
 *
 * A graph is named by a generator, which makes the same graph from the same name and seed on every host,
 *
 *	grid:WxH         W x H nodes, row after row, each with the four around it (ecology1: grid:1000x1000)
 *	rmat:SCALE[:F]   2^SCALE nodes, F [16] times as many edges: R-MAT, a=.57 b=.19 c=.19; hubs come first
 *	road:N           N nodes as in road maps: planar, connected, mean degree about 2.5, chains, wide
 *	chung-lu:N:ARCS  N nodes, ARCS / 2 edges exactly: degrees as a power law (exponent 3), half of
 *	                 them near
 *
 * or by a file, plain or compressed in a format of libarchive:
 *
 *	Matrix Market    it begins with "%%MatrixMarket", or is called .mtx: coordinate, square
 *	DIMACS, PACE     its first non-comment line begins with "p", or it is called .gr: "p sp N M" and
 *	                 "a u v weight", or "p tw N M" and "u v"
 *	METIS            it is called .graph or .metis: "N M [fmt [ncon]]", then a line per node
 *	edge list        any other: "u v [weight]", # or % comments; any numbers, renumbered as they appear
 *
 * The suffix may be followed by that of a compressor. Weights and values in files are skipped: workloads have
 * their own weight functions.
 */
#ifndef PAPERS_GRAPH_GRAPH_H
#define PAPERS_GRAPH_GRAPH_H

#include <assert.h>

#include <stdint.h>

#include <nvw/pool.h>

#define GRAPH_HELP                                                                   \
	"grid:WxH, rmat:SCALE[:EDGEFACTOR], road:N, chung-lu:NODES:ARCS, or a file " \
	"(DIMACS, METIS, Matrix Market, edge list)"

enum { GRAPH_NODES_MAX = 1 << 25, GRAPH_EDGES_MAX = 1 << 28 };

struct graph {
	uint32_t nodes;
	uint32_t arcs;    /* twice the edges */
	uint32_t *row;    /* [nodes + 1] */
	uint32_t *column; /* [arcs] */
};

/*
 * The graph named by source; release it with graph_free(). NVW_E_USAGE for an unknown generator, NVW_E_INPUT
 * with file and line for a malformed file, NVW_E_MEMORY.
 */
NVW_CHECKED int graph_make(const char *source, uint64_t seed, struct graph *ret_graph);
NVW_CHECKED int graph_read(const char *path, struct graph *ret_graph);
void graph_free(struct graph *graph);

/* A loop over the arcs of node v, by their numbers in column. */
#define GRAPH_EACH(i, g, v) for (uint32_t i = (g)->row[v]; i < (g)->row[(v) + 1]; i++)

static inline uint32_t graph_degree(const struct graph *g, uint32_t v)
{
	assert(v < g->nodes);
	return g->row[v + 1] - g->row[v];
}

/* ---- Used by readers and generators ---------------------------------------------------------------- */

struct graph_edges {
	uint64_t *pairs; /* u << 32 | v, in any order and direction */
	uint64_t count, room;
};

/* A self loop is dropped. NVW_E_INPUT for more than GRAPH_EDGES_MAX, NVW_E_MEMORY. */
NVW_CHECKED int graph_add_edge(struct graph_edges *edges, uint32_t u, uint32_t v);

/* Merges parallel edges. The caller still owns the edges and frees edges->pairs. */
NVW_CHECKED int graph_build(const struct graph_edges *edges, uint32_t nodes, struct graph *ret_graph);

#endif
