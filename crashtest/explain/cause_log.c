/* SPDX-License-Identifier: BSD-3-Clause */
/* What the log has between a lost store and the one that relies on it: the barriers that the lost store's
 * work-item met, its flush and fence. */

#include "core/invariant.h"

#include "cause_search.h"
#include "../log_walk.h"

static void look_at_flush(struct cause_search *s, const struct nvw_log_record *r, uint64_t number)
{
	struct cause_flushing *const f = &s->flushing;
	const nvw_off line = s->lost->off & ~(nvw_off)63;

	if (r->kind == NVW_LOG_FLUSH && number > s->lost->number && f->flushed == 0 &&
		r->flush.off < line + 64 && r->flush.off + r->flush.bytes > line) {
		f->flushed = number;
		f->thread = r->flush.thread;
		f->flush_site = r->flush.site;
	}
	if (r->kind == NVW_LOG_FENCE && f->flushed != 0 && f->fenced == 0 && r->fence.thread == f->thread) {
		f->fenced = number;
		f->fence_site = r->fence.site;
	}
}

static bool is_met_by(const struct nvw_log_record *r, const struct ct_store *s)
{
	NVW_INVARIANT(r->kind == NVW_LOG_BARRIER || r->kind == NVW_LOG_PERSISTED);
	if (r->barrier.kernel != s->kernel) {
		return false;
	}
	switch (r->barrier.scope) {
	case NVW_WORKITEM: {
		const uint64_t lane = s->work_item - r->barrier.work_item;

		return s->work_item >= r->barrier.work_item && lane < 64 && (r->barrier.lanes >> lane & 1);
	}
	case NVW_WORKGROUP:
		return r->barrier.group == s->group;
	case NVW_KERNEL:
		return true;
	}
	return false;
}

static void look_at(struct cause_search *s, const struct nvw_log_record *r, uint64_t number)
{
	cause_helping_look(&s->helping, s->stores, s->need, r);
	if (s->need->form != CT_NEED_ORDER) {
		return;
	}
	look_at_flush(s, r, number);
	if (r->kind == NVW_LOG_BARRIER && number > s->lost->number && number < s->early->number &&
		is_met_by(r, s->lost) && (!s->found || r->barrier.scope > s->barrier.barrier.scope)) {
		s->found = true;
		s->barrier = *r;
		s->barrier_number = number;
	}
}

static int look_at_record(void *context, const struct nvw_log_record *r, uint64_t number)
{
	look_at(context, r, number);
	return 0;
}

int cause_read_log(struct cause_search *s, int log_fd)
{
	return ct_log_walk(log_fd, look_at_record, s);
}
