/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools that are made word by word, for checks in parts (nvw/workload.h). */
#include "header.h"
#include "internal.h"

unsigned nvw_pool_holders(const struct nvw_pool *pool, uint64_t key, nvw_off *ret_offs, unsigned max)
{
	if (pool->image.holders) {
		return pool->image.holders(pool->image.context, key, ret_offs, max);
	}
	return 0;
}

bool nvw__is_recovered(const struct nvw_pool *pool)
{
	return pool->image.recovered;
}
