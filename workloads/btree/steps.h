/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps that seeded bugs replace (mutations.c). */
#ifndef WORKLOADS_BTREE_STEPS_H
#define WORKLOADS_BTREE_STEPS_H

#include "common/step.h"
#include "kernel.h"

struct btree_item;

/* The steps of an insertion (insert.c), in order. k: the node whose run of keys begins at k. */
struct btree_steps {
	bool (*log_split)(const struct btree_item *it, nvw_off off);
	nvw_off (*allocate)(const struct btree_item *it);
	void (*stage_split)(
		const struct btree_item *it, uint64_t k, uint64_t order, nvw_off next, uint64_t high);
	void (*stage_slots)(const struct btree_item *it, uint64_t k, uint64_t order);
	void (*publish_order)(const struct btree_item *it, nvw_off off, uint64_t order);
	void (*publish)(const struct btree_item *it, uint64_t k, uint64_t end);
	void (*order_data)(const struct btree_item *it);
	void (*publish_level)(struct btree_item *it);
	void (*order_updates)(const struct btree_item *it);
	void (*complete)(struct btree_item *it);
	void (*settle)(struct btree_item *it);
	void (*acknowledge)(const struct btree_item *it);
	/* A step of updates and deletes (batch.c). */
	void (*persist_change)(const struct btree_args *a);
};

/* The correct steps, for bugs that also perform them before or after something else. */
extern const struct btree_steps btree_steps;

/* The steps that a seeded bug replaces; none for -1. */
const struct btree_steps *btree_replaced(int mutation);

#endif
