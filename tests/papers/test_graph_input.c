/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs from files and generators: what is promised in graph.h. */
#include "common/compressed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvw/random.h>

#include "common/skip.h"

#include "papers/kernels/graph/graph.h"

/* ---- Files ----------------------------------------------------------------------------------------- */

static const char *path; /* of the last one */

static void put(const char *name, const char *text)
{
	path = in_dir(name);
	write_text(name, text);
}

static void put_compressed(const char *name, const char *text, int (*filter)(struct archive *))
{
	path = in_dir(name);
	write_compressed(name, text, strlen(text), filter);
}

/* ---- What a graph must be -------------------------------------------------------------------------- */

static bool has_arc(const struct graph *g, uint32_t u, uint32_t v)
{
	GRAPH_EACH(i, g, u) {
		if (g->column[i] == v) {
			return true;
		}
	}
	return false;
}

static void assert_well_formed(const struct graph *g)
{
	assert_int_equal(g->row[0], 0);
	assert_int_equal(g->row[g->nodes], g->arcs);
	NVW_FOR(v, g->nodes) {
		assert_true(g->row[v] <= g->row[v + 1]);
		GRAPH_EACH(i, g, v) {
			assert_true(g->column[i] < g->nodes && g->column[i] != v);
			assert_true(i == g->row[v] || g->column[i - 1] < g->column[i]);
			assert_true(has_arc(g, g->column[i], v));
		}
	}
}

static struct graph make(const char *source, uint64_t seed)
{
	struct graph g = {0};

	if (graph_make(source, seed, &g)) {
		fail_msg("%s: %s", source, nvw_error_message());
	}
	assert_well_formed(&g);
	return g;
}

/* The rows of a small graph as text: "v:u,u v:u". */
static void expect_rows(const char *expected)
{
	struct graph g = make(path, 1);
	char text[512] = "";

	NVW_FOR(v, g.nodes) {
		sprintf(text + strlen(text), "%s%u:", v ? " " : "", v);
		for (uint32_t i = g.row[v]; i < g.row[v + 1]; i++) {
			sprintf(text + strlen(text), "%s%u", i > g.row[v] ? "," : "", g.column[i]);
		}
	}
	assert_string_equal(text, expected);
	graph_free(&g);
}

static void expect_refusal(const char *source, int error, const char *part)
{
	struct graph g = {0};

	assert_int_equal(graph_make(source, 1, &g), error);
	assert_null(g.row);
	assert_error_has(part);
}

static void refused(const char *name, const char *text, const char *part)
{
	put(name, text);
	expect_refusal(path, NVW_E_INPUT, part);
}

/* ---- Readers --------------------------------------------------------------------------------------- */

TEST(pace_edges_are_read_in_both_directions)
{
	put("a.gr", "c a path and a lonely node\np tw 4 2\n1 2\nc between\n3 2\n");
	expect_rows("0:1 1:0,2 2:1 3:");
}

TEST(dimacs_arcs_lose_weights_loops_and_repetitions)
{
	put("anything", "c road\np sp 3 5\na 1 2 10\na 2 1 10\na 3 3 1\r\na 2 3 -7.5e3\na 2 3 4\n");
	expect_rows("0:1 1:0,2 2:1");
	put("a.col", "p edge 3 2\ne 1 2\ne 1 3");
	expect_rows("0:1,2 1:0 2:0");
}

TEST(metis_rows_may_be_blank_and_weighted)
{
	put("a.graph", "% comment\n4 2\n2\n1 3\n% between\n2\n\n");
	expect_rows("0:1 1:0,2 2:1 3:");
	put("b.metis", "3 2 111 2\n9 1 1 2 50\n9 1 1 1 50 3 60\n9 1 1 2 60\n");
	expect_rows("0:1 1:0,2 2:1");
}

TEST(matrices_of_every_field_and_symmetry_are_read)
{
	put("a.mtx",
		"%%MatrixMarket matrix coordinate real general\n% c\n\n3 3 4\n1 1 5\n1 2 -1.5e-3\n2 1 7\n3 "
		"1 0\n");
	expect_rows("0:1,2 1:0 2:0");
	put("b", "%%matrixmarket MATRIX Coordinate Pattern Symmetric\n3 3 2\n2 1\n3 2\n");
	put("b.mtx", "%%matrixmarket MATRIX Coordinate Pattern Symmetric\n3 3 2\n2 1\n3 2\n");
	expect_rows("0:1 1:0,2 2:1");
	put("c", "%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 1 1.0 -2.0\n");
	expect_rows("0:1 1:0");
}

