/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps that seeded bugs replace (mutations.c). */
#ifndef WORKLOADS_KV_STEPS_H
#define WORKLOADS_KV_STEPS_H

#include "common/step.h"
#include "kernel.h"

/* One operation during the phases of a kernel. */
struct kv_change {
	uint64_t op, key, result;
	uint32_t kind;
	nvw_off entry; /* to be published, 0: none */
	nvw_off old;   /* replaced, to be freed, 0: none */
};

/* The steps of the kernels (kernel.c), in order. */
struct kv_steps {
	nvw_off (*entry_of)(const struct kv_batch_args *a, uint64_t key);
	void (*write_entry)(const struct kv_batch_args *a, const struct kv_change *c, nvw_off entry);
	void (*order_entry)(enum nvw_group scope);
	uint64_t (*take_slot)(uint64_t *slot, uint64_t word);
	uint64_t (*mark_deleted)(uint64_t *slot, struct kv_change *c);
	void (*order_change)(const struct kv_batch_args *a, struct kv_change *c, enum nvw_group scope);
	void (*free_old)(const struct kv_batch_args *a, struct kv_change *c);
	void (*order_table)(enum nvw_group scope);
};

/* The correct steps, for bugs that perform them at another time. */
extern const struct kv_steps kv_steps;

/* The steps that a seeded bug replaces; none for KV_UNMUTATED. */
const struct kv_steps *kv_replaced(enum kv_mutation mutation);

#endif
