/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of the B+tree and their arguments. docs/btree.md explains them barrier by barrier. */
#ifndef WORKLOADS_BTREE_KERNEL_H
#define WORKLOADS_BTREE_KERNEL_H

#include <nvw/heap.h>

#include "plan.h"

/* A work-group's part of the sorted keys. */
struct btree_range {
	uint64_t begin, end;
};

struct btree_steps;

/*
 * Keys ascend and are distinct. All arrays are in DRAM; those indexed by key have n elements. Position k
 * stands for the node, on the kernel's current level, to which the run of keys beginning at k leads.
 */
struct btree_args {
	const struct nvw_pmem *pmem;
	struct btree_plan *plan;            /* host memory: figures; costs no simulated time */
	const struct btree_steps *replaced; /* by a seeded bug (steps.h) */
	bool persist, undo;
	uint64_t n;
	const uint64_t *keys, *values, *ops;
	const uint64_t *host_ops;         /* host memory: the same as ops, for what costs no simulated time */
	const struct btree_range *ranges; /* one per work-group */
	unsigned slots;                   /* per node */
	unsigned height;                  /* of the tree */
	unsigned own_levels; /* Algorithm 2: levels 0 to own_levels - 1 belong to one work-group each; 0:
	                      * Algorithm 1 */

	uint64_t *path;   /* [level * n + k]: the node on the path of key k */
	uint64_t *run[2]; /* how many keys lead through the node that begins at k, by parity of the level */
	uint64_t *made;   /* level << 32 | number of nodes made by the split */
	uint64_t *up_key[2]; /* lowest keys of those nodes, from 2 k on, by parity of the level (2 n
	                      * elements) */
	uint64_t *up_child[2];
	uint64_t *order, *next, *high; /* values to be published in the node; order 0: none */
	uint64_t *root;                /* one word: the new root, 0 if there is none */
	uint64_t *splits;              /* [level]: in the kernel */
	uint64_t *group_splits;        /* [work-group * BTREE_LEVELS_MAX + level] */
	uint64_t *failed;              /* one word: the log or the heap was full */

	/* --barriers=paper: the same arrays in host memory, for what stays in a work-item's registers or in
	 * its work-group's scratchpad, which take no time; NULL: everything is in DRAM. */
	const struct btree_args *pad;

	uint64_t *result; /* of lookups and scans */
	uint64_t scan_length;
	uint64_t combined_from; /* changes of a key from this operation on are one; UINT64_MAX: none are */
};

/* The change of an operation ends, and with it those that it has replaced. Without simulated time. */
void btree_end_change(const struct btree_args *args, uint64_t op, uint64_t begun);

void btree_insert_kernel(const void *args);
void btree_update_kernel(const void *args);
void btree_delete_kernel(const void *args);
void btree_lookup_kernel(const void *args);
void btree_scan_kernel(const void *args);

/* Allocates nodes for the bulk load. */
struct btree_allocate_args {
	const struct nvw_pmem *pmem;
	uint64_t *nodes;
	uint64_t count, bytes;
};
void btree_allocate_kernel(const void *args);

#endif
