/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Synchronization that waits for an L1 that is waiting itself: DeNovoSync0's distributed queue (sinclair15
 * 3).
 *
 * The registry serves requests in order of arrival: each is forwarded to the L1 whose request came before it.
 * If that L1 still waits for its own registration, the request waits at its MSHR. Requests of that L1's CU
 * wait there too, and are all served before the remote one. So the L1s that want a line form a queue, and
 * each serves all of its CU's work-items when its turn comes.
 *
 * Here the queue of a line is one list of delayed requests (wait.c). Its first request is executed when the
 * L1 that has the line has been granted it; those of the same CU follow at once, and find the line in their
 * L1. A waiting request was sent long ago: its path to the owner takes no more time (head_start), but is
 * counted and books the resources on it.
 *
 * If a scheduler chooses the order of events, time has no meaning, and nothing waits.
 */
#include <stdlib.h>

#include "core/invariant.h"
#include "protocol.h"

struct coh_queue {
	struct coh_queue *next;
	emu_line_id line;
	struct coh_wait *first, **end;
};

/* When the L1 that has the request's bytes may give them up. */
static emu_time owner_waits_until(const struct coh_request *r)
{
	const struct emu_line *const below = coh_l2_line(r->m, r->line);
	struct emu_cu *const owner = coh_registry_other(r->m, r->cu, below, coh_taken_with(r->m, r->bytes));

	if (!owner) {
		return 0;
	}
	return coh_l1_line(owner, r->line)->granted;
}

/* Removes the request at *place from the queue and executes it. */
static void serve_one(struct nvw_machine *m, struct coh_queue *q, struct coh_wait **place)
{
	struct coh_wait *const served = *place;

	NVW_DEEP_INVARIANT(served && served->request.line == q->line);
	*place = served->next;
	if (!*place) {
		q->end = place;
	}
	m->head_start = m->now - served->since;
	coh_try_again(m, served);
	m->head_start = 0;
}

/* end is the place of the next request. */
__attribute__((unused)) static bool queue_is_valid(const struct coh_queue *q)
{
	struct coh_wait *const *place = &q->first;

	while (*place) {
		if ((*place)->request.line != q->line) {
			return false;
		}
		place = &(*place)->next;
	}
	return place == q->end;
}

static void empty_queue(struct coh_queue *q)
{
	while (q->first) {
		struct coh_wait *const first = q->first;

		q->first = first->next;
		coh_wait_forget(first);
	}
}

static void remove_queue(struct nvw_machine *m, struct coh_queue *q)
{
	struct coh_queue **place = &m->queues;

	while (*place != q) {
		NVW_DEEP_INVARIANT(*place);
		place = &(*place)->next;
	}
	*place = q->next;
	empty_queue(q);
	free(q);
}

/* Executes the first request, and all others of its CU. */
static void serve(struct nvw_machine *m, void *what)
{
	struct coh_queue *const q = what;
	NVW_DEEP_INVARIANT(q->first && queue_is_valid(q));
	const struct emu_cu *const cu = q->first->request.cu;

	serve_one(m, q, &q->first);
	for (struct coh_wait **place = &q->first; *place && !m->error;) {
		if ((*place)->request.cu == cu) {
			serve_one(m, q, place);
		} else {
			place = &(*place)->next;
		}
	}
	if (q->first && !m->error) {
		emu_schedule(m, emu_later(m->now, owner_waits_until(&q->first->request)), serve, q);
	} else {
		remove_queue(m, q);
	}
}

static struct coh_queue *queue_of(const struct nvw_machine *m, emu_line_id line)
{
	struct coh_queue *q = m->queues;

	while (q && q->line != line) {
		q = q->next;
	}
	return q;
}

static struct coh_queue *open_queue(struct nvw_machine *m, emu_line_id line, emu_time until)
{
	struct coh_queue *const q = calloc(1, sizeof *q);

	if (q) {
		q->line = line;
		q->end = &q->first;
		q->next = m->queues;
		m->queues = q;
		emu_schedule(m, until, serve, q);
	}
	return q;
}

bool coh_queue_up(const struct coh_request *r, emu_time t)
{
	struct nvw_machine *const m = r->m;
	struct coh_queue *q = queue_of(m, r->line);
	const emu_time until = owner_waits_until(r);
	struct coh_wait *last;

	if (m->scheduler.choose || (!q && until <= t)) {
		return false;
	}
	last = coh_put_off(r, EMU_CAUSE_owner, t);
	if (!last) {
		return false;
	}
	if (!q) {
		q = open_queue(m, r->line, until);
	}
	if (!q) {
		coh_wait_forget(last);
		m->error = nvw_fail(NVW_E_MEMORY, "no memory for a request that waits");
		return false;
	}
	NVW_DEEP_INVARIANT(!last->next);
	*q->end = last;
	q->end = &last->next;
	NVW_DEEP_INVARIANT(queue_is_valid(q));
	return true;
}

void coh_queue_forget(struct nvw_machine *m)
{
	for (struct coh_queue *q = m->queues; q; q = q->next) {
		empty_queue(q);
	}
	m->queues = NULL; /* events own their memory */
}