TEST(edge_lists_are_renumbered_in_order_of_appearance)
{
	put("a.txt", "# from to\n18446744073709551615\t7\n7 0\n\n0 7 3.5\n% end\n5 5");
	expect_rows("0:1 1:0,2 2:1 3:");
}

TEST(edge_lists_may_have_many_different_numbers)
{
	enum { EDGES = 5000 };
	char *const text = malloc(EDGES * 50);
	size_t n = 0;

	NVW_FOR(i, EDGES) {
		n += (size_t)sprintf(text + n, "%lu %lu\n", nvw_mix64(i + 1), nvw_mix64(i + 2));
	}
	put("long.txt", text);
	free(text);

	struct graph g = make(path, 1);

	assert_int_equal(g.nodes, EDGES + 1);
	assert_int_equal(g.arcs, 2 * EDGES);
	NVW_FOR(v, EDGES) {
		assert_true(has_arc(&g, v, v + 1));
	}
	graph_free(&g);
}

TEST(compressed_files_are_read_as_what_is_in_them)
{
	put_compressed("a.gr.gz", "p tw 3 1\n1 3\n", archive_write_add_filter_gzip);
	expect_rows("0:2 1: 2:0");
	put_compressed("a.graph.xz", "2 1\n2\n1\n", archive_write_add_filter_xz);
	expect_rows("0:1 1:0");
	put_compressed("a.txt.zst", "8 9\n", archive_write_add_filter_zstd);
	expect_rows("0:1 1:0");
}

TEST(malformed_lines_are_named_with_what_was_expected)
{
	refused("a.gr", "p tw 3 1\n1 4\n",
		"a.gr:2: expected \"u v\", \"e u v\" or \"a u v weight\" with nodes from 1 to 3, found \"1 "
		"4\"");
	refused("a.gr", "p tw 3 1\n0 1\n", ":2: ");
	refused("a.gr", "p tw 3 1\n1 2 3 4\n", ":2: ");
	refused("a.gr", "p tw 3 1\n1\n", ":2: ");
	refused("a.gr", "p tw 3\n", ":1: expected \"p WORD NODES EDGES\"");
	refused("a.gr", "1 2\n", ":1: expected \"p WORD NODES EDGES\", found \"1 2\"");
	refused("a.gr", "p tw 33554433 1\n", ":1: expected 1 to 33554432 nodes");
	refused("a.gr", "p tw 0 0\n", ":1: expected 1 to");
	refused("a.gr", "c\n", "expected a line \"p WORD NODES EDGES\", found none");
	refused("a.graph", "2 1\n2\n3\n", ":3: expected neighbours of node 2, from 1 to 2, found \"3\"");
	refused("a.graph", "2 1\n2\nx\n", ":3: ");
	refused("a.graph", "2 1 1\n2 5\n1\n", ":3: expected neighbours and weights of node 2");
	refused("a.graph", "2 1 10 2\n1\n", ":2: expected 2 sizes and weights of node 1");
	refused("a.graph", "2 1 2\n", ":1: expected \"NODES EDGES [fmt [ncon]]\"");
	refused("a.graph", "2\n", ":1: ");
	refused("a.graph", "%\n\n", "found none");
	refused("a.graph", "1 0\n\n1\n", ":3: expected nothing after the line of node 1");
	refused("a.mtx", "%%MatrixMarket matrix array real general\n",
		":1: expected \"%%MatrixMarket matrix coordinate\"");
	refused("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n",
		":2: expected \"ROWS COLUMNS ENTRIES\" of a square");
	refused("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1\n",
		":3: expected row and column from 1 to 2 and 1 values");
	refused("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1,x\n", ":3: ");
	refused("a.mtx", "%%MatrixMarket matrix coordinate real general\n", "found none");
	refused("a.txt", "1 2\n3\n", ":2: expected an edge \"u v\" of two numbers, found \"3\"");
	refused("a.txt", "1 18446744073709551616\n", ":1: ");
	refused("a.txt", "1 -2\n", ":1: ");
	refused("a.txt", "1 2 3 4\n", ":1: ");
	refused("a.txt", "# nothing\n\n", "found none in 2 lines");
}

