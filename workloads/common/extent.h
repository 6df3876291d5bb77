/* SPDX-License-Identifier: BSD-3-Clause */
/* Structures that lie in extents of the heap, which root words name: what recovery and checks ask before they look. */
#ifndef WORKLOADS_COMMON_EXTENT_H
#define WORKLOADS_COMMON_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

#include <nvw/pool.h>

/* Root word i of the pool. */
uint64_t extent_root(const struct nvw_pool *pool, unsigned i);

/* Is so much of the pool, from an offset that may be anything, one allocated block? */
bool extent_is_allocated(const struct nvw_pool *pool, nvw_off off, uint64_t bytes);

#endif
