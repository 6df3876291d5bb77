/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs from generators (graph.h): a table of them; any other name is a file. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvw/random.h>

#include "graph.h"

struct made {
	struct graph_edges edges;
	uint32_t nodes;
	uint64_t seed;
};

/* Parses a decimal number from least to most at *at; advances *at past it. */
static bool parse_number(const char **at, uint64_t least, uint64_t most, uint64_t *ret_number)
{
	char *end;

	errno = 0;
	*ret_number = strtoull(*at, &end, 10);
	if (**at < '0' || **at > '9' || errno != 0 || *ret_number < least || *ret_number > most) {
		return false;
	}
	*at = end;
	return true;
}

/* ---- grid ------------------------------------------------------------------------------------------ */

static int make_grid(const char *at, struct made *m)
{
	uint64_t width, height;

	NVW_FAIL_IF(!parse_number(&at, 1, GRAPH_NODES_MAX, &width) || *at++ != 'x' ||
			    !parse_number(&at, 1, GRAPH_NODES_MAX / width, &height) || *at != 0,
		NVW_E_USAGE, "expected grid:WxH of at most %d nodes", GRAPH_NODES_MAX);
	m->nodes = (uint32_t)(width * height);
	NVW_FOR(v, m->nodes) {
		if ((v + 1) % width) {
			NVW_TRY(graph_add_edge(&m->edges, v, v + 1));
		}
		if (v + width < m->nodes) {
			NVW_TRY(graph_add_edge(&m->edges, v, v + (uint32_t)width));
		}
	}
	return 0;
}

/* ---- rmat ------------------------------------------------------------------------------------------ */

enum { RMAT_SCALE_MAX = 25, RMAT_FACTOR = 16, RMAT_FACTOR_MAX = 1024 };

/* An edge falls into one of four quadrants of the matrix, then into a quadrant of that quadrant, and so
 * on. */
static int add_rmat_edge(struct made *m, struct nvw_random *random, uint64_t scale)
{
	const double a = .57, b = .19, c = .19;
	uint32_t u = 0, v = 0;

	assert(scale < 32);
	NVW_FOR(bit, scale) {
		const double r = nvw_random_real(random);

		u = 2 * u + (r >= a + b);
		v = 2 * v + ((r >= a && r < a + b) || r >= a + b + c);
	}
	return graph_add_edge(&m->edges, u, v);
}

static int make_rmat(const char *at, struct made *m)
{
	struct nvw_random random = {m->seed};
	uint64_t scale, factor = RMAT_FACTOR;

	NVW_FAIL_IF(!parse_number(&at, 1, RMAT_SCALE_MAX, &scale) ||
			    (*at == ':' && (++at, !parse_number(&at, 1, RMAT_FACTOR_MAX, &factor))) ||
			    *at != 0,
		NVW_E_USAGE, "expected rmat:SCALE[:EDGEFACTOR] of scale 1 to %d and factor 1 to %d",
		RMAT_SCALE_MAX, RMAT_FACTOR_MAX);
	m->nodes = UINT32_C(1) << scale;
	NVW_FOR(i, factor * m->nodes) {
		NVW_TRY(add_rmat_edge(m, &random, scale));
	}
	return 0;
}

/* ---- road ------------------------------------------------------------------------------------------ */

/*
 * Crossings are a third of the nodes and lie on a grid. Each is joined to the one on its left or the one
 * above, by chance, which makes a tree; of the other neighbouring pairs seven in ten are joined too. The
 * remaining nodes lie on these roads: all distributions are equally likely, so that the lengths of chains are
 * nearly geometric. The mean degree is 2 + 2 * 0.7 / 3 = 2.47; USA-road-d.BAY has 2.47.
 */
enum { ROAD_LEAST = 12, ROAD_LEFT = 1, ROAD_UP = 2 };

struct road {
	struct made *made;
	struct nvw_random random;
	uint64_t seed;
	uint64_t width, crossings;
	uint64_t roads, between; /* roads still to be built, and nodes still to be placed on them */
	uint32_t *node;          /* per crossing of the last row */
};