TEST(counts_that_do_not_agree_are_refused)
{
	refused("a.gr", "c\np tw 3 2\n1 2\n", "expected 2 lines of edges, as line 2 says, found 1");
	refused("a.gr", "p tw 3 1\n1 2\n2 3\n", "expected 1 lines of edges, as line 1 says, found 2");
	refused("a.graph", "3 1\n2\n1\n", "expected 3 lines of nodes, as line 1 says, found 2");
	refused("a.graph", "3 2\n2\n1\n\n", "expected 2 edges, as line 1 says, found 1");
	refused("a.graph", "2 0\n2\n\n", "expected 0 edges");
	refused("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n",
		"expected 2 entries, as line 2 says, found 1");
}

TEST(absent_empty_and_truncated_files_are_refused)
{
	expect_refusal("/tmp/nvwave/no/such.gr", NVW_E_INPUT, "No such file");
	expect_refusal("/tmp", NVW_E_INPUT, "found a folder");
	refused("a.gr", "", "the file is empty");
	put_compressed("a.gr.xz", "p tw 3 1\n1 3\n", archive_write_add_filter_xz);
	assert_int_equal(truncate(path, 40), 0);
	expect_refusal(path, NVW_E_INPUT, path);
}

/* Whatever the bytes are: a graph or a message, under every reader. AddressSanitizer looks on. */
TEST(no_bytes_break_a_reader)
{
	static const char *const names[] = {"x.gr", "x.graph", "x.mtx", "x.txt"};
	static const char *const seeds[] = {"p sp 4 3\na 1 2 3\na 2 3 4\na 4 1 1\n",
		"3 2 11\n1 2 5\n1 1 5 3 6\n1 2 6\n",
		"%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 .5\n3 1 1\n", "1 2\n3 4\n5 1\n"};
	static const char letters[] = "0123456789 \n\t\r%#pcae.-x\0\xff";
	struct nvw_random random = {11};
	unsigned good = 0;

	NVW_FOR(i, 4000) {
		char text[128];
		const char *const seed = seeds[i / 4 % 4];
		const size_t n = strlen(seed) - nvw_random_below(&random, 3);
		struct graph g = {0};

		memcpy(text, seed, n);
		for (uint64_t changes = nvw_random_below(&random, 4); changes > 0; changes--) {
			text[nvw_random_below(&random, n)] =
				letters[nvw_random_below(&random, sizeof(letters) - 1)];
		}
		path = in_dir(names[i % 4]);
		write_bytes(names[i % 4], text, n);
		if (graph_make(path, 1, &g) == 0) {
			assert_well_formed(&g);
			graph_free(&g);
			good++;
		} else {
			assert_error_has(path);
		}
	}
	assert_true(good > 100 && good < 3900);
}

/* ---- Generators ------------------------------------------------------------------------------------ */

TEST(a_grid_has_four_neighbours_inside)
{
	struct graph g = make("grid:5x3", 1);

	assert_int_equal(g.nodes, 15);
	assert_int_equal(g.arcs, 2 * (4 * 3 + 5 * 2));
	assert_int_equal(graph_degree(&g, 0), 2);
	assert_int_equal(graph_degree(&g, 2), 3);
	assert_int_equal(graph_degree(&g, 7), 4);
	assert_true(has_arc(&g, 7, 2) && has_arc(&g, 7, 6) && has_arc(&g, 7, 8) && has_arc(&g, 7, 12));
	assert_false(has_arc(&g, 4, 5));
	graph_free(&g);
}

static uint32_t largest_degree(const struct graph *g)
{
	uint32_t largest = 0;

	NVW_FOR(v, g->nodes) {
		largest = graph_degree(g, v) > largest ? graph_degree(g, v) : largest;
	}
	return largest;
}

TEST(rmat_has_hubs)
{
	struct graph g = make("rmat:10:8", 1);

	assert_int_equal(g.nodes, 1024);
	assert_true(g.arcs > 2 * 1024 * 4 && g.arcs <= 2 * 1024 * 8);
	assert_true(largest_degree(&g) > 10 * g.arcs / g.nodes);
	graph_free(&g);
}

/* How many nodes can be reached from node 0, and in how many steps. */
static uint32_t reach(const struct graph *g, uint32_t *ret_steps)
{
	uint32_t *const queue = malloc(g->nodes * sizeof(*queue)), *const steps =
									   calloc(g->nodes, sizeof(*steps));
	uint32_t begin = 0, end = 0;

	queue[end++] = 0;
	steps[0] = 1;
	while (begin < end) {
		const uint32_t v = queue[begin++];

		GRAPH_EACH(i, g, v) {
			if (steps[g->column[i]] == 0) {
				steps[g->column[i]] = steps[v] + 1;
				queue[end++] = g->column[i];
			}
		}
	}
	*ret_steps = steps[queue[end - 1]] - 1;
	free(queue);
	free(steps);
	return end;
}

