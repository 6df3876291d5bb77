/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recovery of a pool after a crash (gope18 8.3), and inspection of a pool. Needs no emulator.
 *
 * nvw_recover() does the generic part, in this order, each step durable before the next:
 *	1. repairs a damaged header from its copy;
 *	2. classifies every undo log entry (table in recovery/cases.h) and restores the old values of
 *	   incomplete epochs, newest entry first;
 *	3. marks those epochs as rolled back in the epoch status table;
 *	4. settles every block word that names one of them (nvw/heap.h, guarantees 1 and 2).
 * A structure's own recovery (nvw_workload.recover) runs afterwards. With the first pool of a run,
 * nvw_recover() recovers all pools of the run.
 *
 * Guarantees
 *   (1) Idempotent: recovering a recovered pool writes nothing.
 *   (2) Interruptible: after a crash between any two of its writes, recovering again gives the same bytes as
 *       an uninterrupted recovery.
 *   (3) A word that is neither sealed nor a possible result of a torn write is damage, not a crash: the pool
 *       is left untouched and NVW_E_DAMAGED names the offset.
 */
#ifndef NVW_RECOVERY_H
#define NVW_RECOVERY_H

#include <nvw/pool.h>

/* Findings and actions of recovery. Initialise to zero. */
struct nvw_recovery {
	uint64_t epochs_completed;   /* streams whose last epoch had completed */
	uint64_t epochs_rolled_back; /* streams with a rolled back epoch */
	/* Undo log entries looked at: all in pages that were ever written, and those of open epochs' streams
	 * again. */
	uint64_t entries_read;
	/* 8-byte words of epoch status table, undo log, chunk table and block words looked at. */
	uint64_t words_read;
	uint64_t words_restored;  /* 8-byte words restored from the undo log */
	uint64_t entries_torn;    /* log entries torn by the crash, ignored */
	uint64_t blocks_freed;    /* allocations of incomplete epochs undone, and unreachable blocks swept */
	uint64_t blocks_kept;     /* frees of incomplete epochs undone */
	uint64_t header_repaired; /* 1 if the header was restored from its copy */
	uint64_t structure_repairs; /* repairs by the structure's own recovery, in its own unit */
	uint64_t words_written;     /* all 8-byte words written by recovery */
};

NVW_CHECKED int nvw_recover(struct nvw_pool *pool, struct nvw_recovery *report);

/* State of a stream after recovery. */
enum nvw_epoch_state { NVW_EPOCH_NEVER, NVW_EPOCH_COMPLETED, NVW_EPOCH_ROLLED_BACK };
struct nvw_stream_state {
	uint64_t settled; /* the last settled epoch, 0 if there is none */
	enum nvw_epoch_state state;
	uint64_t open_entries; /* valid log entries of a later, incomplete epoch (0 after recovery) */
};
NVW_CHECKED int nvw_stream_state(
	const struct nvw_pool *pool, uint32_t stream, struct nvw_stream_state *ret_state);

/*
 * For structures whose allocations carry no epoch (nvw/heap.h, guarantee 3): frees every allocated block and
 * extent for which reachable() returns false. Called from nvw_workload.recover.
 */
NVW_CHECKED int nvw_heap_sweep(struct nvw_pool *pool,
	bool (*reachable)(void *context, nvw_off block, uint64_t bytes), void *context,
	struct nvw_recovery *report);

/*
 * Visits every allocated block and extent in ascending order, for checks that nothing leaks and nothing is
 * allocated twice. visit returns 0 to continue.
 */
NVW_CHECKED int nvw_heap_visit(const struct nvw_pool *pool,
	int (*visit)(void *context, nvw_off block, uint64_t bytes), void *context);

/* True if block is the start of an allocated block or extent; *ret_bytes is its size. O(1). */
bool nvw_heap_is_allocated(const struct nvw_pool *pool, nvw_off block, uint64_t *ret_bytes);

/*
 * The places at which a block for bytes can begin, whatever else the heap holds: their number, and each by
 * its number below that. For checks of one block after the other (nvw_parts).
 */
uint64_t nvw_heap_places(const struct nvw_pool_geometry *geometry, uint64_t bytes);
nvw_off nvw_heap_place(const struct nvw_pool_geometry *geometry, uint64_t bytes, uint64_t number);
/* The number of the place in which off lies, UINT64_MAX: in none. */
uint64_t nvw_heap_place_of(const struct nvw_pool_geometry *geometry, uint64_t bytes, nvw_off off);

/* "name value" lines for nvwave inspect and the statistics of workloads; strings are copied. */
struct nvw_description;
int nvw_describe_u64(struct nvw_description *description, const char *name, uint64_t value, const char *unit,
	const char *meaning);
int nvw_describe_real(struct nvw_description *description, const char *name, double value, const char *unit,
	const char *meaning);
int nvw_describe_text(
	struct nvw_description *description, const char *name, const char *value, const char *meaning);

#endif
