/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of a kv run: all operations in advance, the batches in which they are launched, and the operations
 * on each key, so that gets and crash states can be checked.
 *
 * Operations are numbered from 0: first the preload (puts), then the measured ones. A batch is one kernel
 * launch; operations of one batch run concurrently, and batches run in order.
 */
#ifndef WORKLOADS_KV_PLAN_H
#define WORKLOADS_KV_PLAN_H

#include <nvw/workload.h>

#include "layout.h"

/* Kinds are bits, so that a read-modify-write is both a get and a put. */
enum kv_kind { KV_GET = 1, KV_PUT = 2, KV_DELETE = 4, KV_SCAN = 8 };

/* In the order of their names (kv.c). */
enum kv_operation {
	KV_OPERATION_GET,
	KV_OPERATION_PUT,
	KV_OPERATION_DELETE,
	KV_OPERATION_SCAN,
	KV_OPERATION_READ_MODIFY_WRITE,
};

enum kv_scope { KV_SCOPE_WORKITEM, KV_SCOPE_WORKGROUP, KV_SCOPE_KERNEL };

/* Who writes an entry: the work-item that publishes it, or its work-group. */
enum kv_writers { KV_WRITERS_OWN, KV_WRITERS_GROUP };

/* Seeded bugs, in the order of the table in mutations.c. */
enum kv_mutation {
	KV_UNMUTATED = -1,
	KV_PUBLISH_BEFORE_VALUE,
	KV_NARROW_SCOPE,
	KV_ACK_BEFORE_BARRIER,
	KV_FREE_BEFORE_PUBLISH,
	KV_UPDATE_IN_PLACE,
	KV_SPLIT_PUBLISH,
	KV_TOMBSTONE_DELETE,
	KV_ROOT_BEFORE_TABLE,
	KV_NARROW_RESIZE,
	KV_FREE_TABLE_FIRST,
	KV_RACY_DELETE,
};

/* The operations of one key. */
struct kv_key {
	uint64_t key;
	uint32_t first, count; /* its changes: positions in kv_plan.changes, ascending by operation */
};

/* A change of a slot by an operation, recorded by its work-item in host memory for host readers. */
struct kv_note {
	nvw_off slot; /* 0: none */
	uint64_t before, after;
};

struct kv_plan {
	/* The options. */
	uint64_t seed;
	uint64_t preload, count;
	uint64_t value_bytes;
	uint64_t batch;
	unsigned group_size;
	unsigned log2_slots; /* of the first table */
	enum kv_scope scope;
	enum kv_writers writers;
	enum kv_mutation mutation;

	/* Operation i, 0 to preload + count - 1. */
	uint64_t *keys;    /* scan: the number of its first record */
	uint32_t *kinds;   /* enum kv_kind | records of a scan << 8 */
	uint32_t *key_ids; /* index of its key in by_key; UINT32_MAX for scans */
	uint64_t *headers; /* entry header of a put, 0 until computed */

	/* Distinct keys, and a hash index of them: index in by_key + 1, 0 for none. */
	struct kv_key *by_key;
	uint64_t key_count;
	uint32_t *index;
	uint64_t index_mask;
	uint32_t *changes;        /* puts and deletes, grouped by key */
	uint64_t heap_bytes;      /* needs of the pool */
	unsigned most_log2_slots; /* of the largest table that the run may make */

	/* State of the run, for report(). */
	struct kv_table table;
	uint64_t used, live; /* used slots (with fillers and deleted keys); keys present */
	uint64_t growths, gets_found, gets_absent, scanned;

	/* Scratch memory of check(), so that it allocates none: the last check that saw the key. */
	uint64_t *seen;
	uint64_t checks;

	/* With host readers (serve.c), NULL otherwise. */
	struct nvw_readers *readers;
	const char *medium;    /* the pool's mapped bytes */
	struct kv_note *notes; /* per operation */
};

int kv_prepare(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan);
void kv_dispose(void *plan);
int kv_pool(const void *plan, struct nvw_pool_params *ret_params);

/* The batch of an operation, counted from 0; the preload comes first. */
uint64_t kv_batch_of(const struct kv_plan *p, uint64_t op);

/* The index of the key in by_key, UINT32_MAX if the plan never uses it. */
uint32_t kv_key_id(const struct kv_plan *p, uint64_t key);

/* The header of the entry written by put number op. */
uint64_t kv_header_of(struct kv_plan *p, uint64_t op);

/*
 * The log2 size of the next table if used slots, live keys and up to puts further puts require a rebuild now,
 * else 0. A table is rebuilt, to at most half full, when it could become more than 7/10 full.
 */
unsigned kv_rebuild_log2(struct kv_table t, uint64_t used, uint64_t live, uint64_t puts);

extern const struct nvw_option kv_options[];     /* kv.c */
extern const char *const kv_scopes[];            /* likewise, names of enum kv_scope */
extern const char *const kv_writer_names[];      /* likewise, of enum kv_writers */
extern const struct nvw_serving kv_serving;      /* serve.c */
extern const struct nvw_parts kv_parts;          /* parts.c */
extern const struct nvw_mutation kv_mutations[]; /* mutations.c */
extern const struct nvw_lack kv_lacks[];         /* likewise */

/* The hooks (run.c, check.c, recover.c). */
int kv_setup(void *plan, struct nvw_machine *machine);
int kv_run(void *plan, struct nvw_machine *machine);
int kv_go_on(void *plan, struct nvw_machine *machine, const struct nvw_acks *acks, uint64_t operations);
int kv_report(void *plan, struct nvw_machine *machine, struct nvw_description *description);
const char *kv_unguarded(struct nvw_pool *pool, nvw_off off, uint64_t found);
int kv_check(void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings);
int kv_recover(struct nvw_pool *pool, struct nvw_recovery *report);
int kv_inspect(struct nvw_pool *pool, struct nvw_description *description);

#endif
