/* SPDX-License-Identifier: BSD-3-Clause */
/* The stacks as a workload: options, the plan, the hooks. docs/queue.md explains them. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/bounds.h"
#include "plan.h"

static const char *const scopes[] = {
	[STACK_SCOPE_WORKITEM] = "workitem", [STACK_SCOPE_WORKGROUP] = "workgroup", NULL};

static const struct nvw_option options[] = {
	{"count", NVW_OPTION_COUNT, "2048", NULL, "nodes that are pushed"},
	{"stacks", NVW_OPTION_COUNT, "64", NULL, "stacks; a node's number chooses one"},
	{"payload", NVW_OPTION_COUNT, "2", NULL, "8-byte words of a node, 0 to 30"},
	{"take", NVW_OPTION_COUNT, "50", NULL, "pushes followed by a taking, in percent"},
	{"scope", NVW_OPTION_CHOICE, "workitem", scopes, "workgroup: work-groups write their nodes together"},
	{"groups", NVW_OPTION_COUNT, "4", NULL, "work-groups"},
	{"group-size", NVW_OPTION_COUNT, "64", NULL, "work-items per work-group"},
	{NULL, NVW_OPTION_COUNT, NULL, NULL, NULL},
};

static int check_bounds(const struct nvw_options *options)
{
	static const struct bounds bounds[] = {
		{"count", 1, STACK_NODES_MAX},
		{"stacks", 1, STACK_STACKS_MAX},
		{"payload", 0, STACK_PAYLOAD_MAX},
		{"take", 0, 100},
		{"groups", 1, 1024},
		{"group-size", 1, 1024},
	};

	return BOUNDS_CHECK("stack", options, bounds);
}

static int prepare(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	struct stack_plan *p;

	NVW_TRY(check_bounds(options));
	p = malloc(sizeof *p);
	NVW_ALLOCATED(p, "stack: no memory for a plan");
	*p = (struct stack_plan){
		.seed = seed,
		.count = nvw_option_u64(options, "count"),
		.stacks = nvw_option_u64(options, "stacks"),
		.payload = nvw_option_u64(options, "payload"),
		.take = nvw_option_u64(options, "take"),
		.groups = nvw_option_u64(options, "groups"),
		.group_size = (unsigned)nvw_option_u64(options, "group-size"),
		.scope = (enum stack_scope)nvw_option_choice(options, "scope"),
		.mutation = (enum stack_mutation)mutation,
	};
	*ret_plan = p;
	return 0;
}

static void dispose(void *plan)
{
	free(plan);
}

static int pool(const void *plan, struct nvw_pool_params *ret_params)
{
	const struct stack_layout l = stack_layout_of(plan);

	assert(l.work_items <= STACK_WORK_ITEMS_MAX);
	*ret_params = (struct nvw_pool_params){
		.heap_bytes = stack_extent_bytes(&l) + UINT64_C(2) * NVW_POOL_CHUNK_BYTES,
		.layout = "stack",
	};
	return 0;
}

static const char *const operations[] = {
	[STACK_OPERATION_PUSH] = "push", [STACK_OPERATION_TAKE] = "take", NULL};

extern const struct nvw_workload nvw_workload_stack;

const struct nvw_workload nvw_workload_stack = {
	.name = "stack",
	.summary = "Treiber's stacks in NVRAM: lock-free pushes, and takings that happen exactly once",
	.options = options,
	.mutations = stack_mutations,
	.lacks = stack_lacks,
	.trial = "count=96 stacks=4 groups=2 group-size=16; "
		 "count=48 stacks=4 groups=2 group-size=16 scope=workgroup; "
		 "count=60 stacks=1 groups=3 group-size=5 payload=6 take=100",
	.prepare = prepare,
	.dispose = dispose,
	.pool = pool,
	.setup = stack_setup,
	.run = stack_run,
	.go_on = stack_go_on,
	.recover = stack_recover,
	.check = stack_check,
	.inspect = stack_inspect,
	.report = stack_report,
	.operations = operations,
	.unguarded = stack_unguarded,
};
