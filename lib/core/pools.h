/* SPDX-License-Identifier: BSD-3-Clause */
/* The pools of a run: those that a workload's plan needs, and their paths. */
#ifndef NVW_CORE_POOLS_H
#define NVW_CORE_POOLS_H

#include <nvw/workload.h>

/* All pools of the run, the first one first. The workload has pool(). */
NVW_CHECKED int nvw__workload_pools(const struct nvw_workload *workload, const void *plan,
	struct nvw_pool_params ret_params[NVW_POOLS_MAX], unsigned *ret_count);

/* The path of pool i of a run, from the first one's. To be freed; NULL without memory. */
char *nvw__pool_path(const char *first, unsigned i);

#endif
