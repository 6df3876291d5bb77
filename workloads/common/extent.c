/* SPDX-License-Identifier: BSD-3-Clause */
/* See extent.h. */
#include <assert.h>
#include "extent.h"

#include <nvw/recovery.h>

uint64_t extent_root(const struct nvw_pool *pool, unsigned i)
{
	assert(i < NVW_POOL_ROOTS);
	return nvw_pool_word(pool, nvw_pool_root_off(nvw_pool_geometry(pool), i));
}

bool extent_is_allocated(const struct nvw_pool *pool, nvw_off off, uint64_t bytes)
{
	uint64_t allocated = 0;

	return nvw_heap_is_allocated(pool, off, &allocated) && bytes <= allocated &&
	       nvw_pool_geometry(pool)->bytes - off >= bytes;
}
