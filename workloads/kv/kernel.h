/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of kv: one batch of operations, and the rebuild of the table. docs/kv.md explains them. */
#ifndef WORKLOADS_KV_KERNEL_H
#define WORKLOADS_KV_KERNEL_H

#include <nvw/heap.h>

#include "plan.h"

/* In DRAM: counted by the kernels, read by the host between them. */
struct kv_counters {
	uint64_t used; /* slots in use */
	uint64_t live; /* keys present */
};

/* Results of one operation. A get returns the entry's header, which differs from all of these. */
enum kv_result {
	KV_RESULT_NONE = 0,          /* a get: absent; a change: done */
	KV_RESULT_NO_BLOCK = 0xfff0, /* the heap had no block; provisioning should prevent this */
	KV_RESULT_NO_SLOT,
	KV_RESULT_TORN,             /* an entry whose header does not match its content */
	KV_RESULT_SCANNED = 0xffff, /* | records found << 16 */
};

struct kv_steps;

struct kv_batch_args {
	struct nvw_pmem pmem;
	struct kv_table table;
	struct kv_counters *counters;
	const uint64_t *keys;  /* DRAM, of the batch's operations */
	const uint32_t *kinds; /* DRAM */
	uint64_t *results;     /* DRAM */
	nvw_off *blocks;       /* DRAM, work-group variant: the entry that each operation publishes */
	/* host memory, which costs no simulated time: for host readers; NULL: none */
	struct kv_note *notes;
	uint64_t first_op, count;
	uint64_t seed, value_bytes;
	enum nvw_group scope;            /* of kv_batch_together(): NVW_WORKGROUP or NVW_KERNEL */
	bool own_entries;                /* of kv_batch_together(): every work-item writes its own entry */
	const struct kv_steps *replaced; /* by a seeded bug (steps.h) */
};

/* One work-item per operation; barriers of work-item scope. */
void kv_batch_workitem(const void *args);

/* Barriers of work-group or kernel scope; unless own_entries is set, the work-group writes the entries of its
 * operations together. Every work-item takes part, even without an operation. */
void kv_batch_together(const void *args);

struct kv_rebuild_args {
	struct nvw_pmem pmem;
	struct kv_table from, to;        /* to: zeroed */
	uint64_t work_items;             /* launched; each handles every work_items-th slot */
	const struct kv_steps *replaced; /* by a seeded bug (steps.h) */
};

/* Moves every present key to the new table, switches the root word and frees the entries of deleted keys. */
void kv_rebuild(const void *args);

#endif
