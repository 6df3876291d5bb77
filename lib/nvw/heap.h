/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The persistent heap: pmalloc and pfree for kernels, which a crash neither leaks nor doubles.
 *
 * The heap is chunks of 64 KiB. A chunk is free, belongs to one size class (64, 128, 256, 512,
 * 1024, 2048 or 4352 bytes: 4 KiB and a header), or is part of a large extent of whole chunks. A class chunk holds a table of
 * sealed *block words*, one a block, and the blocks. A block word is free, allocated, or allocated or
 * freed by an epoch (stream and number) that may not have completed.
 *
 * Guarantees after a crash at any point, once recovery has run
 *   (1) a block allocated under an epoch is allocated if the epoch completed, free if not;
 *   (2) a block freed under an epoch is free if the epoch completed, allocated with its old content if not;
 *   (3) a block allocated or freed without an epoch (NULL) is as its last durable block word says; the
 *       structure that uses it knows what it can reach, and its recovery hands the rest back with
 *       nvw_heap_sweep() (nvw/recovery.h);
 *   (4) no block is handed out twice: a block freed during a kernel returns to use at the next
 *       nvw_heap_provision(), when the free is durable and no host reader (nvw/readers.h) can still look at it.
 */
#ifndef NVW_HEAP_H
#define NVW_HEAP_H

#include <nvw/epoch.h>

struct nvw_machine;

/* ---- From kernels -------------------------------------------------------------------------------- */

/*
 * A block of at least bytes (1 to NVW_HEAP_BLOCK_MAX), 64-byte aligned, its content undefined; 0 if what
 * nvw_heap_provision() set aside is used up. Any number of work-items call it at once. One atomic add to
 * DRAM and one 8-byte store to NVRAM, which persists like any other store of the work-item: the caller's
 * next persist barrier makes the allocation durable before what refers to it. epoch NULL: guarantee (3).
 */
nvw_off nvw_pmalloc(const struct nvw_pmem *pmem, uint64_t bytes, const struct nvw_epoch *epoch);

/* Gives the block back: one 8-byte store to NVRAM. bytes is what it was allocated with. */
void nvw_pfree(const struct nvw_pmem *pmem, nvw_off block, uint64_t bytes, const struct nvw_epoch *epoch);

/* The block size that bytes is rounded up to; 0 if bytes is 0 or above NVW_HEAP_BLOCK_MAX. */
uint64_t nvw_heap_block_bytes(uint64_t bytes);

/* ---- From the host, between kernels --------------------------------------------------------------- */

/*
 * Sets aside at least count free blocks for bytes, taking fresh chunks as needed; durable at once, no
 * simulated time. Blocks freed by completed kernels are found again here. NVW_E_FULL if the pool is too
 * small; then what was there before is still usable.
 */
NVW_CHECKED int nvw_heap_provision(
	struct nvw_machine *machine, struct nvw_pmem *pmem, uint64_t bytes, uint64_t count);

/*
 * A large extent of whole chunks for tables; at least bytes, 64-byte aligned, zeroed. Durable at once. If a
 * crash comes before the structure refers to it, its recovery sweeps it (3). NVW_E_FULL if there is no run
 * of free chunks long enough.
 */
NVW_CHECKED int nvw_heap_alloc_extent(
	struct nvw_machine *machine, struct nvw_pmem *pmem, uint64_t bytes, nvw_off *ret_extent);
NVW_CHECKED int nvw_heap_free_extent(struct nvw_machine *machine, struct nvw_pmem *pmem, nvw_off extent);

#endif
