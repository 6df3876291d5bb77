/* SPDX-License-Identifier: BSD-3-Clause */
/* Block I/O as a kernel. See kernel.h. */
#include "kernel.h"

static void copy(const struct block_copy *c)
{
	for (uint64_t i = nvw_local_id(); i < c->words; i += nvw_group_size()) {
		nvw_store(c->to + i, nvw_load(c->from + i));
	}
}

static void make_durable(const struct block_args *a)
{
	if (a->fault == BLOCK_FAULT_NARROW_BARRIER) {
		nvw_p_barrier_wi();
	} else if (a->fault == BLOCK_FAULT_NONE) {
		nvw_p_barrier(a->scope);
	}
}

void block_kernel(const void *args)
{
	const struct block_args *const a = args;
	const struct block_copy *const c = a->copies + nvw_group_id();

	copy(c);
	if (a->scope == NVW_KERNEL ? a->any_durable : c->durable) {
		make_durable(a);
	}
	if (c->durable && nvw_local_id() == 0) {
		nvw_ack(c->op);
	}
}
