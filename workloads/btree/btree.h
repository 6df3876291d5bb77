/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a btree run, the arguments of its kernels, and its hooks. */
#ifndef WORKLOADS_BTREE_H
#define WORKLOADS_BTREE_H

#include <nvw/workload.h>

#include "layout.h"

/* Seeded bugs, in the order of the table in btree.c. */
enum btree_mutation {
	BTREE_UNMUTATED = -1,
	BTREE_SKIP_LOG_BARRIER,
	BTREE_COMPLETE_FIRST,
	BTREE_BITMAP_FIRST,
	BTREE_NO_UNDO,
};

/* Operation i inserts keys[i]: preload first, ascending within a batch; no key twice in a plan. */
struct btree_plan {
	uint64_t seed, preload, count, batch, dropped; /* dropped: keys that came twice */
	unsigned group_size;
	bool is_volatile;
	int mutation;
	uint64_t *keys;
	uint64_t *sorted; /* pairs key, operation; ascending */
	uint64_t *seen, checks; /* scratch of check() */
	uint64_t splits, launches;
};

/*
 * A *run* is the new entries of one node of the current level: entries first to first + counts[first] - 1,
 * known by its first index. All arrays are DRAM, batch entries each.
 */
struct btree_args {
	struct nvw_pmem pmem;
	uint64_t *keys, *values;
	nvw_off *nodes;          /* of run i (level 0: of key i): the node */
	uint64_t *counts;        /* of run i: new entries */
	uint64_t *next, *prev;   /* of run i: its neighbours */
	uint64_t *splits;        /* one counter */
	uint64_t first_op, count, root_level;
	int mutation;
};

void btree_insert(const void *args);
void btree_create(const void *args); /* one work-item: the first, empty leaf */
void btree_grow(const void *args);   /* one work-item: levels above a root that split */

uint64_t btree_value(uint64_t seed, uint64_t key);

extern const struct nvw_option btree_options[];
extern const struct nvw_mutation btree_mutations[];

int btree_prepare(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan);
void btree_dispose(void *plan);
int btree_pool(const void *plan, struct nvw_pool_params *ret_params);
int btree_setup(void *plan, struct nvw_machine *machine);
int btree_run(void *plan, struct nvw_machine *machine);
int btree_report(void *plan, struct nvw_machine *machine, struct nvw_description *description);
int btree_recover(struct nvw_pool *pool, struct nvw_recovery *report);
int btree_check(void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings);
int btree_inspect(struct nvw_pool *pool, struct nvw_description *description);

#endif
