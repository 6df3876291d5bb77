/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sssp, color and pagerank: on a machine that interleaves work-items at random (ideal.h) everything is as the
 * host computes it and no task is lost or taken twice; the judge notices if it is not.
 */
#include <string.h>
#include "common/shell.h"
#include "common/test.h"

#include "common/options.h"

#include "../workloads/ideal.h"

#include "papers/kernels/graph/plan.h"

extern const struct nvw_workload nvw_workload_sssp, nvw_workload_color, nvw_workload_pagerank;

static const struct nvw_workload *const algorithms[] = {
	[GRAPH_SSSP] = &nvw_workload_sssp,
	[GRAPH_COLOR] = &nvw_workload_color,
	[GRAPH_PAGERANK] = &nvw_workload_pagerank,
};

enum { ALGORITHMS = sizeof(algorithms) / sizeof(*algorithms) };

static struct graph_plan *prepare(enum graph_algorithm a, const char *given, uint64_t seed)
{
	void *plan = NULL;

	if (prepare_with(algorithms[a], given, seed, -1, &plan) != 0) {
		fail_msg("%s: %s", algorithms[a]->name, nvw_error_message());
	}
	return plan;
}

/* Runs a plan on a new ideal machine, which stays for the caller to look at and to ideal_destroy(). */
static struct nvw_machine *run_plan(struct graph_plan *p, uint64_t seed)
{
	struct nvw_machine *const m = ideal_create(1 << 16, seed);

	if (graph_run(p, m) != 0) {
		fail_msg("run: %s", nvw_error_message());
	}
	return m;
}

static void assert_verified(struct graph_plan *p, struct nvw_machine *m)
{
	const char *why;
	const int error = graph_verify(p, m, ideal_findings());

	if (ideal_violations(&why) != 0 || error != 0) {
		fail_msg("%s, %s: %s", algorithms[p->algorithm]->name, p->scenario->name, why);
	}
}

/* Runs and verifies; the plan as the run has left it. */
static struct graph_plan *verified(enum graph_algorithm a, const char *given, uint64_t seed)
{
	struct graph_plan *const p = prepare(a, given, seed);

	assert_verified(p, run_plan(p, seed));
	ideal_destroy();
	return p;
}

/* ---- Results --------------------------------------------------------------------------------------- */

TEST(every_scenario_gives_the_same_results_in_any_interleaving)
{
	static const char *const scenarios[] = {
		"baseline", "scope-only", "steal-only", "rsp", "denovo-b", "hlrc", "hlrc-scoped"};
	uint64_t stolen = 0;

	NVW_FOR(i, 7 * ALGORITHMS) {
		struct graph_plan *const p = verified(i % ALGORITHMS,
			formatted("scenario=%s graph=%s queues=6 group-size=8 chunk=3 max-iterations=5",
				scenarios[i / ALGORITHMS], i % 2 ? "rmat:7:4" : "road:100"),
			i);

		assert_int_equal(p->tasks, p->popped + p->stolen);
		assert_int_equal(p->stolen != 0 || p->attempts != 0, p->scenario->steals);
		stolen += p->stolen;
		graph_dispose(p);
	}
	assert_true(stolen > 100);
}

TEST(shapes_of_queues_groups_and_tasks_do_not_matter)
{
	static const unsigned shapes[][3] = {
		{1, 1, 0}, {1, 64, 1}, {7, 5, 200}, {100, 2, 0}, {3, 70, 9}, {200, 3, 2}};

	NVW_FOR(i, 6 * ALGORITHMS) {
		const unsigned *const shape = shapes[i / ALGORITHMS];

		graph_dispose(verified(i % ALGORITHMS,
			formatted("graph=grid:11x9 queues=%u group-size=%u chunk=%u scenario=steal-only "
				  "max-iterations=4 kernels=%u",
				shape[0], shape[1], shape[2], 2 - i % 2),
			i));
	}
}

