/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * "Not yet": an action that cannot go on puts its request off, and is asked again when it is woken.
 *
 * Transactions are carried out whole, up to such an action. Other instructions go on meanwhile; the wavefront waits until all
 * requests of its instruction are done (emu_access_served).
 */
#include <stdlib.h>

#include "protocol.h"

static void count(struct nvw_machine *m, enum coh_cause cause, emu_time waited)
{
	struct emu_stats *const s = &m->stats;
	const struct {
		uint64_t *times, *ps;
	} counters[] = {
#define X(name) {&s->waits_##name, &s->wait_##name##_ps},
		COH_CAUSES(X)
#undef X
	};

	++*counters[cause].times;
	*counters[cause].ps += waited;
}

struct coh_wait *coh_put_off(const struct coh_request *r, enum coh_cause cause, emu_time t)
{
	struct nvw_machine *const m = r->m;
	struct coh_wait *w;

	if (!r->wf) {
		m->error = nvw_fail(NVW_E_MODEL,
			"protocol %s: an action waits at the beginning or end of a kernel, where no instruction can be retried",
			m->protocol->name);
		return NULL;
	}
	w = malloc(sizeof *w);
	if (!w) {
		m->error = nvw_fail(NVW_E_MEMORY, "no memory for a request that waits");
		return NULL;
	}
	*w = (struct coh_wait){.request = *r, .cause = cause, .since = t};
	r->wf->queued++;
	return w;
}

void coh_try_again(struct nvw_machine *m, struct coh_wait *w)
{
	struct coh_request r = w->request;
	const emu_time waited = m->now > w->since ? m->now - w->since : 0;
	emu_time done;

	count(m, w->cause, waited);
	free(w);
	r.again = true;
	done = r.resume(&r, waited, m->now);
	if (done == COH_NOT_YET) {
		r.wf->queued--; /* it has been put off once more */
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
