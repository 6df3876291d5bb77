/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock of read-modify-writes (alsop16 II.D): remote operations have it while they are under way, and no
 * L1 performs a read-modify-write in the meantime. The paper delays nothing else, so remote operations share
 * it.
 *
 * Guarantees
 *	(1) Who has the lock waits for nothing but its own flush, so it always opens.
 *	(2) Read-modify-writes that wait are performed before the remote operations that come after them:
 *	    those wait behind them. Work-items that spin on remote operations keep nobody out.
 */
#include "core/invariant.h"
#include "protocol.h"

/* Whether the request wants a share of the lock. */
static bool is_remote(const struct coh_request *r)
{
	return r->steps[r->step] == &coh_lock_rmws;
}

/* Who waits has somebody to wait for. */
__attribute__((unused)) static bool lock_is_valid(const struct coh_lock *lock)
{
	return !lock->waiting || (!*lock->end && (lock->holders > 0 || lock->passing > 0));
}

bool coh_is_locked_out(const struct coh_request *r)
{
	const struct coh_lock *const lock = &r->m->lock;

	if (r->again) { /* it has been let pass */
		return false;
	}
	return is_remote(r) ? lock->waiting || lock->passing : lock->holders > 0;
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
	NVW_DEEP_INVARIANT(lock_is_valid(lock));
	return COH_NOT_YET;
}

void coh_take_lock(const struct coh_request *r)
{
	r->m->lock.holders += !r->again;
	NVW_DEEP_INVARIANT(r->m->lock.holders > 0);
}

/* Those at the head of the queue that may go now: read-modify-writes up to the first remote operation, and
 * the remote operations behind them, which begin when these have been performed. */
static void let_pass(struct nvw_machine *m)
{
	struct coh_lock *const lock = &m->lock;
	emu_time last = m->now;

	while (lock->waiting && (!lock->holders || is_remote(&lock->waiting->request))) {
		struct coh_wait *const w = lock->waiting;

		lock->waiting = w->next;
		last = emu_later(last, w->request.cu->rmw_free);
		++*(is_remote(&w->request) ? &lock->holders : &lock->passing);
		coh_wake(m, w, last);
	}
	NVW_DEEP_INVARIANT(lock_is_valid(lock));
}

void coh_open_lock(struct nvw_machine *m)
{
	NVW_INVARIANT(m->lock.holders > 0);
	if (--m->lock.holders == 0) {
		let_pass(m);
	}
}

void coh_passed_lock(struct nvw_machine *m)
{
	NVW_INVARIANT(m->lock.passing > 0);
	if (--m->lock.passing == 0 && !m->lock.holders) {
		let_pass(m);
	}
}

void coh_lock_forget(struct nvw_machine *m)
{
	m->lock = (struct coh_lock){0};
}