TEST(shortest_paths_end_as_dijkstra_says)
{
	struct graph_plan *const p =
		verified(GRAPH_SSSP, "graph=grid:9x8 source=30 queues=4 group-size=8 scenario=steal-only", 1);

	assert_true(p->is_done && p->iterations > 9);
	graph_dispose(p);
}

/* Node 68 of a chain alone changes in the first iteration when distances are from node 69. */
TEST(one_work_item_that_finds_more_to_do_is_enough)
{
	struct graph_plan *const p =
		verified(GRAPH_SSSP, "graph=grid:1x70 source=69 queues=1 group-size=70", 1);

	assert_int_equal(p->iterations, 70);
	graph_dispose(p);
}

TEST(a_coloring_ends_with_every_node_colored)
{
	struct graph_plan *const p =
		verified(GRAPH_COLOR, "graph=rmat:7:4 queues=4 group-size=8 scenario=steal-only", 1);

	assert_true(p->is_done && p->iterations > 3);
	graph_dispose(p);
}

TEST(page_rank_stops_when_ranks_move_less_than_epsilon)
{
	struct graph_plan *const p = verified(
		GRAPH_PAGERANK, "graph=grid:8x8 queues=4 group-size=8 epsilon=0.01 max-iterations=100", 1);

	assert_true(p->is_done && p->iterations > 5 && p->iterations < 50);
	graph_dispose(p);
}

/* On a ring every node has rank 1 from the start. */
TEST(page_rank_of_a_regular_graph_is_one)
{
	struct graph_plan *const p = verified(GRAPH_PAGERANK, "graph=grid:2x2 queues=2 group-size=2", 1);
	struct nvw_machine *const m = run_plan(p, 1);
	uint64_t ranks[4];

	assert_ok(nvw_read(m, ranks, p->result, sizeof(ranks)));
	NVW_EACH(rank, ranks, 4) {
		assert_true(graph_distance(*rank, GRAPH_RANK_ONE) < 100);
	}
	assert_int_equal(graph_rank(20 * GRAPH_RANK_ONE), 3 * GRAPH_RANK_ONE / 20 + 17 * GRAPH_RANK_ONE);
	ideal_destroy();
	graph_dispose(p);
}

TEST(nodes_that_cannot_be_reached_stay_far)
{
	uint32_t distances[4];

	write_text("graph", "p tw 4 1\n1 3\n");
	NVW_FOR(a, ALGORITHMS) {
		struct graph_plan *const p =
			prepare(a, formatted("graph=%s queues=2 group-size=2", in_dir("graph")), 1);
		struct nvw_machine *const m = run_plan(p, 1);

		assert_verified(p, m);
		if (a == GRAPH_SSSP) {
			assert_ok(nvw_read(m, distances, p->result, sizeof(distances)));
			assert_int_equal(distances[0], 0);
			assert_int_equal(distances[2], graph_weight(0, 2));
			assert_true(distances[1] == GRAPH_FAR && distances[3] == GRAPH_FAR);
		}
		ideal_destroy();
		graph_dispose(p);
	}
}

TEST(weights_are_symmetric_and_within_bounds)
{
	uint32_t least = UINT32_MAX, most = 0;

	NVW_FOR(u, 100) {
		NVW_FOR(v, 100) {
			const uint32_t w = graph_weight(u, v);

			assert_int_equal(w, graph_weight(v, u));
			least = w < least ? w : least;
			most = w > most ? w : most;
		}
	}
	assert_int_equal(least, 1);
	assert_int_equal(most, GRAPH_WEIGHT_MAX);
}

TEST(every_node_is_in_one_task)
{
	for (uint64_t nodes = 1; nodes < 40; nodes++) {
		for (uint64_t queues = 1; queues < 9; queues++) {
			uint64_t end = 0;

			NVW_FOR(q, queues) {
				assert_int_equal(graph_first(nodes, queues, q), end);
				end = graph_first(nodes, queues, q + 1);
				assert_true(graph_tasks(nodes, queues, 4, q) * 4 >=
					    end - graph_first(nodes, queues, q));
				assert_true(end - graph_first(nodes, queues, q) <= nodes / queues + 1);
			}
			assert_int_equal(end, nodes);
		}
	}
}

