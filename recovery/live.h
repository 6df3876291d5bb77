/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of a pool that hold something, by kind. For tools that damage pools, and for comparing two pools
 * in what counts: bytes outside of these ranges may differ between pools that mean the same.
 */
#ifndef RECOVERY_LIVE_H
#define RECOVERY_LIVE_H

#include <nvw/recovery.h>

enum rec_live {
	REC_LIVE_HEADER, /* both pages */
	REC_LIVE_LOG,    /* undo log entries that were ever written; those of settled epochs are not needed */
	REC_LIVE_EPOCH,  /* the epoch status table */
	REC_LIVE_HEAP,   /* the chunk table, and the block words of chunks of a size class */
	REC_LIVE_DATA,   /* root words, allocated blocks and extents */
	REC_LIVE_KINDS
};

/*
 * Visits these ranges of one pool, in ascending order within a kind; ends at the first visit that does not
 * return 0, and returns that. needed: recovery or the structure depends on the bytes. If recovery would
 * refuse the pool, the ranges end where the damage is (NVW_E_DAMAGED).
 */
NVW_CHECKED int rec_each_live(const struct nvw_pool *pool,
	int (*visit)(void *context, enum rec_live kind, nvw_off off, uint64_t bytes, bool needed),
	void *context);

#endif
