/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * "Not yet": an action that cannot proceed delays its request, and is retried when the request is woken.
 *
 * Transactions are atomic up to such an action. Other instructions continue in the meantime; the wavefront
 * waits until all requests of its instruction are complete (emu_access_served).
 *
 * The machine has a list of all waiting requests: those that are never woken are named in the report of a
 * deadlock.
 */
#include <stdlib.h>

#include "core/each.h"
#include "core/invariant.h"
#include "../exec/store_buffer.h"
#include "protocol.h"

static void enlist(struct nvw_machine *m, struct coh_wait *w)
{
	w->older = m->waits;
	w->link = &m->waits;
	if (w->older) {
		w->older->link = &w->older;
	}
	m->waits = w;
}

static void strike(struct coh_wait *w)
{
	*w->link = w->older;
	if (w->older) {
		w->older->link = w->link;
	}
}

struct coh_wait *coh_put_off(const struct coh_request *r, enum emu_cause cause, emu_time t)
{
	struct nvw_machine *const m = r->m;
	struct coh_wait *w;

	if (!r->wf) {
		m->error = nvw_fail(NVW_E_MODEL,
			"protocol %s: an action waits at the beginning or end of a kernel, where no "
			"instruction can be retried",
			m->protocol->name);
		return NULL;
	}
	w = malloc(sizeof *w);
	if (!w) {
		m->error = nvw_fail(NVW_E_MEMORY, "no memory for a request that waits");
		return NULL;
	}
	*w = (struct coh_wait){.request = *r, .cause = cause, .since = t};
	enlist(m, w);
	r->wf->queued += !r->stored;
	return w;
}

void coh_wait_forget(struct coh_wait *w)
{
	NVW_DEEP_INVARIANT(*w->link == w);
	strike(w);
	free(w);
}

void coh_try_again(struct nvw_machine *m, struct coh_wait *w)
{
	struct coh_request r = w->request;
	const emu_time waited = m->now > w->since ? m->now - w->since : 0;
	emu_time done;

	if (r.stored) {
		emu_stored_swap(r.stored);
	}
	emu_count_wait(m, r.stored ? NULL : r.wf, r.wf->requests.site[emu_first(r.lanes)], w->cause,
		m->now - waited, m->now);
	coh_wait_forget(w);
	r.again = true;
	done = r.resume(&r, waited, m->now);
	if (r.stored) {
		emu_stored_swap(r.stored);
	}
	if (done == COH_NOT_YET) {
		r.wf->queued -= !r.stored; /* it has been delayed once more */
	} else if (r.stored) {
		emu_stored_done(m, r.stored, done);
	} else {
		emu_access_served(m, r.wf, r.lanes, done);
	}
}

static void wake(struct nvw_machine *m, void *what)
{
	coh_try_again(m, what);
}

void coh_wake(struct nvw_machine *m, struct coh_wait *w, emu_time t)
{
	emu_schedule(m, t, wake, w);
}

/* ---- A kernel that does not end ------------------------------------------------------------ */

static bool is_of_an_event(const struct nvw_machine *m, const struct coh_wait *w)
{
	return NVW_ANY(event, m->exec.events, m->exec.event_count, event->what == w);
}

void coh_waits_forget(struct nvw_machine *m)
{
	while (m->waits) {
		struct coh_wait *const w = m->waits;

		strike(w);
		if (!is_of_an_event(m, w)) {
			free(w);
		}
	}
}
