/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The persistent heap: pmalloc and pfree for kernels. A crash neither leaks a block nor allocates one twice.
 *
 * The heap consists of chunks of 64 KiB. A chunk is free, belongs to one size class (64, 128, 256, 512, 1024,
 * 2048 or 4352 bytes: 4 KiB and a header), or is part of a large extent of whole chunks. A class chunk holds
 * a table of sealed *block words*, one per block, and the blocks. A block word is free, allocated, or
 * allocated or freed by an epoch (stream and number) that may not have completed.
 *
 * Guarantees after a crash at any point, once recovery has run
 *   (1) a block allocated under an epoch is allocated if the epoch completed, free if not;
 *   (2) a block freed under an epoch is free if the epoch completed, allocated with its old content if not;
 *   (3) a block allocated or freed without an epoch (NULL) is as its last durable block word says; the
 *       structure that uses it knows which blocks it can reach, and its recovery frees the others with
 *       nvw_heap_sweep() (nvw/recovery.h);
 *   (4) no block is handed out twice: a block freed during a kernel is reused only after the next
 *       nvw_heap_provision(), when the free is durable and no host reader (nvw/readers.h) can still access
 *       it.
 */
#ifndef NVW_HEAP_H
#define NVW_HEAP_H

#include <nvw/epoch.h>

struct nvw_machine;

/* ---- From kernels ---------------------------------------------------------------------------- */

/*
 * Allocates a block of at least bytes bytes (1 to NVW_HEAP_BLOCK_MAX), 64-byte aligned, with undefined
 * content. Returns 0 if the blocks set aside by nvw_heap_provision() are used up. Any number of work-items
 * may call it concurrently. Costs one atomic add to DRAM and one 8-byte store to NVRAM, which persists like
 * any other store of the work-item: the caller's next persist barrier makes the allocation durable before any
 * later reference to it. With epoch NULL, guarantee (3) applies.
 */
nvw_off nvw_pmalloc(const struct nvw_pmem *pmem, uint64_t bytes, const struct nvw_epoch *epoch);

/* Frees the block: one 8-byte store to NVRAM. bytes is the size that it was allocated with. */
void nvw_pfree(const struct nvw_pmem *pmem, nvw_off block, uint64_t bytes, const struct nvw_epoch *epoch);

/* The block size to which bytes is rounded up; 0 if bytes is 0 or above NVW_HEAP_BLOCK_MAX. */
uint64_t nvw_heap_block_bytes(uint64_t bytes);

/* ---- From the host, between kernels ---------------------------------------------------------- */

/*
 * Sets aside at least count free blocks for bytes, taking fresh chunks as needed; durable at once, in no
 * simulated time. This call also finds the blocks freed by completed kernels. NVW_E_FULL if the pool is too
 * small; the blocks set aside before remain usable.
 */
NVW_CHECKED int nvw_heap_provision(
	struct nvw_machine *machine, struct nvw_pmem *pmem, uint64_t bytes, uint64_t count);

/*
 * Allocates a large extent of whole chunks, for tables: at least bytes bytes, 64-byte aligned, zeroed,
 * durable at once. If a crash comes before the structure refers to it, the structure's recovery sweeps it
 * (3). NVW_E_FULL if no run of free chunks is long enough.
 */
NVW_CHECKED int nvw_heap_alloc_extent(
	struct nvw_machine *machine, struct nvw_pmem *pmem, uint64_t bytes, nvw_off *ret_extent);
NVW_CHECKED int nvw_heap_free_extent(struct nvw_machine *machine, struct nvw_pmem *pmem, nvw_off extent);

#endif
