/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushes and fences, in a host program and beside kernels (../mixed.h). Axioms: fence, ordered flush. */

#include "../mixed.h"
#include "models.h"

/* Lines covered by these flushes are durable; the others remain. */
static void complete_flushes(struct ct_medium *m,
	bool (*covers)(const struct ct_flush *f, const struct nvw_log_record *r),
	const struct nvw_log_record *r)
{
	struct ct_flush *const f = m->flush.at;
	uint64_t kept = 0;

	NVW_EACH(one, f, m->flush.count) {
		if (covers(one, r)) {
			if (m->rules.mixed) {
				ct_mixed_complete_flushed(m, one->off, one->write);
			} else {
				ct_medium_complete(m, one->off, one->write, CT_ALL_BYTES);
			}
			m->ordered -= one->ordered;
		} else {
			f[kept++] = *one;
		}
	}
	m->flush.count = kept;
	if (m->rules.mixed) {
		ct_mixed_settle(m);
	}
}

static bool is_ordered(const struct ct_flush *f, const struct nvw_log_record *r)
{
	return f->ordered;
}

static bool is_of_thread(const struct ct_flush *f, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_FENCE);
	return f->thread == r->fence.thread;
}

void ct_complete_ordered(struct ct_medium *m)
{
	complete_flushes(m, is_ordered, NULL);
}

static int flush_line(struct ct_medium *m, const struct nvw_log_record *r, nvw_off line)
{
	NVW_INVARIANT(r->kind == NVW_LOG_FLUSH);
	const struct ct_flush flush = {
		.thread = r->flush.thread, .write = m->stores, .off = line, .ordered = r->flush.ordered};

	m->ordered += r->flush.ordered;
	return CT_ADD(&m->flush, &flush);
}

/* It flushes the lines that a store is in flight to: in others there is nothing to complete. */
static int flush_cells(struct ct_medium *m, const struct nvw_log_record *r, nvw_off begin, nvw_off end)
{
	NVW_EACH(cell, m->cell, m->cell_count) {
		const nvw_off off = cell->off;

		if (off >= begin && off < end) {
			NVW_TRY(flush_line(m, r, off));
		}
	}
	return 0;
}

int ct_on_flush(struct ct_medium *m, const struct nvw_log_record *r)
{
	const nvw_off begin = r->flush.off & ~(nvw_off)63, end = r->flush.off + r->flush.bytes;

	NVW_INVARIANT(r->kind == NVW_LOG_FLUSH);
	if (!m->rules.mixed && m->unit_bytes == NVW_LOG_LINE_BYTES &&
		(end - begin) / NVW_LOG_LINE_BYTES > m->cell_count) {
		return flush_cells(m, r, begin, end); /* a sync of a large file */
	}
	for (nvw_off line = begin; line < end; line += NVW_LOG_LINE_BYTES) {
		NVW_TRY(flush_line(m, r, line));
	}
	return 0;
}

/* Axiom: fence. */
int ct_on_fence(struct ct_medium *m, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_FENCE);
	complete_flushes(m, is_of_thread, r);
	return 0;
}
