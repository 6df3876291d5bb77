/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The graph workloads on the emulated machine: every scenario is right under a protocol that gives it the
 * scopes it asks for, and the judge notices one that does not.
 */
#include "common/test.h"

#include <stdio.h>

#include "check/check.h"
#include "common/options.h"
#include "common/rig.h"

#include "papers/kernels/graph/plan.h"

extern const struct nvw_workload nvw_workload_sssp, nvw_workload_color, nvw_workload_pagerank;

static const struct nvw_workload *const algorithms[] = {
	[GRAPH_SSSP] = &nvw_workload_sssp,
	[GRAPH_COLOR] = &nvw_workload_color,
	[GRAPH_PAGERANK] = &nvw_workload_pagerank,
};

static const char *kernels = "2"; /* an iteration */

/* Hubs are in the first queues, so that the others have to steal. */
static struct graph_plan *prepare(enum graph_algorithm a, const char *scenario)
{
	void *plan;

	assert_ok(prepare_with(algorithms[a],
		formatted("scenario=%s graph=rmat:9:8 queues=8 group-size=64 chunk=4 max-iterations=4 "
			  "kernels=%s",
			scenario, kernels),
		1, -1, &plan));
	return plan;
}

static struct emu_stats stats; /* of the last run */

/* 0 if the run is verified, else the first finding; the plan's figures stay in *ret_figures. */
static bool run(enum graph_algorithm a, const char *scenario, const char *protocol,
	struct graph_plan *ret_figures, char *ret_finding, size_t finding_bytes)
{
	struct graph_plan *const p = prepare(a, scenario);
	struct nvw_findings findings = {0};
	struct nvw_machine *machine;
	int error;

	assert_ok(rig_alone("alsop16", SETTINGS("gpu.cus=8", formatted("protocol=%s", protocol)), &machine));
	if (graph_run(p, machine) != 0) {
		fail_msg("%s, %s: %s", scenario, protocol, nvw_error_message());
	}
	error = graph_verify(p, machine, &findings);
	assert_true(error == 0 || error == NVW_E_INCONSISTENT);
	assert_int_equal(error == 0, findings.count == 0);
	snprintf(ret_finding, finding_bytes, "%s", error ? findings.finding[0].text : "");
	*ret_figures = *p;
	stats = *emu_statistics(machine);
	emu_destroy(machine);
	graph_dispose(p);
	return error == 0;
}

static void expect_verified(const char *scenario, const char *protocol)
{
	NVW_FOR(a, NVW_COUNT(algorithms)) {
		struct graph_plan figures;
		char finding[256];

		if (!run(a, scenario, protocol, &figures, finding, sizeof(finding))) {
			fail_msg("%s, %s: %s", scenario, protocol, finding);
		}
		assert_int_equal(figures.stolen != 0, figures.scenario->steals);
	}
}

TEST(scenarios_that_need_no_remote_scope_are_right_under_every_protocol)
{
	static const char *const protocols[] = {"vi", "gd", "gh"};

	for_each(protocol, protocols) {
		expect_verified("baseline", *protocol);
		expect_verified("scope-only", *protocol);
		expect_verified("steal-only", *protocol);
	}
}

TEST(an_iteration_of_one_kernel_is_right_too)
{
	kernels = "1";
	expect_verified("baseline", "gd");
	expect_verified("steal-only", "denovo-b");
	expect_verified("hlrc", "hlrc");
	kernels = "2";
}

/*
 * The second kernel of an iteration reads what the first has written, which protocols that register stores
 * still have in the L1: of two kernels, denovo-b reads less from the L2 than gd, as long as a queue's nodes
 * fit.
 */
TEST(the_second_kernel_of_an_iteration_rereads_what_the_first_has_written)
{
	struct graph_plan figures;
	struct emu_stats gd;
	char finding[256];

	assert_true(run(GRAPH_PAGERANK, "baseline", "gd", &figures, finding, sizeof(finding)));
	assert_int_equal(stats.kernels, 2 * figures.iterations);
	gd = stats;
	assert_true(run(GRAPH_PAGERANK, "baseline", "denovo-b", &figures, finding, sizeof(finding)));
	assert_true(stats.l1_load_misses < gd.l1_load_misses);
	kernels = "1";
	assert_true(run(GRAPH_PAGERANK, "baseline", "gd", &figures, finding, sizeof(finding)));
	assert_int_equal(stats.kernels, figures.iterations);
	kernels = "2";
}

TEST(every_scenario_is_right_without_scopes)
{
	static const char *const scenarios[] = {"rsp", "denovo-b", "hlrc", "hlrc-scoped"};

	for_each(scenario, scenarios) {
		expect_verified(*scenario, "gd");
	}
}

/* vi takes a remote scope for the one without, which promises less: tasks are taken twice. */
TEST(a_thief_whose_scope_does_not_reach_the_owner_is_noticed)
{
	struct graph_plan figures;
	char finding[256];

	assert_false(run(GRAPH_SSSP, "rsp", "vi", &figures, finding, sizeof(finding)));
	assert_has(finding, "to be taken once");
	assert_true(figures.popped + figures.stolen > figures.tasks);
}
