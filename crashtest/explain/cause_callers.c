/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the caller at fault where a helper's line is wrong. See cause_callers.h. */
#include "core/invariant.h"

#include "cause_callers.h"

static bool is_of_helper(const struct ct_stores *stores, uint32_t site, uint32_t lost)
{
	return site != lost && ct_callers_one_place(stores, site, lost) &&
	       ct_callers_apart(stores, lost, site) != 0;
}

static void wait_for(struct cause_helping *h, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_STORE);
	h->waiting[h->next++ % CAUSE_WAITING_MAX] = (struct cause_waiting){
		.thread = r->store.work_item, .line = r->store.off & ~(nvw_off)63, .stored = true};
}

/* A store that has not become durable before its thread came to what relies on it is not right. */
static void give_up(struct cause_helping *h, uint64_t thread)
{
	NVW_EACH(waiting, h->waiting, CAUSE_WAITING_MAX) {
		waiting->stored &= waiting->thread != thread;
	}
}

static void flush_waiting(struct cause_helping *h, nvw_off off, uint64_t bytes)
{
	NVW_EACH(w, h->waiting, CAUSE_WAITING_MAX) {
		w->flushed |= w->stored && off < w->line + 64 && off + bytes > w->line;
	}
}

static void fence_waiting(struct cause_helping *h, uint64_t thread)
{
	NVW_EACH(w, h->waiting, CAUSE_WAITING_MAX) {
		h->right_elsewhere |= w->stored && w->flushed && w->thread == thread;
	}
}

/* Notes whether another caller of lost's line, in a host program, makes its store durable in time. */
void cause_helping_look(struct cause_helping *h, const struct ct_stores *stores, const struct ct_need *need,
	const struct nvw_log_record *r)
{
	const uint32_t lost = need->lost.store.site, early = need->early.store.site;

	switch (r->kind) {
	case NVW_LOG_STORE:
		if (ct_callers_one_place(stores, r->store.site, early)) {
			give_up(h, r->store.work_item);
		}
		if (is_of_helper(stores, r->store.site, lost)) {
			wait_for(h, r);
		}
		break;
	case NVW_LOG_ACK:
		give_up(h, r->ack.work_item);
		break;
	case NVW_LOG_FLUSH:
		h->early_flushes |= r->flush.site == early;
		flush_waiting(h, r->flush.off, r->flush.bytes);
		break;
	case NVW_LOG_FENCE:
		h->lost_fences |= r->fence.site == lost;
		h->early_flushes |= r->fence.site == early;
		fence_waiting(h, r->fence.thread);
		break;
	default:
		break;
	}
}

/*
 * The line of a store does not say enough if both sides are at it; if it is a fence, which has found what
 * nobody flushed; or if it is right where another caller comes to it: then the fault is the caller's. A line
 * that relies says too little if it is a flush or a fence that several call.
 */
void cause_helping_callers(const struct cause_helping *h, const struct ct_stores *stores,
	const struct ct_need *need, uint32_t *ret_lost, uint32_t *ret_early)
{
	const uint32_t lost = need->lost.store.site, early = need->early.store.site;
	const bool is_store = need->early.kind == NVW_LOG_STORE;

	*ret_lost = *ret_early = 0;
	if (is_store && early != lost && ct_callers_one_place(stores, lost, early)) {
		*ret_lost = ct_callers_apart(stores, lost, early);
		*ret_early = ct_callers_apart(stores, early, lost);
		return;
	}
	if (h->lost_fences || h->right_elsewhere) {
		*ret_lost = ct_callers_alone(stores, lost);
	}
	if (is_store && h->early_flushes) {
		*ret_early = ct_callers_alone(stores, early);
	}
}
