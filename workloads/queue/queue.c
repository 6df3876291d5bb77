/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue as a workload: options, the plan, the hooks. docs/queue.md explains it. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/bounds.h"
#include "plan.h"

static const char *const scopes[] = {
	[QUEUE_SCOPE_WORKITEM] = "workitem", [QUEUE_SCOPE_WORKGROUP] = "workgroup", NULL};
static const char *const placements[] = {[QUEUE_APART] = "apart", [QUEUE_TOGETHER] = "together", NULL};
static const char *const releases[] = {[QUEUE_DURABLE] = "durable", [QUEUE_VISIBLE] = "visible", NULL};

static const struct nvw_option options[] = {
	{"count", NVW_OPTION_COUNT, "4096", NULL, "messages"},
	{"producers", NVW_OPTION_COUNT, "4", NULL, "producer work-groups"},
	{"consumers", NVW_OPTION_COUNT, "4", NULL, "consumer work-groups, 1 to 255"},
	{"capacity", NVW_OPTION_COUNT, "1024", NULL, "slots of the ring, a multiple of the group size"},
	{"payload", NVW_OPTION_COUNT, "14", NULL, "8-byte words of a message, 1 to 62"},
	{"scope", NVW_OPTION_CHOICE, "workitem", scopes,
		"of the persist barriers; workgroup: a group writes its messages and records together"},
	{"placement", NVW_OPTION_CHOICE, "apart", placements,
		"apart: producers and consumers alternate over the CUs; together: producers first"},
	{"release", NVW_OPTION_CHOICE, "durable", releases,
		"when consumers may see a message: once it is durable, or as soon as it is visible"},
	{"group-size", NVW_OPTION_COUNT, "64", NULL, "work-items per work-group, messages per turn"},
	{NULL, NVW_OPTION_COUNT, NULL, NULL, NULL},
};

/* ---- The plan ------------------------------------------------------------------------------------- */

static int check_bounds(const struct nvw_options *options)
{
	static const struct bounds bounds[] = {
		{"count", 1, QUEUE_TICKETS_MAX},
		{"producers", 1, 1 << 16},
		{"consumers", 1, QUEUE_CONSUMERS_MAX},
		{"capacity", 1, QUEUE_TICKETS_MAX},
		{"payload", 1, QUEUE_PAYLOAD_MAX},
		{"group-size", 1, 1024},
	};

	return BOUNDS_CHECK("queue", options, bounds);
}

static int make_digests(struct queue_plan *p)
{
	assert(!p->digests);
	p->digests = calloc(p->count + 1, sizeof *p->digests);
	NVW_ALLOCATED(p->digests, "queue: no memory for a plan of %" PRIu64 " messages", p->count);
	NVW_FOR(t, p->count) {
		p->digests[t] = queue_message_word(p->seed, t, p->payload, p->payload);
	}
	return 0;
}

static void dispose(void *plan)
{
	struct queue_plan *const p = plan;

	if (p) {
		free(p->digests);
		free(p);
	}
}

static int prepare(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	struct queue_plan *p;
	int error;

	NVW_TRY(check_bounds(options));
	p = calloc(1, sizeof *p);
	NVW_ALLOCATED(p, "queue: no memory for a plan");
	*p = (struct queue_plan){
		.seed = seed,
		.count = nvw_option_u64(options, "count"),
		.capacity = nvw_option_u64(options, "capacity"),
		.payload = nvw_option_u64(options, "payload"),
		.producers = nvw_option_u64(options, "producers"),
		.consumers = nvw_option_u64(options, "consumers"),
		.group_size = (unsigned)nvw_option_u64(options, "group-size"),
		.scope = (enum queue_scope)nvw_option_choice(options, "scope"),
		.placement = (enum queue_placement)nvw_option_choice(options, "placement"),
		.release = (enum queue_release)nvw_option_choice(options, "release"),
		.mutation = (enum queue_mutation)mutation,
	};
	error = p->capacity % p->group_size == 0 ?
			make_digests(p) :
			nvw_fail(NVW_E_USAGE,
				"queue: --capacity: expected a multiple of --group-size=%u, found "
				"%" PRIu64,
				p->group_size, p->capacity);
	if (error != 0) {
		dispose(p);
		return error;
	}
	*ret_plan = p;
	return 0;
}

static int pool(const void *plan, struct nvw_pool_params *ret_params)
{
	const struct queue_plan *const p = plan;

	assert(p->capacity % p->group_size == 0);
	*ret_params = (struct nvw_pool_params){
		.heap_bytes = p->capacity * queue_slot_bytes(p->payload) +
			      p->consumers * queue_ledger_bytes(p->count) +
			      UINT64_C(2) * NVW_POOL_CHUNK_BYTES,
		.layout = "queue",
	};
	return 0;
}

static const char *const operations[] = {
	[QUEUE_OPERATION_PRODUCE] = "produce", [QUEUE_OPERATION_CONSUME] = "consume", NULL};

extern const struct nvw_workload nvw_workload_queue;

const struct nvw_workload nvw_workload_queue = {
	.name = "queue",
	.summary = "queue in NVRAM: producers append messages, consumers take each to exactly one durable "
		   "effect",
	.options = options,
	.mutations = queue_mutations,
	.lacks = queue_lacks,
	.trial = "count=96 producers=2 consumers=2 capacity=32 group-size=16; "
		 "count=96 producers=2 consumers=2 capacity=32 group-size=16 scope=workgroup payload=6; "
		 "count=60 producers=2 consumers=1 capacity=32 group-size=8 payload=6 release=visible "
		 "placement=together",
	.prepare = prepare,
	.dispose = dispose,
	.pool = pool,
	.setup = queue_setup,
	.run = queue_run,
	.go_on = queue_go_on,
	.recover = queue_recover,
	.check = queue_check,
	.parts = &queue_parts,
	.inspect = queue_inspect,
	.report = queue_report,
	.operations = operations,
	.unguarded = queue_unguarded,
};
