/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a btree run: the operations, and the values that each key may have in a crash state. */
#ifndef WORKLOADS_BTREE_PLAN_H
#define WORKLOADS_BTREE_PLAN_H

#include <nvw/random.h>
#include <nvw/workload.h>

#include "layout.h"

enum btree_op {
	BTREE_INSERT,
	BTREE_UPDATE,
	BTREE_DELETE,
	BTREE_LOOKUP,
	BTREE_SCAN,
	BTREE_READ_MODIFY_WRITE, /* of a YCSB mix: a lookup, then the change */
};
enum btree_scope { BTREE_KERNEL, BTREE_WORKGROUP };

struct btree_plan {
	uint64_t preload, count, batch, scan_length;
	unsigned group_size, slots; /* work-items per work-group; keys per node */
	enum btree_op op;           /* of all operations; of a YCSB mix, of all that change the tree */
	enum btree_scope scope;
	bool persist, undo;
	bool reads_last; /* of a YCSB mix, in each batch: no change needs what a read has found */
	bool is_paper;   /* --barriers=paper */
	int mutation;    /* index of the seeded bug, -1 for none */

	uint64_t *loaded; /* keys of the preload, ascending, distinct */
	uint64_t loaded_count;
	uint64_t *keys;  /* of operation i */
	uint32_t *kinds; /* of a YCSB mix: enum btree_op | pairs of a scan << 8; else NULL */
	uint64_t *begun; /* of a YCSB mix: when a read-modify-write has begun */
	uint64_t *by_key,
		by_key_count; /* operations in order of key, then of number; of a YCSB mix, its changes */
	uint64_t streams, log_entries, nodes; /* needs of the pool */

	struct btree_run *run;         /* run.c: from setup() on */
	struct btree_serving *serving; /* serve.c: NULL without host readers */

	/* Figures of the run, for report(). */
	uint64_t height, node_count, splits, found, absent, scanned, groups;
	uint64_t writes[BTREE_LEVELS_MAX]; /* stores to NVRAM, by level */
	uint64_t steps[BTREE_LEVELS_MAX];  /* executions of a level by a group, or by the kernel */
};

static inline enum btree_op btree_op_of(const struct btree_plan *plan, uint64_t i)
{
	return plan->kinds ? (enum btree_op)(plan->kinds[i] & 0xff) : plan->op;
}

/* A value identifies the operation that wrote it. */
static inline uint64_t btree_value_of_op(uint64_t op)
{
	return op + 1;
}

static inline uint64_t btree_value_of_load(uint64_t key)
{
	return nvw_mix64(key) | UINT64_C(1) << 63;
}

/* For qsort() and bsearch(). */
int btree_compare_u64(const void *a, const void *b);

/* Sorts operations by the keys that they have, those of one key by number. */
void btree_sort_by_key(const uint64_t *keys, uint64_t *ops, uint64_t count);

/* Sorts keys and drops repeated ones; returns how many are left. */
uint64_t btree_distinct(uint64_t *keys, uint64_t count);

extern const struct nvw_serving btree_serving;      /* serve.c */
extern const struct nvw_parts btree_parts;          /* parts.c */
extern const struct nvw_mutation btree_mutations[]; /* mutations.c */
extern const struct nvw_lack btree_lacks[];         /* likewise */

/* The first position in by_key of an operation on the key that is not below op. */
uint64_t btree_first_of(const struct btree_plan *plan, uint64_t key, uint64_t op);
/* The position after the key's operations; at is the first of them, or where it would be. */
uint64_t btree_end_of(const struct btree_plan *plan, uint64_t key, uint64_t at);
bool btree_is_loaded(const struct btree_plan *plan, uint64_t key);

/* Largest number of nodes that n new keys can make in a tree with this many nodes and levels. */
uint64_t btree_nodes_at_most(const struct btree_plan *plan, uint64_t nodes, uint64_t height, uint64_t n);

/* Frees a plan whose run has ended and whose host readers are gone. */
void btree_free_plan(struct btree_plan *plan);

/* Frees plan->run. */
void btree_end_run(struct btree_plan *plan);

/* Host readers (serve.c). Kernels call note(): these operations change the leaf. between() is called before a
 * launch. */
void btree_serve_note(struct btree_plan *plan, const uint64_t *ops, uint64_t count, nvw_off leaf);
int btree_serve_between(struct btree_plan *plan);
struct nvw_readers *btree_serve_readers(const struct btree_plan *plan);
void btree_serve_dispose(struct btree_plan *plan);

int btree_prepare(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan);
/* Why a crash test of the plan says nothing, NULL if it does. */
const char *btree_unfit(const void *plan);
int btree_pool(const void *plan, struct nvw_pool_params *ret_params);
int btree_setup(void *plan, struct nvw_machine *machine);
int btree_run(void *plan, struct nvw_machine *machine);
int btree_go_on(void *plan, struct nvw_machine *machine, const struct nvw_acks *acks, uint64_t operations);
int btree_check(
	void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings);
int btree_inspect(struct nvw_pool *pool, struct nvw_description *description);
/* The info word of the root (check.c), 0 if the root word does not name a node. */
uint64_t btree_root_info(const struct nvw_pool *pool);
const char *btree_unguarded(struct nvw_pool *pool, nvw_off off, uint64_t found);

#endif
