/* SPDX-License-Identifier: BSD-3-Clause */
/* sssp, color and pagerank as workloads: options, plans, figures. docs/graph.md explains them. */
#include <stdlib.h>

#include "common/bounds.h"
#include "common/figures.h"
#include "plan.h"

enum { QUEUES_MAX = 1 << 16, GROUP_MAX = 1024 };

/* ---- Scenarios ------------------------------------------------------------------------------------- */

enum { SCENARIOS = 7 };

/* alsop16 IV.B and V.C. The last four are made for the protocols of the same names. */
#define MADE_FOR(protocol, scopes)                             \
	{                                                      \
		scopes, "--scenario=" protocol, protocol, NULL \
	}
/* clang-format off */
static const struct graph_scenario scenarios[SCENARIOS] = {
	{"baseline", false, NVW_SCOPE_AGENT, NVW_SCOPE_AGENT, {.option = "--scenario=baseline"}},
	{"scope-only", false, NVW_SCOPE_WORKGROUP, NVW_SCOPE_WORKGROUP, {.option = "--scenario=scope-only"}},
	{"steal-only", true, NVW_SCOPE_AGENT, NVW_SCOPE_AGENT, {.option = "--scenario=steal-only"}},
	{"rsp", true, NVW_SCOPE_WORKGROUP, NVW_SCOPE_REMOTE_AGENT, MADE_FOR("rsp", NVW_ASKS_REMOTE)},
	{"denovo-b", true, NVW_SCOPE_AGENT, NVW_SCOPE_AGENT, MADE_FOR("denovo-b", NVW_ASKS_NOTHING)},
	{"hlrc", true, NVW_SCOPE_AGENT, NVW_SCOPE_AGENT, MADE_FOR("hlrc", NVW_ASKS_NOTHING)},
	{"hlrc-scoped", true, NVW_SCOPE_WORKGROUP, NVW_SCOPE_AGENT, MADE_FOR("hlrc-scoped", NVW_ASKS_ALL)},
};
/* clang-format on */

static const char *const scenario_names[] = {
	"baseline", "scope-only", "steal-only", "rsp", "denovo-b", "hlrc", "hlrc-scoped", NULL};

static const char *const steals[] = {"one", "half", NULL};

/* ---- Options --------------------------------------------------------------------------------------- */

/* clang-format off */
#define COMMON_OPTIONS(iterations)                                                                        \
	{"graph", NVW_OPTION_STRING, "grid:64x64", NULL, GRAPH_HELP},                                     \
	{"scenario", NVW_OPTION_CHOICE, "baseline", scenario_names,                                       \
		"scopes of the task queues, and whether tasks are stolen (alsop16 IV.B); "                 \
		"the last four imply the protocol of that name"},                                          \
	{"queues", NVW_OPTION_COUNT, "128", NULL, "task queues, one per work-group"},                       \
	{"group-size", NVW_OPTION_COUNT, "128", NULL, "work-items per work-group"},                         \
	{"chunk", NVW_OPTION_COUNT, "0", NULL, "nodes per task [0: one per work-item of a work-group]"}, \
	{"steal", NVW_OPTION_CHOICE, "one", steals, "tasks per steal: one, or half of the remaining tasks"}, \
	{"victims", NVW_OPTION_COUNT, "0", NULL, "queues that a thief tries [0: all]"},        \
	{"max-iterations", NVW_OPTION_COUNT, iterations, NULL, "most iterations [0: until done]"}, \
	{"kernels", NVW_OPTION_COUNT, "2", NULL, \
		"launches per iteration: 2 (gather and apply, as in Pannotia), or 1 that does both"}
#define OPTIONS_END {NULL, NVW_OPTION_COUNT, NULL, NULL, NULL}
/* clang-format on */

const struct nvw_option graph_sssp_options[] = {
	COMMON_OPTIONS("0"),
	{"source", NVW_OPTION_COUNT, "0", NULL, "start node of the distances, counted from 0"},
	OPTIONS_END,
};

const struct nvw_option graph_color_options[] = {
	COMMON_OPTIONS("0"),
	OPTIONS_END,
};

const struct nvw_option graph_pagerank_options[] = {
	COMMON_OPTIONS("20"),
	{"epsilon", NVW_OPTION_REAL, "0", NULL, "stop when no rank changes by more; the mean rank is 1"},
	OPTIONS_END,
};

static int take_common(const char *workload, const struct nvw_options *options, struct graph_plan *p)
{
	static const struct bounds bounds[] = {
		{"queues", 1, QUEUES_MAX},
		{"group-size", 1, GROUP_MAX},
		{"chunk", 0, GRAPH_NODES_MAX},
		{"max-iterations", 0, UINT32_MAX},
		{"kernels", 1, 2},
	};

	NVW_TRY(BOUNDS_CHECK(workload, options, bounds));
	p->queues = nvw_option_u64(options, "queues");
	p->group_size = (unsigned)nvw_option_u64(options, "group-size");
	p->chunk = nvw_option_u64(options, "chunk");
	p->max_iterations = nvw_option_u64(options, "max-iterations");
	p->kernels = nvw_option_u64(options, "kernels");
	p->victims = nvw_option_u64(options, "victims");
	p->steals_half = nvw_option_choice(options, "steal") == 1;
	if (p->victims == 0 || p->victims >= p->queues) {
		p->victims = p->queues - 1;
	}
	if (p->chunk == 0) {
		p->chunk = p->group_size;
	}
	p->scenario = &scenarios[nvw_option_choice(options, "scenario")];
	return graph_make(nvw_option_string(options, "graph"), p->seed, &p->graph);
}

