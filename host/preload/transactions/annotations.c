/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The annotations of pmemcheck (cc/include/valgrind/pmemcheck.h): flushes and fences that the program says it
 * has made, and transactions that it has written itself (unlogged.c looks at the stores within them).
 *
 * A thread has one transaction at a time: their numbers are not looked at, nor the stores of other threads.
 */
#include <string.h>

#include "ranges.h"

#include "../../cc/include/valgrind/pmemcheck.h"

enum { PIECE = 2048 }; /* bytes of a file in one event */

HOST_EXPORT unsigned nvwave_pmemcheck_1(int what, unsigned long long n, const volatile void *at);

/* ---- Annotations ------------------------------------------------------------------------------------ */

static void flush(const struct host_mapping *m, const void *at, size_t n, uint32_t site)
{
	NVW_INVARIANT(host_self.inside && m->file >= 0);

	size_t from, to;

	host_settle();
	host_lines_of(m, (uintptr_t)at - m->start, n, &from, &to);
	host_event(HOST_FLUSH, m->file, m->off + from, to - from, site);
}

static void fence(uint32_t site)
{
	host_record_all(HOST_CHANGE, site);
	host_event(HOST_FENCE, 0, 0, 0, site);
}

/* Durable as it is. */
static void clean(const struct host_mapping *m, uintptr_t at, size_t n, uint32_t site)
{
	NVW_INVARIANT(host_self.inside && at - m->start + n <= m->length);
	host_settle();
	for (size_t done = 0; done < n; done += PIECE) {
		const size_t bytes = nvw_min(n - done, PIECE), room = host_up(bytes, 8);
		struct host_event *const e = host_room(sizeof *e + room);

		if (e == NULL) {
			return;
		}
		*e = (struct host_event){.kind = HOST_WRITTEN,
			.file = (uint16_t)m->file,
			.thread = host_self.number,
			.site = site,
			.bytes = (uint32_t)bytes,
			.off = m->off + (at - m->start) + done};
		memset(e + 1, 0, room);
		memcpy(e + 1, (const void *)(at + done), bytes);
		host_publish(sizeof *e + room);
	}
}

static void begin(struct host_annotated *t, uint32_t site)
{
	if (t->depth++ == 0) {
		t->begun = site;
		host_ranges_clear(&t->ranges);
	}
}

/* The bytes of a recorded file, as far as its mapping goes; NULL: they are of none. */
static const struct host_mapping *recorded(const void *at, unsigned long long *n)
{
	const struct host_mapping *const m = host_find(at);

	if (m == NULL || m->file < 0) {
		return NULL;
	}
	*n = nvw_min(*n, m->length - ((uintptr_t)at - m->start));
	return m;
}

static void of_file(int what, const void *at, unsigned long long n, uint32_t site)
{
	const struct host_mapping *const m = recorded(at, &n);

	if (m == NULL) {
		return;
	}
	if (what == NVW_PMC_FLUSH) {
		flush(m, at, n, site);
	} else {
		clean(m, (uintptr_t)at, n, site);
	}
}

static void of_transaction(int what, const void *at, unsigned long long n, uint32_t site)
{
	struct host_annotated *const t = host_annotated();

	if (t == NULL) {
		return;
	}
	host_settle();
	if (what == NVW_PMC_START_TX) {
		begin(t, site);
	} else if (what == NVW_PMC_END_TX) {
		t->depth -= t->depth > 0;
	} else if (what == NVW_PMC_ADD_TO_TX) {
		host_ranges_add(&t->ranges, at, n);
	} else if (what == NVW_PMC_REMOVE_FROM_TX) {
		host_ranges_remove(&t->ranges, at, n);
	}
}

static void annotate(int what, const void *at, unsigned long long n, uint32_t site)
{
	switch (what) {
	case NVW_PMC_FLUSH:
	case NVW_PMC_CLEAN:
		of_file(what, at, n, site);
		break;
	case NVW_PMC_FENCE:
		fence(site);
		break;
	case NVW_PMC_IGNORE:
		host_annotated_ignore(at, n);
		break;
	default:
		of_transaction(what, at, n, site);
	}
}

HOST_EXPORT unsigned nvwave_pmemcheck_1(int what, unsigned long long n, const volatile void *at)
{
	const struct host_caller caller = HOST_CALLER;
	HOST_KEEPS_ERRNO;

	host_attach(); /* a constructor of the program's may come before ours */
	if (host_recording && host_thread() != NULL && host_enter()) {
		annotate(what, (const void *)at, n, host_site(&caller));
		host_leave();
	}
	return 0;
}