/* ---- The judge ------------------------------------------------------------------------------------- */

static void expect_violation(
	enum graph_algorithm a, void (*damage)(struct graph_plan *p, struct nvw_machine *m), const char *part)
{
	struct graph_plan *const p = prepare(a, "graph=grid:6x6 queues=2 group-size=8", 1);
	struct nvw_machine *const m = run_plan(p, 1);
	const char *why;

	damage(p, m);
	assert_int_equal(graph_verify(p, m, ideal_findings()), NVW_E_INCONSISTENT);
	assert_true(ideal_violations(&why) != 0);
	if (strstr(why, part) == NULL) {
		fail_msg("expected \"%s\" in \"%s\"", part, why);
	}
	ideal_destroy();
	graph_dispose(p);
}

/* The last byte of the values. */
static void change_value(struct graph_plan *p, struct nvw_machine *m)
{
	uint8_t *const value =
		(uint8_t *)(uintptr_t)p->result + 35 * (p->algorithm == GRAPH_PAGERANK ? 8 : 4);

	*value ^= 1;
}

static void lose_task(struct graph_plan *p, struct nvw_machine *m)
{
	p->popped--;
}

static void stop_early(struct graph_plan *p, struct nvw_machine *m)
{
	p->iterations--;
}

TEST(wrong_values_are_noticed)
{
	expect_violation(GRAPH_SSSP, change_value, "distance of node 35");
	expect_violation(GRAPH_COLOR, change_value, "colour of node 35");
	expect_violation(GRAPH_PAGERANK, change_value, "rank of node 35");
	expect_violation(GRAPH_PAGERANK, change_value, "rank of 1 of 36 nodes are wrong");
}

TEST(lost_tasks_and_iterations_are_noticed)
{
	expect_violation(GRAPH_COLOR, lose_task, "taken once");
	expect_violation(GRAPH_SSSP, stop_early, "iterations: expected");
}

/* ---- Options --------------------------------------------------------------------------------------- */

TEST(bad_options_are_refused)
{
	static const struct {
		enum graph_algorithm algorithm;
		const char *option;
		const char *part;
	} bad[] = {
		{GRAPH_COLOR, "queues=0", "--queues: expected 1 to"},
		{GRAPH_COLOR, "queues=65537", "--queues: expected 1 to"},
		{GRAPH_COLOR, "group-size=0", "--group-size: expected 1 to 1024"},
		{GRAPH_COLOR, "chunk=33554433", "--chunk"},
		{GRAPH_COLOR, "max-iterations=4294967296", "--max-iterations"},
		{GRAPH_COLOR, "graph=grid:0x0", "--graph: expected grid:WxH"},
		{GRAPH_COLOR, "graph=gird:4x4", "gird:4x4: No such file"},
		{GRAPH_SSSP, "kernels=3", "--kernels: expected 1 to 2, found 3"},
		{GRAPH_SSSP, "source=4096", "--source: expected 0 to 4095"},
		{GRAPH_PAGERANK, "epsilon=1.5", "--epsilon"},
		{GRAPH_PAGERANK, "epsilon=nan", "--epsilon"},
		{GRAPH_PAGERANK, "max-iterations=0", "--max-iterations: expected 1"},
	};

	for_each(one, bad) {
		void *plan = NULL;
		const int error = prepare_with(algorithms[one->algorithm], one->option, 1, -1, &plan);

		if (error == 0 || plan != NULL || strstr(nvw_error_message(), one->part) == NULL) {
			fail_msg("--%s: %d, expected \"%s\" in \"%s\"", one->option, error, one->part,
				nvw_error_message());
		}
	}
}

GROUP(folder_begin, shell_end);
