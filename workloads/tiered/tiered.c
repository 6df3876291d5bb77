/* SPDX-License-Identifier: BSD-3-Clause */
/* The tiered table as a workload: options, the plan, the hooks. docs/tiered.md explains it. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bounds.h"
#include "plan.h"

static const struct nvw_option options[] = {
	{"count", NVW_OPTION_COUNT, "1024", NULL, "puts"},
	{"keys", NVW_OPTION_COUNT, "4", NULL, "keys per work-item"},
	{"records", NVW_OPTION_COUNT, "4", NULL, "log records per work-item"},
	{"words", NVW_OPTION_COUNT, "6", NULL, "8-byte words of a value, 0 to 64"},
	{"table-device", NVW_OPTION_STRING, "", NULL,
		"NVRAM device of the machine for table and values, in a pool of its own (default: in the "
		"log's pool)"},
	{"groups", NVW_OPTION_COUNT, "2", NULL, "work-groups"},
	{"group-size", NVW_OPTION_COUNT, "64", NULL, "work-items per work-group"},
	{NULL, NVW_OPTION_COUNT, NULL, NULL, NULL},
};

static int check_options(const struct nvw_options *options)
{
	static const struct bounds bounds[] = {
		{"count", 1, TIERED_COUNT_MAX},
		{"keys", 1, TIERED_KEYS_MAX},
		{"records", 1, TIERED_RECORDS_MAX},
		{"words", 0, TIERED_WORDS_MAX},
		{"groups", 1, 64},
		{"group-size", 1, 1024},
	};
	const char *const device = nvw_option_string(options, "table-device");

	if (strlen(device) < NVW_DEVICE_NAME_BYTES) {
		return BOUNDS_CHECK("tiered", options, bounds);
	}
	return nvw_fail(NVW_E_USAGE,
		"tiered: --table-device: a device's name has at most %d characters, not "
		"\"%s\"",
		NVW_DEVICE_NAME_BYTES - 1, device);
}

static int prepare(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	struct tiered_plan *p;

	NVW_TRY(check_options(options));
	p = malloc(sizeof *p);
	NVW_ALLOCATED(p, "tiered: no memory for a plan");
	*p = (struct tiered_plan){
		.seed = seed,
		.groups = nvw_option_u64(options, "groups"),
		.group_size = (unsigned)nvw_option_u64(options, "group-size"),
		.shape = {.keys = nvw_option_u64(options, "keys"),
			.records = nvw_option_u64(options, "records"),
			.words = nvw_option_u64(options, "words"),
			.count = nvw_option_u64(options, "count")},
		.mutation = (enum tiered_mutation)mutation,
	};
	p->shape.items = p->groups * p->group_size;
	snprintf(p->table_device, sizeof p->table_device, "%s", nvw_option_string(options, "table-device"));
	*ret_plan = p;
	return 0;
}

static void dispose(void *plan)
{
	free(plan);
}

/* Room for an extent, which is whole chunks. */
static uint64_t heap_for(uint64_t extent)
{
	assert(extent > 0);
	return extent + NVW_POOL_CHUNK_BYTES;
}

static int pool(const void *plan, struct nvw_pool_params *ret_params)
{
	const struct tiered_plan *const p = plan;
	const struct tiered_layout *const l = &p->shape;

	assert(l->items <= TIERED_ITEMS_MAX);
	*ret_params = (struct nvw_pool_params){
		.heap_bytes = heap_for(l->items * tiered_log_bytes(l)) +
			      (*p->table_device ? 0 : heap_for(tiered_table_bytes(l))),
		.layout = "tiered",
	};
	return 0;
}

static unsigned further_pools(const void *plan, struct nvw_pool_params *ret_params)
{
	const struct tiered_plan *const p = plan;

	if (!*p->table_device) {
		return 0;
	}
	ret_params[0] = (struct nvw_pool_params){
		.heap_bytes = heap_for(tiered_table_bytes(&p->shape)), .layout = "tiered"};
	snprintf(ret_params[0].device, sizeof ret_params[0].device, "%s", p->table_device);
	return 1;
}

static const char *const operations[] = {"put", NULL};

extern const struct nvw_workload nvw_workload_tiered;

const struct nvw_workload nvw_workload_tiered = {
	.name = "tiered",
	.summary = "a log on one NVRAM device, its table and values on another",
	.options = options,
	.mutations = tiered_mutations,
	.trial = "count=96 groups=2 group-size=8; count=60 groups=1 group-size=5 records=2 keys=1 words=1",
	.prepare = prepare,
	.dispose = dispose,
	.pool = pool,
	.further_pools = further_pools,
	.setup = tiered_setup,
	.run = tiered_run,
	.go_on = tiered_go_on,
	.recover = tiered_recover,
	.check = tiered_check,
	.parts = &tiered_parts,
	.inspect = tiered_inspect,
	.report = tiered_report,
	.operations = operations,
	.unguarded = tiered_unguarded,
};
