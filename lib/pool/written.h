/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What was ever written to the file of a pool. The rest are holes, which read as 0: an epoch that never
 * began, an unused entry, a free chunk. So walks through the tables of a large pool read what is used.
 */
#ifndef NVW_POOL_WRITTEN_H
#define NVW_POOL_WRITTEN_H

#include <nvw/pool.h>

/* What a walk in ascending order knows: no hole is in [from, to), nothing but a hole in [begin, from). It
 * begins as zero. */
struct nvw__written {
	nvw_off begin, from, to;
};

/*
 * The first offset from off on that may hold something; past the end of the pool if there is none. This is
 * off in an image, in a new pool, in one that has reserved its blocks, in a private one after a write, and
 * on a FUSE file system. During a walk nobody writes to what is still to come.
 */
nvw_off nvw__written_from(const struct nvw_pool *pool, nvw_off off, struct nvw__written *walk);

#endif
