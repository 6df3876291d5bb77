/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Epochs: failure-atomic sections of a kernel, by undo log and epoch status table (gope18 8.3).
 *
 * A *stream* is one execution group that passes through epochs in sequence: a work-item, a work-group or the
 * kernel, as the program assigns them; the number of streams is fixed when the pool is created. The epoch
 * status table (EST) has one sealed word per stream: its last settled epoch, and the outcome (completed, or
 * rolled back by recovery). Epochs count from 1 to 2^24 - 1.
 *
 * The order that makes an epoch failure-atomic (barriers have the stream's scope):
 *
 *	nvw_undo(p)  ...            old values of all words that will change in place     (1)
 *	nvw_p_barrier(group)        the log is durable before any update can be           (2)
 *	nvw_store(p, new) ...       the updates                                           (3)
 *	nvw_p_barrier(group)        the updates are durable before completion can be      (4)
 *	nvw_epoch_complete()        one 8-byte store to the EST, by one work-item         (5)
 *	nvw_p_barrier(group)        the completion is durable: the log may be reused      (6)
 *
 * After a crash before (5) is durable, recovery restores the old values, newest entry first, and frees the
 * epoch's allocations. After a later crash it ignores the log entries. New data to which no durable word
 * refers yet needs no log entry; it only has to be written before (2) or (4).
 *
 * Functions in this header are called from kernels and access the emulated memory like any other code of the
 * kernel. A missing barrier therefore breaks the log, and the crash tester finds it.
 */
#ifndef NVW_EPOCH_H
#define NVW_EPOCH_H

#include <nvw/kernel.h>
#include <nvw/pool.h>

enum { NVW_HEAP_CLASSES = 7, NVW_HEAP_BLOCK_MIN = 64, NVW_HEAP_BLOCK_MAX = 4352 };

/* Free blocks of one size class, set aside by the host before a launch (nvw/heap.h). */
struct nvw_heap_class {
	uint64_t *blocks;  /* their offsets, in DRAM */
	uint64_t count;    /* number of blocks */
	uint64_t capacity; /* room, in blocks */
	uint64_t *next;    /* in DRAM: the next block to hand out; advanced atomically by pmalloc */
};

/*
 * The pool as kernels see it: device addresses and geometry. Filled in by nvw_pmem_attach() (nvw/host.h),
 * constant while kernels run, and passed to kernels by value or by pointer in their arguments.
 */
struct nvw_pmem {
	char *base; /* device address of the pool's offset 0 */
	struct nvw_pool_geometry geometry;
	uint32_t *log_used; /* in DRAM: entries used by the open epoch, one counter per stream */
	struct nvw_heap_class heap[NVW_HEAP_CLASSES];
	/* freed blocks wait for these readers (nvw/readers.h); NULL: none */
	struct nvw_readers *readers;
};

/* Device address of an offset, and back. Neither is range-checked: the access itself is. */
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
 * The stream's next epoch: one load of the EST. Every work-item of the group calls it before any of them
 * completes the epoch; a persist barrier between the two does not ensure that, nvw_barrier() does. The log
 * still has to be emptied: one work-item of the group (for example the first, before a barrier) calls
 * nvw_undo_reset().
 */
struct nvw_epoch nvw_epoch_begin(const struct nvw_pmem *pmem, uint32_t stream);

/*
 * The calling work-item goes on with an epoch that another kernel has begun: its stores are in it from here
 * on, until the kernel ends. nvw_epoch_begin() implies it. It has a meaning for the check of the undo log
 * alone (nvwave run --check=undo), and takes no simulated time.
 */
#define nvw_epoch_join(epoch) nvw__epoch_join((epoch), NVW__EPOCH_SITE)

/*
 * The epoch need not log these bytes of the pool: nothing durable refers to them yet, or each store to them
 * stands by itself, and is not to be taken back. For the check alone, as above.
 */
void nvw_undo_spare(const struct nvw_epoch *epoch, nvw_off off, uint64_t bytes);

/* Discards the stream's entries of earlier, settled epochs: one store to DRAM. */
void nvw_undo_reset(const struct nvw_epoch *epoch);

/*
 * Logs the current value of the aligned 8-byte word at off. Work-items that share the stream may call it
 * concurrently (an atomic add of agent scope hands out the entries). Returns false and logs nothing if the
 * stream's part of the log is full; the program must not update the word then.
 */
bool nvw_undo(const struct nvw_epoch *epoch, nvw_off off);

/* Records the completion of the epoch in the EST: one 8-byte store. Steps (4) before it and (6) after it are
 * the caller's. Afterwards *epoch is the stream's next epoch. */
void nvw_epoch_complete(struct nvw_epoch *epoch);

/* Where a pool has the EST word of a stream, and the number of the last settled epoch in such a word; 0:
 * none. */
nvw_off nvw_epoch_off(const struct nvw_pool_geometry *geometry, uint32_t stream);
uint64_t nvw_epoch_settled(uint64_t word);

/* ---- How epochs reach the machine (not for direct use) -------------------------------------------- */

enum nvw__epoch_what {
	NVW__EPOCH_JOINED,
	NVW__EPOCH_EMPTIED, /* its log */
	NVW__EPOCH_LOGGED,
	NVW__EPOCH_SPARED,
	NVW__EPOCH_ALLOCATED,
	NVW__EPOCH_COMPLETED
};

struct nvw__epoch_told {
	enum nvw__epoch_what what;
	const void *status; /* its stream, by its word in the epoch status table; NULL: the work-item's */
	const struct nvw_site *site; /* joined: where */
	const void *at;              /* logged, spared, allocated: the bytes */
	uint64_t bytes;
};

void nvw__epoch_tell(const struct nvw__epoch_told *told);
void nvw__epoch_join(const struct nvw_epoch *epoch, const struct nvw_site *site);
/* With epoch NULL the work-item's own one: of what it need not log. */
void nvw__epoch_tell_of(const struct nvw_pmem *pmem, const struct nvw_epoch *epoch, enum nvw__epoch_what what,
	nvw_off off, uint64_t bytes);

#define NVW__EPOCH_SITE                                                            \
	({                                                                         \
		static const struct nvw_site nvw__begun = {                        \
			.file = __FILE__, .function = __func__, .line = __LINE__}; \
		&nvw__begun;                                                       \
	})

#define nvw_epoch_begin(pmem, stream)                                                    \
	({                                                                               \
		const struct nvw_epoch nvw__epoch = (nvw_epoch_begin)((pmem), (stream)); \
		nvw__epoch_join(&nvw__epoch, NVW__EPOCH_SITE);                           \
		nvw__epoch;                                                              \
	})

#endif
