/* SPDX-License-Identifier: BSD-3-Clause */
/* A host program: its flushes and fences make lines durable, and lines may be evicted at any time. */
#include <stdlib.h>
#include <string.h>

#include "models.h"

/* Lines covered by these flushes are durable; the others remain. */
static void complete_flushes(struct ct_medium *m,
	bool (*covers)(const struct ct_flush *f, const struct nvw_log_record *r),
	const struct nvw_log_record *r)
{
	struct ct_flush *const f = m->flush.at;
	uint64_t kept = 0;

	for (uint64_t i = 0; i < m->flush.count; i++) {
		if (covers(&f[i], r)) {
			ct_medium_complete(m, f[i].off, f[i].write);
			m->ordered -= f[i].ordered;
		} else {
			f[kept++] = f[i];
		}
	}
	m->flush.count = kept;
}

static bool is_ordered(const struct ct_flush *f, const struct nvw_log_record *r)
{
	return f->ordered;
}

static bool is_of_thread(const struct ct_flush *f, const struct nvw_log_record *r)
{
	return f->thread == r->fence.thread;
}

/*
 * Axiom: ordered flush. clflush keeps its place among its thread's stores (raad20), so it is complete when a
 * later one is seen. A store by another thread may depend on this one through something that no log has, such
 * as a lock in volatile memory: it counts as later too.
 */
static int store_in_order(struct ct_medium *m, const struct nvw_log_record *r)
{
	if (m->ordered > 0) {
		complete_flushes(m, is_ordered, r);
	}
	return ct_on_store(m, r);
}

static int flush(struct ct_medium *m, const struct nvw_log_record *r)
{
	const nvw_off end = r->flush.off + r->flush.bytes;

	for (nvw_off line = r->flush.off & ~(nvw_off)63; line < end; line += NVW_LOG_LINE_BYTES) {
		const int error = ct_array_grow(&m->flush, m->flush.count + 1, sizeof(struct ct_flush));

		if (error) {
			return error;
		}
		((struct ct_flush *)m->flush.at)[m->flush.count++] =
			(struct ct_flush){.thread = r->flush.thread,
				.write = m->stores,
				.off = line,
				.ordered = r->flush.ordered};
		m->ordered += r->flush.ordered;
	}
	return 0;
}

/* Axiom: fence. */
static int fence(struct ct_medium *m, const struct nvw_log_record *r)
{
	complete_flushes(m, is_of_thread, r);
	return 0;
}

const struct ct_model_rules ct_model_x86 = {
	.info = {.name = "x86",
		.who = "a program with flushes and fences; lines may be evicted at any time",
		.axioms = CT_A(LINE) | CT_A(FENCE) | CT_A(ORDERED) | CT_A(HOST),
		.levels = CT_FREE,
		.of_programs = true,
		.bounds_reads = true},
	.completing = CT_KIND(FENCE) | CT_KIND(HOST),
	.apply = {[NVW_LOG_STORE] = store_in_order,
		[NVW_LOG_FLUSH] = flush,
		[NVW_LOG_FENCE] = fence,
		[NVW_LOG_HOST] = ct_on_host,
		[NVW_LOG_ACK] = ct_on_ack},
};
