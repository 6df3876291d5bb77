/* SPDX-License-Identifier: BSD-3-Clause */
/* Structures in extents of the heap that root words name: what recovery and checks test before they read
 * them. */
#ifndef WORKLOADS_COMMON_EXTENT_H
#define WORKLOADS_COMMON_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

#include <nvw/pool.h>

/* Root word i of the pool. */
uint64_t extent_root(const struct nvw_pool *pool, unsigned i);

/* Whether bytes bytes of the pool, at an offset that may be anything, are one allocated block. */
bool extent_is_allocated(const struct nvw_pool *pool, nvw_off off, uint64_t bytes);

#endif
