/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores of programs built by nvwave-cc, one by one, in program order.
 *
 * Hooks are called before the stores, so the stored values are not known yet. A store is *pending* until its
 * thread reaches its next hook: then it has certainly happened, and its value is the difference from the
 * shadow in exactly those bytes. At every event of any thread all pending stores are examined, in the order
 * of their hooks, and completed ones are recorded. This preserves causality: code that depends on a store has
 * seen it before its own hook is called, so the store is recorded before anything that depends on it.
 *
 * A store past the caches is also flushed, once it has certainly happened.
 *
 * Guarantees
 *   (1) Stores of one thread are recorded in program order, each with only its own bytes, at most one word
 *       per record.
 *   (2) Changes of a line by other code are recorded before the next store to that line by recompiled code.
 *   (3) Missed stores (in a signal handler between another store and its hook; with too many threads) are
 *       found by comparison, like the stores of code that was not recompiled.
 */
#include "preload.h"

static struct host_pending atomic; /* in progress by the thread that holds the lock */

/* Records other changes in the lines of a coming store. */
static inline void record_others(const struct host_mapping *m, const struct host_pending *p)
{
	NVW_DEEP_INVARIANT(p->n > 0 && p->address - m->start + p->n <= m->length);

	size_t from, to;

	host_lines_of(m, p->address - m->start, p->n, &from, &to);
	host_compare(m, from, to, HOST_CHANGE, p->site);
	do {
		m->lines[from / HOST_LINE] = 1;
		from += HOST_LINE;
	} while (from < to);
}

/* Enters the recorder for a store, as far as it lies in the mapping; false if it is not recorded. */
static inline bool enter(const struct host_mapping *m, void *address, size_t n,
	const struct host_caller *caller, struct host_pending *ret)
{
	if (m == NULL || m->file < 0 || m->read_only || n == 0 || host_self.inside || !host_enter()) {
		return false;
	}
	host_thread();
	n = nvw_min(n, m->start + m->length - (uintptr_t)address);
	host_admit(m, (uintptr_t)address - m->start, n);
	host_settle();
	*ret = (struct host_pending){
		.address = (uintptr_t)address, .n = n, .thread = host_self.number, .site = host_site(caller)};
	return true;
}

/* A move of 16 bytes is announced at once, and may be two instructions. */
static struct host_bytes whole_of(uintptr_t address, size_t n)
{
	const struct host_bytes a = host_self.announced;

	if (address >= a.address && address + n <= a.address + a.n) {
		return a;
	}
	return (struct host_bytes){address, n};
}

static inline void comes(const struct host_mapping *m, const struct host_pending *p)
{
	NVW_DEEP_INVARIANT(host_self.inside);
	record_others(m, p);
	host_pend(p);
	host_leave();
}

void host_store(void *address, size_t n, bool streams, const struct host_caller *caller)
{
	const struct host_mapping *const m = host_find(address);
	struct host_pending p;

	if (!enter(m, address, n, caller, &p)) {
		return;
	}
	host_reached(caller->address);
	p.streams = streams;
	p.whole = whole_of(p.address, p.n);
	host_check_logged(m, &p, caller->address);
	comes(m, &p);
}

/* It comes, too: none of the two waits for the other. */
static void comes_beside(const struct host_pending *p, struct host_bytes also)
{
	NVW_DEEP_INVARIANT(also.n > 0);

	const struct host_mapping *const m = host_find((void *)also.address);

	if (m != NULL && m->file >= 0 && !m->read_only) {
		const size_t n = nvw_min(also.n, m->start + m->length - also.address);
		const struct host_pending other = {.address = also.address,
			.n = n,
			.thread = p->thread,
			.site = p->site,
			.waits = p->waits};

		host_admit(m, also.address - m->start, n);
		record_others(m, &other);
		host_pend(&other);
	}
}

void host_lock_store(
	struct host_bytes lock, struct host_bytes also, bool waits, const struct host_caller *caller)
{
	const struct host_mapping *const m = host_find((void *)lock.address);
	struct host_pending p;

	host_announce((void *)lock.address, lock.n);
	if (!enter(m, (void *)lock.address, lock.n, caller, &p)) {
		return;
	}
	p.waits = waits;
	if (also.n > 0) {
		comes_beside(&p, also);
	}
	comes(m, &p);
}

bool host_store_begins(void *address, size_t n, const struct host_caller *caller)
{
	const struct host_mapping *const m = host_find(address);

	if (!enter(m, address, n, caller, &atomic)) {
		return false;
	}
	host_reached(caller->address);
	host_check_logged(m, &atomic, caller->address);
	record_others(m, &atomic);
	return true;
}

void host_store_ends(void)
{
	NVW_DEEP_INVARIANT(host_self.inside && atomic.n > 0);
	host_settle_store(&atomic);
	host_leave();
}

void host_copied(void *to, size_t n, const struct host_caller *caller)
{
	host_point(HOST_AT_STORE, to, caller->address);
	if (host_recording) {
		host_announce(to, n);
		host_store(to, n, false, caller);
	}
	if (host_checking) {
		host_check_store(host_find(to), to, n, HOST_STORE_PLAIN, caller);
	}
}