/* The neighbours that crossing c is joined to. */
static unsigned road_joins(const struct road *r, uint64_t c)
{
	const uint64_t chance = nvw_mix64(r->seed + c);
	unsigned neighbours = 0;

	if (c % r->width != 0) {
		neighbours |= ROAD_LEFT;
	}
	if (c >= r->width) {
		neighbours |= ROAD_UP;
	}
	if (neighbours != (ROAD_LEFT | ROAD_UP) || (chance >> 8) % 10 < 7) {
		return neighbours;
	}
	return chance % 2 ? ROAD_LEFT : ROAD_UP;
}

/* Number of nodes between the ends of the next road: a walk over the remaining nodes and ends of roads. */
static uint64_t draw_between(struct road *r)
{
	uint64_t n = 0;

	assert(r->roads > 0);
	if (--r->roads == 0) {
		n = r->between;
	}
	while (n < r->between && nvw_random_below(&r->random, r->between - n + r->roads) >= r->roads) {
		n++;
	}
	r->between -= n;
	return n;
}

static int build_road(struct road *r, uint32_t from, uint32_t to)
{
	for (uint64_t n = draw_between(r); n > 0; n--) {
		NVW_TRY(graph_add_edge(&r->made->edges, from, r->made->nodes));
		from = r->made->nodes++;
	}
	return graph_add_edge(&r->made->edges, from, to);
}

static int build_crossing(struct road *r, uint64_t c)
{
	uint32_t *const column = &r->node[c % r->width];
	const uint32_t above = *column, here = r->made->nodes++;
	const unsigned joins = road_joins(r, c);

	assert(c < r->crossings);
	if (joins & ROAD_LEFT) {
		NVW_TRY(build_road(r, column[-1], here));
	}
	*column = here;
	return joins & ROAD_UP ? build_road(r, above, here) : 0;
}

static uint64_t root(uint64_t x)
{
	uint64_t r = 1;

	while ((r + 1) * (r + 1) <= x) {
		r++;
	}
	assert(r * r <= x);
	return r;
}

static int make_road(const char *at, struct made *m)
{
	struct road r = {.made = m, .seed = nvw_mix64(m->seed), .random = {m->seed}};
	uint64_t nodes;
	int error = 0;

	NVW_FAIL_IF(!parse_number(&at, ROAD_LEAST, GRAPH_NODES_MAX, &nodes) || *at != 0, NVW_E_USAGE,
		"expected road:N of %d to %d nodes", ROAD_LEAST, GRAPH_NODES_MAX);
	r.width = root(nodes / 3);
	r.crossings = nodes / 3 / r.width * r.width;
	r.between = nodes - r.crossings;
	NVW_FOR(c, r.crossings) {
		r.roads += (unsigned)__builtin_popcount(road_joins(&r, c));
	}
	r.node = calloc(r.width, sizeof(*r.node));
	NVW_ALLOCATED(r.node, "graph: no memory for %" PRIu64 " crossings", r.width);
	for (uint64_t c = 0; c < r.crossings && error == 0; c++) {
		error = build_crossing(&r, c);
	}
	assert(error != 0 || (r.roads == 0 && r.between == 0));
	free(r.node);
	return error;
}

/* ---- chung-lu -------------------------------------------------------------------------------------- */

/*
 * The graphs of papers that could not be had, by their numbers of nodes and arcs. Nodes have ranks, in random
 * order. An edge's first end has rank r with a probability in proportion to (r + N / 10000) ^ -1/2 (Chung and
 * Lu): degrees follow a power law of exponent 3, and the largest is expected to be 50 times the mean, as in
 * coAuthorsDBLP (336 of 6.5). Its second end is drawn likewise or, for half of the edges, is one of the 64
 * nodes on either side, as neighbours in such files have near numbers. Edges that there are already are drawn
 * again.
 */
enum { NEAR = 64, LARGEST_BY_MEAN = 10000 };

struct ranks {
	uint32_t *node; /* of each rank */
	uint32_t nodes;
	double first, last; /* the roots of N / 10000 and of N + N / 10000 */
};

static uint32_t draw_by_rank(const struct ranks *r, struct nvw_random *random)
{
	const double root = r->first + nvw_random_real(random) * (r->last - r->first);
	const double rank = root * root - r->first * r->first;

	assert(r->first < r->last);
	return r->node[rank < r->nodes ? (uint32_t)rank : r->nodes - 1];
}

