/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by insertion (insert.c) and its seeded bugs (mutations.c). */
#ifndef WORKLOADS_BTREE_INSERT_H
#define WORKLOADS_BTREE_INSERT_H

#include "search.h"
#include "steps.h"

/* One work-item during its way up the levels. */
struct btree_item {
	const struct btree_args *a;
	const struct btree_steps *replaced;
	struct nvw_epoch epoch;
	uint64_t begin, end; /* the work-group's keys */
	unsigned level;
	enum nvw_group scope;
	uint64_t begun; /* the operations of its keys */
};

/* A node as seen by its owner. */
struct btree_view {
	struct btree_node *node;
	nvw_off off;
	uint64_t order;
	unsigned count;
	uint64_t keys[BTREE_SLOTS_MAX]; /* ascending */
};

/* Whether the scratchpad has what this level reads of its staging arrays: only the work-group reads it. */
static inline bool btree_is_near(const struct btree_args *a, unsigned level)
{
	return a->pad && level < a->own_levels;
}

/* An element of a staging array, in the scratchpad (or in registers) or in DRAM. */
#define STAGED(a, is_near, element) ((is_near) ? (a)->pad->element : nvw_load(&(a)->element))
#define STAGE(a, is_near, element, v)                  \
	do {                                           \
		if (is_near) {                         \
			(a)->pad->element = (v);       \
		} else {                               \
			nvw_store(&(a)->element, (v)); \
		}                                      \
	} while (0)

/* A store to NVRAM, counted by level (gope18 Table 3). */
#define PUT(it, p, v) ((it)->a->plan->writes[(it)->level]++, nvw_store((p), (v)))

/* The same of a word that its epoch need not log: nothing refers to it yet, or the store stands by itself. */
#define PUT_SPARED(it, p, v)                                                                            \
	do {                                                                                            \
		if ((it)->a->undo) {                                                                    \
			nvw_undo_spare(&(it)->epoch, nvw_off_of((it)->a->pmem, (p)), sizeof(uint64_t)); \
		}                                                                                       \
		PUT(it, p, v);                                                                          \
	} while (0)

static inline void btree_meet(const struct btree_item *it)
{
	nvw_barrier(it->scope);
}

/* A barrier at which the scope's work-items meet and which orders all their earlier stores before later ones.
 * It is a macro so that each barrier has its own source line in reports. */
#define PERSIST(it) PERSIST_WITHIN(it, (it)->scope)
#define PERSIST_WITHIN(it, group)             \
	do {                                  \
		btree_meet(it);               \
		if ((it)->a->persist) {       \
			nvw_p_barrier(group); \
		}                             \
	} while (0)

/* Whether the level had splits: in the work-group, or in the kernel. */
bool btree_has_splits(const struct btree_item *it);

#endif
