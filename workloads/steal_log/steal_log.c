/* SPDX-License-Identifier: BSD-3-Clause */
/* Work stealing with persistent logs as a workload: options, the plan, the hooks. docs/queue.md
 * explains it. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/bounds.h"
#include "plan.h"

static const char *const scenarios[] = {
	[STEAL_SCOPED] = "scoped", [STEAL_AGENT] = "agent", [STEAL_REMOTE] = "remote", NULL};

static const struct nvw_option options[] = {
	{"tasks", NVW_OPTION_COUNT, "256", NULL, "tasks at the beginning"},
	{"spawn", NVW_OPTION_COUNT, "50", NULL, "percent of the tasks that spawn a child"},
	{"depth", NVW_OPTION_COUNT, "8", NULL, "most generations"},
	{"groups", NVW_OPTION_COUNT, "8", NULL, "work-groups"},
	{"skew", NVW_OPTION_COUNT, "50", NULL,
		"percent of the tasks given to the first work-group beyond its share"},
	{"words", NVW_OPTION_COUNT, "15", NULL, "8-byte words of a task and of its result, 1 to 63"},
	{"scenario", NVW_OPTION_CHOICE, "agent", scenarios,
		"scoped: no stealing, work-group scope; agent: stealing, agent scope; remote: owners "
		"work-group, "
		"thieves remote scope, which implies rsp if the machine's protocol does not support it"},
	{"group-size", NVW_OPTION_COUNT, "64", NULL, "work-items per work-group"},
	{NULL, NVW_OPTION_COUNT, NULL, NULL, NULL},
};

/* ---- The plan ------------------------------------------------------------------------------------- */

static int check_bounds(const struct nvw_options *options)
{
	static const struct bounds bounds[] = {
		{"tasks", 1, STEAL_TASKS_MAX},
		{"spawn", 0, 100},
		{"depth", 1, STEAL_DEPTH_MAX},
		{"groups", 1, STEAL_GROUPS_MAX},
		{"skew", 0, 100},
		{"words", 1, STEAL_WORDS_MAX},
		{"group-size", 1, 1024},
	};

	NVW_TRY(BOUNDS_CHECK("steal-log", options, bounds));
	NVW_FAIL_IF(nvw_option_u64(options, "tasks") * nvw_option_u64(options, "depth") > STEAL_TASKS_MAX,
		NVW_E_USAGE,
		"steal-log: --tasks times --depth: expected at most %d, found %" PRIu64 " times %" PRIu64,
		STEAL_TASKS_MAX, nvw_option_u64(options, "tasks"), nvw_option_u64(options, "depth"));
	return 0;
}

/* Parents have lower numbers than their children, so one pass determines all tasks and their inputs. */
static void grow_tree(struct steal_plan *p)
{
	const uint64_t roots = p->tree.roots, words = p->words;

	NVW_FOR(t, roots) {
		p->exists[t] = true;
		NVW_FOR(i, words) {
			p->inputs[t * words + i] = steal_root_input(p->seed, t, i);
		}
	}
	NVW_FOR(t, steal_task_count(&p->tree)) {
		const uint64_t *const input = p->inputs + t * words;
		const uint64_t child = t + roots;

		p->count += p->exists[t];
		if (!p->exists[t] || !steal_has_child(p->tree, t, steal_result(t, input[0], 0))) {
			continue;
		}
		assert(child < steal_task_count(&p->tree));
		p->exists[child] = true;
		NVW_FOR(i, words) {
			p->inputs[child * words + i] = steal_child_input(steal_result(t, input[i], i));
		}
	}
}

static void dispose(void *plan)
{
	struct steal_plan *const p = plan;

	if (p) {
		free(p->inputs);
		free(p->exists);
		free(p);
	}
}

static int prepare(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	struct steal_plan *p;

	NVW_TRY(check_bounds(options));
	p = calloc(1, sizeof *p);
	NVW_ALLOCATED(p, "steal-log: no memory for a plan");
	*p = (struct steal_plan){
		.seed = seed,
		.words = nvw_option_u64(options, "words"),
		.groups = nvw_option_u64(options, "groups"),
		.skew = nvw_option_u64(options, "skew"),
		.tree = {nvw_option_u64(options, "tasks"), nvw_option_u64(options, "depth"),
			nvw_option_u64(options, "spawn")},
		.group_size = (unsigned)nvw_option_u64(options, "group-size"),
		.scenario = (enum steal_scenario)nvw_option_choice(options, "scenario"),
		.mutation = (enum steal_mutation)mutation,
	};
	p->inputs = calloc(steal_task_count(&p->tree), 8 * p->words);
	p->exists = calloc(steal_task_count(&p->tree), sizeof *p->exists);
	if (!p->inputs || !p->exists) {
		dispose(p);
		return nvw_fail(NVW_E_MEMORY, "steal-log: no memory for the inputs of tasks");
	}
	grow_tree(p);
	assert(p->count >= p->tree.roots);
	*ret_plan = p;
	return 0;
}

static struct nvw_asked asks(const struct nvw_options *options)
{
	const bool remote = nvw_option_choice(options, "scenario") == STEAL_REMOTE;

	return (struct nvw_asked){.scopes = remote ? NVW_ASKS_REMOTE : NVW_ASKS_NOTHING,
		.option = "--scenario=remote",
		.fallback = "rsp"};
}

static int pool(const void *plan, struct nvw_pool_params *ret_params)
{
	const struct steal_plan *const p = plan;

	assert(p->count <= steal_task_count(&p->tree));
	*ret_params = (struct nvw_pool_params){
		.heap_bytes =
			(steal_task_count(&p->tree) + p->groups * p->count) * steal_item_bytes(p->words) +
			UINT64_C(2) * NVW_POOL_CHUNK_BYTES,
		.layout = "steal-log",
	};
	return 0;
}

static const char *const operations[] = {"task", NULL};

extern const struct nvw_workload nvw_workload_steal_log;

const struct nvw_workload nvw_workload_steal_log = {
	.name = "steal-log",
	.summary = "work stealing: tasks in NVRAM, volatile deques, and a durable log of results for each "
		   "work-group",
	.options = options,
	.mutations = steal_mutations,
	.lacks = steal_lacks,
	.trial = "tasks=24 groups=4 depth=4 group-size=16; "
		 "tasks=16 groups=4 depth=4 group-size=16 skew=100 words=7 spawn=75; "
		 "tasks=24 groups=4 depth=4 group-size=16 scenario=scoped",
	.asks = asks,
	.prepare = prepare,
	.dispose = dispose,
	.pool = pool,
	.setup = steal_setup,
	.run = steal_run,
	.go_on = steal_go_on,
	.recover = steal_recover,
	.check = steal_check,
	.parts = &steal_parts,
	.inspect = steal_inspect,
	.report = steal_report,
	.operations = operations,
	.unguarded = steal_unguarded,
};