static uint32_t draw_near(const struct ranks *r, struct nvw_random *random, uint32_t u)
{
	const uint64_t at = u + r->nodes - NEAR + nvw_random_below(random, 2 * NEAR + 1);

	assert(r->nodes > 2 * NEAR && u < r->nodes);
	return (uint32_t)(at % r->nodes);
}

static int compare_pairs(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void drop_repetitions(struct graph_edges *e)
{
	uint64_t kept = 0;

	qsort(e->pairs, e->count, sizeof(*e->pairs), compare_pairs);
	NVW_FOR(i, e->count) {
		if (kept == 0 || e->pairs[kept - 1] != e->pairs[i]) {
			e->pairs[kept++] = e->pairs[i];
		}
	}
	e->count = kept;
}

static int draw_edges(struct made *m, const struct ranks *r, uint64_t edges)
{
	struct nvw_random random = {m->seed + 1};

	while (m->edges.count < edges) {
		for (uint64_t missing = edges - m->edges.count; missing > 0; missing--) {
			const uint32_t u = draw_by_rank(r, &random);
			const uint32_t v = nvw_random_below(&random, 2) ? draw_near(r, &random, u) :
									  draw_by_rank(r, &random);

			NVW_TRY(u < v ? graph_add_edge(&m->edges, u, v) : graph_add_edge(&m->edges, v, u));
		}
		drop_repetitions(&m->edges);
	}
	return 0;
}

static void shuffle_ranks(struct ranks *r, uint64_t seed)
{
	struct nvw_random random = {seed};

	NVW_FOR(i, r->nodes) {
		const uint32_t k = (uint32_t)nvw_random_below(&random, i + 1);

		r->node[i] = r->node[k];
		r->node[k] = i;
	}
}

static int make_chung_lu(const char *at, struct made *m)
{
	uint64_t nodes, arcs;

	NVW_FAIL_IF(!parse_number(&at, 4 * NEAR, GRAPH_NODES_MAX, &nodes) || *at++ != ':' ||
			    !parse_number(&at, 2, 2 * GRAPH_EDGES_MAX, &arcs) || *at != 0 ||
			    arcs > 32 * nodes,
		NVW_E_USAGE, "expected chung-lu:NODES:ARCS of %d to %d nodes, at most 32 arcs each", 4 * NEAR,
		GRAPH_NODES_MAX);
	struct ranks r = {.node = calloc(nodes, sizeof(*r.node)),
		.nodes = (uint32_t)nodes,
		.first = sqrt((double)nodes / LARGEST_BY_MEAN),
		.last = sqrt((double)nodes + (double)nodes / LARGEST_BY_MEAN)};

	NVW_ALLOCATED(r.node, "graph: no memory for %" PRIu64 " nodes", nodes);
	m->nodes = r.nodes;
	shuffle_ranks(&r, m->seed);

	const int error = draw_edges(m, &r, arcs / 2);

	free(r.node);
	return error;
}

/* ---- Choice of the generator --------------------------------------------------------------------------- */

static const struct generator {
	const char *prefix;
	int (*make)(const char *parameters, struct made *m);
} generators[] = {
	{"grid:", make_grid},
	{"rmat:", make_rmat},
	{"road:", make_road},
	{"chung-lu:", make_chung_lu},
};

static int generate(const struct generator *g, const char *source, uint64_t seed, struct graph *ret_graph)
{
	struct made m = {.seed = seed};
	int error = g->make(source + strlen(g->prefix), &m);

	if (error == NVW_E_USAGE) {
		char expected[160];

		snprintf(expected, sizeof(expected), "%s", nvw_error_message());
		error = nvw_fail(error, "--graph: %s, found \"%s\"", expected, source);
	}
	if (error == 0) {
		error = graph_build(&m.edges, m.nodes, ret_graph);
	}
	free(m.edges.pairs);
	return error;
}

int graph_make(const char *source, uint64_t seed, struct graph *ret_graph)
{
	NVW_FOR(i, sizeof(generators) / sizeof(*generators)) {
		if (strncmp(source, generators[i].prefix, strlen(generators[i].prefix)) == 0) {
			return generate(&generators[i], source, seed, ret_graph);
		}
	}
	return graph_read(source, ret_graph);
}
