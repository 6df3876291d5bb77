/* SPDX-License-Identifier: BSD-3-Clause */
/* A host program: its flushes and fences make lines durable, and lines may be evicted at any time. */
#include "models.h"

/*
 * Axiom: ordered flush. clflush keeps its place among its thread's stores (raad20), so it is complete when a
 * later one is seen. A store by another thread may depend on this one through something that no log has, such
 * as a lock in volatile memory: it counts as later too.
 */
static int store_in_order(struct ct_medium *m, const struct nvw_log_record *r)
{
	if (m->ordered > 0) {
		ct_complete_ordered(m);
	}
	return ct_on_store(m, r);
}

const struct ct_model_rules ct_model_x86 = {
	.info = {.name = "x86",
		.who = "a program with flushes and fences; lines may be evicted at any time",
		.use = CT_USE_PROGRAMS,
		.axioms = CT_A(LINE) | CT_A(FENCE) | CT_A(ORDERED) | CT_A(HOST),
		.levels = CT_FREE,
		.of_programs = true,
		.bounds_reads = true},
	.completing = CT_KIND(FENCE) | CT_KIND(HOST),
	.apply = {[NVW_LOG_STORE] = store_in_order,
		[NVW_LOG_FLUSH] = ct_on_flush,
		[NVW_LOG_FENCE] = ct_on_fence,
		[NVW_LOG_HOST] = ct_on_host,
		[NVW_LOG_ACK] = ct_on_ack},
};