static int take_source(const char *workload, const struct nvw_options *options, struct graph_plan *p)
{
	const struct bounds bounds[] = {{"source", 0, p->graph.nodes - 1}};

	p->source = (uint32_t)nvw_option_u64(options, "source");
	return BOUNDS_CHECK(workload, options, bounds);
}

/* Rounding may change ranks forever, so "until done" needs a limit. */
static int take_epsilon(const struct nvw_options *options, struct graph_plan *p)
{
	const double epsilon = nvw_option_real(options, "epsilon");

	NVW_FAIL_IF(!(epsilon >= 0 && epsilon <= 1), NVW_E_USAGE, "--epsilon: expected 0 to 1, found %g",
		epsilon);
	p->epsilon = (uint64_t)(epsilon * (double)GRAPH_RANK_ONE);
	NVW_FAIL_IF(p->max_iterations == 0 && p->epsilon == 0, NVW_E_USAGE,
		"--max-iterations: expected 1 or more for pagerank without --epsilon, found 0");
	return 0;
}

static int graph_prepare(
	const struct nvw_options *options, uint64_t seed, enum graph_algorithm algorithm, void **ret_plan)
{
	static const char *const names[] = {
		[GRAPH_SSSP] = "sssp", [GRAPH_COLOR] = "color", [GRAPH_PAGERANK] = "pagerank"};
	struct graph_plan *const p = calloc(1, sizeof(*p));
	int error;

	NVW_ALLOCATED(p, "no memory for a plan");
	p->algorithm = algorithm;
	p->seed = seed;
	error = take_common(names[algorithm], options, p);
	if (error == 0 && algorithm == GRAPH_SSSP) {
		error = take_source(names[algorithm], options, p);
	}
	if (error == 0 && algorithm == GRAPH_PAGERANK) {
		error = take_epsilon(options, p);
	}
	if (error) {
		graph_dispose(p);
		return error;
	}
	*ret_plan = p;
	return 0;
}

int graph_prepare_sssp(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	return graph_prepare(options, seed, GRAPH_SSSP, ret_plan);
}

int graph_prepare_color(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	return graph_prepare(options, seed, GRAPH_COLOR, ret_plan);
}

int graph_prepare_pagerank(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	return graph_prepare(options, seed, GRAPH_PAGERANK, ret_plan);
}

static struct nvw_asked asks(const struct nvw_options *options)
{
	return scenarios[nvw_option_choice(options, "scenario")].asked;
}

void graph_dispose(void *plan)
{
	struct graph_plan *const p = plan;

	graph_free(&p->graph);
	free(p);
}

/* ---- Figures --------------------------------------------------------------------------------------- */

static uint32_t largest_degree(const struct graph *g)
{
	uint32_t largest = 0;

	NVW_FOR(v, g->nodes) {
		if (graph_degree(g, v) > largest) {
			largest = graph_degree(g, v);
		}
	}
	return largest;
}

int graph_report(void *plan, struct nvw_machine *machine, struct nvw_description *description)
{
	const struct graph_plan *const p = plan;
	const struct figure rows[] = {
		{"graph.nodes", p->graph.nodes, "count", "nodes"},
		{"graph.edges", p->graph.arcs / 2, "count",
			"undirected edges, without self loops and repetitions"},
		{"graph.largest_degree", largest_degree(&p->graph), "count",
			"neighbours of the node that has most"},
		{"graph.iterations", p->iterations, "count", "kernel launches, each over all nodes"},
		{"graph.done", p->is_done, "bool", "the last iteration left nothing to do"},
		{"graph.tasks_popped", p->popped, "count",
			"tasks that work-groups took from their own queue"},
		{"graph.tasks_stolen", p->stolen, "count", "tasks that they took from another's"},
		{"graph.steal_attempts", p->attempts, "count",
			"looks into another's queue, with or without a task"},
	};

	NVW_TRY(nvw_describe_text(description, "graph.scenario", p->scenario->name, "alsop16 IV.B"));
	NVW_TRY(FIGURES_DESCRIBE(description, rows));
	if (p->algorithm == GRAPH_SSSP) {
		return nvw_describe_text(
			description, "graph.weights", GRAPH_WEIGHT_FUNCTION, "weight of an edge");
	}
	return 0;
}

/* ---- The workloads --------------------------------------------------------------------------------- */

#define GRAPH_WORKLOAD(algorithm, what)                                    \
	extern const struct nvw_workload nvw_workload_##algorithm;         \
	const struct nvw_workload nvw_workload_##algorithm = {             \
		.name = #algorithm,                                        \
		.summary = what " on task queues with stealing (alsop16)", \
		.options = graph_##algorithm##_options,                    \
		.asks = asks,                                              \
		.prepare = graph_prepare_##algorithm,                      \
		.dispose = graph_dispose,                                  \
		.run = graph_run,                                          \
		.verify = graph_verify,                                    \
		.report = graph_report,                                    \
	}

GRAPH_WORKLOAD(sssp, "single-source shortest paths of a graph");
GRAPH_WORKLOAD(color, "graph coloring");
GRAPH_WORKLOAD(pagerank, "page rank of a graph");
