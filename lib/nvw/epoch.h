/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Epochs: failure-atomic sections of a kernel, by undo log and epoch status table (gope18 8.3).
 *
 * A *stream* is one execution group that passes through epochs one after the other: a work-item, a
 * work-group or the kernel, as the program assigns them; the pool is created with a number of streams. Of
 * each stream the epoch status table (EST) keeps one sealed word: the last epoch that is settled, and how
 * (completed, or rolled back by recovery). Epochs count from 1 to 2^24 - 1.
 *
 * The order that makes an epoch failure-atomic, with barriers of the stream's own scope:
 *
 *	nvw_undo(p)  ...            old values of all words that will change in place     (1)
 *	nvw_p_barrier(group)        the log is durable before any update can be           (2)
 *	nvw_store(p, new) ...       the updates                                           (3)
 *	nvw_p_barrier(group)        the updates are durable before completion can be      (4)
 *	nvw_epoch_complete()        one 8-byte store to the EST, by one work-item         (5)
 *	nvw_p_barrier(group)        the completion is durable: the log may be reused      (6)
 *
 * A crash before (5) is durable: recovery puts the old values back, newest first, and frees what the epoch
 * allocated. A crash after: the log entries are ignored. New data that nothing durable refers to yet needs
 * no entry; it must only be written before (2) or (4).
 *
 * Functions in this header are called from kernels and go through the emulated memory like any other
 * store of the kernel; the log can therefore be got wrong by leaving out a barrier, and the crash tester
 * finds it.
 */
#ifndef NVW_EPOCH_H
#define NVW_EPOCH_H

#include <nvw/kernel.h>
#include <nvw/pool.h>

enum { NVW_HEAP_CLASSES = 7, NVW_HEAP_BLOCK_MIN = 64, NVW_HEAP_BLOCK_MAX = 4352 };

/* Free blocks of one size class, set aside by the host before a launch (nvw/heap.h). */
struct nvw_heap_class {
	uint64_t *blocks;  /* their offsets, in DRAM */
	uint64_t count;    /* how many */
	uint64_t capacity; /* room in blocks */
	uint64_t *next;    /* in DRAM: the first not handed out yet; advanced atomically by pmalloc */
};

/*
 * The pool as kernels see it: device addresses and geometry. Filled by nvw_pmem_attach() (nvw/host.h),
 * constant while kernels run, passed to them by value or by pointer in their arguments.
 */
struct nvw_pmem {
	char *base; /* device address of the pool's offset 0 */
	struct nvw_pool_geometry geometry;
	uint32_t *log_used; /* in DRAM: entries used by the open epoch, one counter a stream */
	struct nvw_heap_class heap[NVW_HEAP_CLASSES];
	/* on the host, whom freed blocks wait for (nvw/readers.h); NULL: nobody */
	struct nvw_readers *readers;
};

/* Device address of an offset, and back. No check: the access itself is checked. */
#define nvw_at(pmem, type, off)   ((type *)((pmem)->base + (off)))
#define nvw_off_of(pmem, pointer) ((nvw_off)((const char *)(pointer) - (pmem)->base))

/* An open epoch, in the work-item's registers. All work-items of a group that share a stream hold the same
 * stream and number. */
struct nvw_epoch {
	const struct nvw_pmem *pmem;
	uint32_t stream;
	uint64_t number;
};

/*
 * The stream's next epoch: one load of the EST. Every work-item of the group calls it, before any of them
 * completes the epoch. Starts with an empty log: whoever alone may do so (the group's first work-item,
 * before a barrier) calls nvw_undo_reset().
 */
struct nvw_epoch nvw_epoch_begin(const struct nvw_pmem *pmem, uint32_t stream);

/* Forgets the stream's entries of earlier, settled epochs: one store to DRAM. */
void nvw_undo_reset(const struct nvw_epoch *epoch);

/*
 * Logs the current value of the aligned 8-byte word at off. Work-items that share the stream may call it
 * at once (an atomic add of agent scope hands out the entries). False, and nothing is logged, if the
 * stream's part of the log is full: the program must not update the word then.
 */
bool nvw_undo(const struct nvw_epoch *epoch, nvw_off off);

/* Notes the completion of the epoch in the EST: one 8-byte store. Steps (4) before and (6) after it are
 * the caller's. Afterwards *epoch is the stream's next epoch. */
void nvw_epoch_complete(struct nvw_epoch *epoch);

#endif
