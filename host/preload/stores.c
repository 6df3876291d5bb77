/* SPDX-License-Identifier: BSD-3-Clause */
/* Announced stores of programs built by nvwave-cc: each becomes pending (pending.c), or is recorded when it
 * has happened. */
#include "preload.h"

static struct host_pending atomic; /* in progress by the thread that holds the lock */

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

static void pend(const struct host_mapping *m, const struct host_pending *p)
{
	host_record_others(m, p->address - m->start, p->n, p->site);
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
	pend(m, &p);
}

void host_lock_store(void *address, size_t n, const struct host_caller *caller)
{
	const struct host_mapping *const m = host_find(address);

	if (enter(m, address, n)) {
		pend(m, &(struct host_pending){.address = (uintptr_t)address,
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
	host_record_others(m, (uintptr_t)address - m->start, n, atomic.site);
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
