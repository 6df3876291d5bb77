/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A workload in which one work-group waits for another one's flag, and which lacks a persist barrier: the
 * payloads of group 0 may be lost when group 1 commits them. A barrier of the kernel between the two would
 * make group 0 wait for group 1, which waits for the flag: that run never ends. With the mutation, group 1
 * does not wait for ever: a barrier that keeps group 0 makes it give up, and what it commits then is wrong
 * without any crash. A shared object, as users build them.
 */
#include <stdlib.h>

#include <nvw/workload.h>

enum { GROUP = 64, LOOKS = 40, GAVE_UP = 2 };

struct args {
	uint64_t *flag;    /* in DRAM */
	uint64_t *payload; /* a line for each work-item; behind them the commit */
	bool impatient;
};

static uint64_t *word_of(const struct args *a, uint64_t i)
{
	return a->payload + 8 * i;
}

static void kernel(const void *args)
{
	const struct args *const a = args;

	uint64_t looks = 0, seen = 0;

	while (nvw_group_id() == 1 && seen == 0 && !(a->impatient && looks++ == LOOKS)) {
		seen = nvw_atomic_load(a->flag, NVW_ACQUIRE, NVW_SCOPE_AGENT);
	}
	nvw_store(word_of(a, nvw_global_id()), 1);
	nvw_barrier(NVW_WORKGROUP);
	if (nvw_global_id() == 0) {
		nvw_atomic_store(a->flag, 1, NVW_RELEASE, NVW_SCOPE_AGENT);
	}
	if (nvw_global_id() == GROUP) {
		nvw_store(word_of(a, (uint64_t)2 * GROUP), seen ? 1 : GAVE_UP);
		nvw_p_barrier_wi();
		nvw_ack(0);
	}
}

static int prepare(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	bool *const impatient = malloc(sizeof *impatient);

	if (impatient == NULL) {
		return nvw_fail(NVW_E_MEMORY, "no memory for a plan");
	}
	*impatient = mutation == 0;
	*ret_plan = impatient;
	return 0;
}

static int pool(const void *plan, struct nvw_pool_params *ret_params)
{
	*ret_params = (struct nvw_pool_params){.layout = "awaited"};
	return 0;
}

static int run(void *plan, struct nvw_machine *machine)
{
	const nvw_off chunks = nvw_pool_geometry(nvw_machine_pool(machine))->chunks;
	const struct args args = {.flag = nvw_alloc(machine, 64),
		.payload = (uint64_t *)(uintptr_t)(nvw_nvram_base(machine) + chunks),
		.impatient = *(const bool *)plan};

	if (args.flag == NULL) {
		return NVW_E_MEMORY;
	}
	return nvw_launch(machine, "awaited", kernel, &args, (uint64_t)2 * GROUP, GROUP);
}

static int check(
	void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	const nvw_off chunks = nvw_pool_geometry(pool)->chunks;

	const uint64_t commit = nvw_pool_word(pool, chunks + (nvw_off)2 * GROUP * 64);

	if (commit == GAVE_UP) {
		return nvw_violation(findings, chunks, "group 1 gave up");
	}
	if (commit == 0) {
		return acks && nvw_acked(acks, 0) ? nvw_violation(findings, chunks, "the commit is lost") : 0;
	}
	for (unsigned i = 0; i < GROUP; i++) {
		if (nvw_pool_word(pool, chunks + (nvw_off)i * 64) == 0) {
			return nvw_violation(findings, chunks + (nvw_off)i * 64,
				"payload %u is lost: it was committed", i);
		}
	}
	return 0;
}

static const struct nvw_mutation mutations[] = {
	{.name = "impatient", .breaks = "group 1 looks for the flag a few times", .found_by = "epoch"},
	{.name = NULL}};

extern const struct nvw_workload nvw_workload;

const struct nvw_workload nvw_workload = {
	.name = "awaited",
	.summary = "a work-group waits for another one's flag",
	.prepare = prepare,
	.dispose = free,
	.pool = pool,
	.run = run,
	.check = check,
	.mutations = mutations,
};
