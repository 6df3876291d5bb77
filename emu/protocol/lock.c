/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock of read-modify-writes (alsop16 II.D): a remote operation has it while its release is under way, and no L1 performs
 * a read-modify-write in the meantime. Those that come wait, and so do other remote operations.
 *
 * Guarantees
 *	(1) The one that has the lock waits for nothing but its own flush, so it always opens.
 *	(2) Who has come first goes first: an open lock lets the read-modify-writes pass that came before the next remote operation,
 *	    which has the lock from then on and begins behind them. Work-items that spin on remote operations keep nobody out.
 */
#include "protocol.h"

/* Whether the request wants the lock for itself. */
static bool is_remote(const struct coh_request *r)
{
	return r->steps[r->step] == &coh_lock_rmws;
}

bool coh_is_locked_out(const struct coh_request *r)
{
	const struct coh_lock *const lock = &r->m->lock;

	return (lock->wavefront || (lock->passing && is_remote(r))) &&
	       !(lock->wavefront == r->wf && lock->line == r->line && lock->lanes == r->lanes);
}

emu_time coh_await_lock(const struct coh_request *r, emu_time t)
{
	struct coh_lock *const lock = &r->m->lock;
	struct coh_wait *const w = coh_put_off(r, EMU_CAUSE_lock, t);

	if (!w) {
		return t;
	}
	w->next = NULL;
	*(lock->waiting ? lock->end : &lock->waiting) = w;
	lock->end = &w->next;
	return COH_NOT_YET;
}

void coh_take_lock(const struct coh_request *r)
{
	struct coh_lock *const lock = &r->m->lock;

	lock->wavefront = r->wf;
	lock->line = r->line;
	lock->lanes = r->lanes;
}

void coh_open_lock(struct nvw_machine *m)
{
	struct coh_lock *const lock = &m->lock;
	emu_time last = m->now;

	lock->wavefront = NULL;
	while (lock->waiting && !lock->wavefront) {
		struct coh_wait *const w = lock->waiting;

		lock->waiting = w->next;
		last = emu_later(last, w->request.cu->rmw_free);
		if (is_remote(&w->request)) {
			coh_take_lock(&w->request);
		} else {
			lock->passing++;
		}
		coh_wake(m, w, last);
	}
}

void coh_passed_lock(struct nvw_machine *m)
{
	if (--m->lock.passing == 0 && !m->lock.wavefront) {
		coh_open_lock(m);
	}
}

void coh_lock_forget(struct nvw_machine *m)
{
	m->lock = (struct coh_lock){0};
}
