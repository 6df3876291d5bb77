/* SPDX-License-Identifier: BSD-3-Clause */
/* See parts_runs.h. */
#include "parts_runs.h"

#include "common/options.h"

const struct small runs[RUNS] = {
	{&nvw_workload_queue, "count=24 producers=2 consumers=2 capacity=8 group-size=4 payload=2"},
	{&nvw_workload_queue,
		"count=24 producers=1 consumers=2 capacity=8 group-size=4 payload=3 scope=workgroup"},
	{&nvw_workload_steal_log, "tasks=4 groups=3 depth=4 group-size=4 skew=100 words=3 spawn=95"},
	{&nvw_workload_kv,
		"count=120 batch=24 slots=16 group-size=8 mix=put=80,delete=20 records=40 value-size=16B"},
	{&nvw_workload_btree, "count=90 preload=30 batch=30 group-size=8"},
	{&nvw_workload_btree, "count=40 preload=40 batch=20 group-size=8 op=update"},
	{&nvw_workload_btree, "count=40 preload=40 batch=20 group-size=8 op=delete"},
	{&nvw_workload_tiered, "count=40 groups=2 group-size=2 keys=2 records=3 words=2"},
	{&nvw_workload, "count=60"},
};

void rig_with_bug(struct rig *r, const struct small *s, const char *name)
{
	assert_true(rig_create(r, s, mutation_of(s->workload, name), 1, NULL));
}

const struct nvw_workload *with(const struct nvw_workload *workload,
	int (*check)(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks, uint64_t part,
		struct nvw_findings *findings))
{
	static struct nvw_workload w;
	static struct nvw_parts parts;

	w = *workload;
	parts = *workload->parts;
	parts.check = check;
	w.parts = &parts;
	return &w;
}

int check_nothing(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks, uint64_t part,
	struct nvw_findings *findings)
{
	return 0;
}
