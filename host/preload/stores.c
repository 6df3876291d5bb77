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
static void record_others(const struct host_mapping *m, size_t at, size_t n, uint32_t site)
{
	size_t from, to;

	host_lines_of(m, at, n, &from, &to);
	host_compare(m, from, to, HOST_CHANGE, site);
	for (size_t i = from / HOST_LINE; i < to / HOST_LINE; i++) {
		m->lines[i] = 1;
	}
}

/* Enters the recorder for a store; false if it is not recorded. */
static bool enter(const struct host_mapping *m, void *address, size_t n)
{
	if (m == NULL || m->file < 0 || m->read_only || n == 0 || host_self.inside || !host_enter()) {
		return false;
	}
	host_thread();
	host_admit(m, (uintptr_t)address - m->start, nvw_min(n, m->start + m->length - (uintptr_t)address));
	host_settle();
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

static void comes(const struct host_mapping *m, const struct host_pending *p)
{
	record_others(m, p->address - m->start, p->n, p->site);
	host_pend(p);
	host_leave();
}

void host_store(void *address, size_t n, bool streams, const struct host_caller *caller)
{
	const struct host_mapping *const m = host_find(address);

	if (!enter(m, address, n)) {
		return;
	}
	host_reached(caller->address);
	n = nvw_min(n, m->start + m->length - (uintptr_t)address);
	const struct host_pending p = {.address = (uintptr_t)address,
		.n = n,
		.thread = host_self.number,
		.site = host_site(caller),
		.streams = streams,
		.whole = whole_of((uintptr_t)address, n)};

	host_check_logged(m, &p, caller->address);
	comes(m, &p);
}

void host_lock_store(void *address, size_t n, const struct host_caller *caller)
{
	const struct host_mapping *const m = host_find(address);

	if (enter(m, address, n)) {
		comes(m, &(struct host_pending){.address = (uintptr_t)address,
				 .n = nvw_min(n, m->start + m->length - (uintptr_t)address),
				 .thread = host_self.number,
				 .site = host_site(caller)});
	}
}

bool host_store_begins(void *address, size_t n, const struct host_caller *caller)
{
	const struct host_mapping *const m = host_find(address);

	if (!enter(m, address, n)) {
		return false;
	}
	host_reached(caller->address);
	atomic = (struct host_pending){
		.address = (uintptr_t)address, .n = n, .thread = host_self.number, .site = host_site(caller)};
	host_check_logged(m, &atomic, caller->address);
	record_others(m, (uintptr_t)address - m->start, n, atomic.site);
	return true;
}

void host_store_ends(void)
{
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
