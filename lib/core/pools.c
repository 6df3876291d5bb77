/* SPDX-License-Identifier: BSD-3-Clause */
/* See pools.h. */
#include "pools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nvw__workload_pools(const struct nvw_workload *workload, const void *plan,
	struct nvw_pool_params ret_params[NVW_POOLS_MAX], unsigned *ret_count)
{
	*ret_count = 1;
	NVW_TRY(workload->pool(plan, &ret_params[0]));
	if (workload->further_pools) {
		*ret_count += workload->further_pools(plan, &ret_params[1]);
	}
	return 0;
}

char *nvw__pool_path(const char *first, unsigned i)
{
	const size_t n = strlen(first) + 16;
	char *const path = malloc(n);

	if (path) {
		snprintf(path, n, i > 0 ? "%s.%u" : "%s", first, i);
	}
	return path;
}
