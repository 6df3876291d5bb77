/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library with one workload: btree under another name, which does not say what it does not guard. A
 * damaged value that its check reads and accepts is silent.
 */
#include <stdio.h>

#include <nvw/workload.h>

extern const struct nvw_workload nvw_workload_btree;
extern const struct nvw_workload *const nvw_workloads[];

static struct nvw_workload unsaid;

const struct nvw_workload *const nvw_workloads[] = {&unsaid, NULL};

static int pool(const void *plan, struct nvw_pool_params *ret_params)
{
	NVW_TRY(nvw_workload_btree.pool(plan, ret_params));
	snprintf(ret_params->layout, sizeof ret_params->layout, "unsaid");
	return 0;
}

__attribute__((constructor)) static void begin(void)
{
	unsaid = nvw_workload_btree;
	unsaid.name = "unsaid";
	unsaid.pool = pool;
	unsaid.unguarded = NULL;
}