TEST(roads_are_connected_sparse_and_long)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		uint32_t steps, chains = 0;
		struct graph g = make("road:20000", seed);

		assert_int_equal(g.nodes, 20000);
		assert_int_equal(reach(&g, &steps), 20000);
		assert_true((uint64_t)steps * steps > g.nodes);
		assert_true(g.arcs > 2.4 * g.nodes && g.arcs < 2.55 * g.nodes);
		assert_true(largest_degree(&g) <= 4);
		NVW_FOR(v, g.nodes) {
			chains += graph_degree(&g, v) == 2;
		}
		assert_true(chains > g.nodes / 2);
		graph_free(&g);
	}
}

TEST(every_size_of_road_comes_out_exactly)
{
	for (unsigned n = 12; n < 200; n++) {
		struct graph g = make(formatted("road:%u", n), n);
		uint32_t steps;

		assert_int_equal(g.nodes, n);
		assert_int_equal(reach(&g, &steps), n);
		graph_free(&g);
	}
}

TEST(chung_lu_graphs_have_their_sizes_hubs_and_half_of_their_edges_near)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct graph g = make("chung-lu:64810:501186", seed);
		uint32_t near = 0;

		assert_int_equal(g.nodes, 64810);
		assert_int_equal(g.arcs, 501186);
		assert_in_range(largest_degree(&g), 200, 500);
		NVW_FOR(v, g.nodes) {
			for (uint32_t i = g.row[v]; i < g.row[v + 1]; i++) {
				const uint32_t away = (g.column[i] - v + g.nodes) % g.nodes;

				near += away <= 64 || away >= g.nodes - 64;
			}
		}
		assert_in_range(100ull * near / g.arcs, 45, 52);
		graph_free(&g);
	}
}

TEST(the_same_seed_makes_the_same_graph)
{
	static const char *const names[] = {"rmat:8", "road:500", "grid:10x10", "chung-lu:500:3000"};

	NVW_FOR(i, NVW_COUNT(names)) {
		struct graph a = make(names[i], 5), b = make(names[i], 5), c = make(names[i], 6);

		assert_int_equal(a.arcs, b.arcs);
		assert_memory_equal(a.column, b.column, a.arcs * sizeof(*a.column));
		assert_true((a.arcs == c.arcs &&
				    memcmp(a.column, c.column, a.arcs * sizeof(*a.column)) == 0) == (i == 2));
		graph_free(&a);
		graph_free(&b);
		graph_free(&c);
	}
}

TEST(bad_generators_are_refused)
{
	static const char *const bad[] = {"grid:", "grid:0x4", "grid:4", "grid:4x", "grid:4x4x",
		"grid:9999x9999999", "grid:-1x4", "rmat:", "rmat:0", "rmat:26", "rmat:4:", "rmat:4:0",
		"rmat:4x", "road:", "road:11", "road:33554433", "road:99999999999999999999", "chung-lu:500",
		"chung-lu:255:600", "chung-lu:500:1", "chung-lu:500:16001", "chung-lu:500:600:7"};

	for_each(one, bad) {
		expect_refusal(*one, NVW_E_USAGE, formatted("found \"%s\"", *one));
		expect_refusal(*one, NVW_E_USAGE, "--graph: expected ");
	}
}

/* ---- Real graphs ----------------------------------------------------------------------------------- */

TEST(real_graphs_have_their_published_sizes)
{
	static const struct {
		const char *name;
		uint32_t nodes, edges, largest;
	} real[] = {
		{"USA-road-BAY.pace.gr.xz", 321270, 397415, 7},
		{"dictionary28.reconstructed.graph", 52652, 89038, 38},
		{"astro-ph.graph", 16706, 121251, 360},
		{"wiki-Vote.txt", 7115, 100762, 1065},
		{"bips98_606.mtx", 7135, 15190, 111},
		{"bayer10.mtx", 13436, 94803, 59},
		{"4elt.graph", 15606, 45878, 10},
	};
	for_each(one, real) {
		const char *const file = shared_data(formatted("graphs/%s", one->name));

		if (!file) {
			skip_test("%s is not there", one->name);
		}

		struct graph g = make(file, 1);

		assert_int_equal(g.nodes, one->nodes);
		assert_int_equal(g.arcs, 2 * one->edges);
		assert_int_equal(largest_degree(&g), one->largest);
		graph_free(&g);
	}
}

GROUP(folder_begin, shell_end);
