/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores that are pending, in the order of their hooks (stores.c): those that have happened are recorded.
 */
#include <string.h>

#include "core/each.h"
#include "preload.h"

enum { PENDING_MAX = 64 };

/* In the order of their hooks, one per thread, or two of a lock; under the lock. */
static struct host_pending pending[PENDING_MAX];
static unsigned pending_count;

/* The stores of the site that follow are parts of one to these bytes. */
static void record_wide(const struct host_mapping *m, const struct host_pending *p)
{
	const struct host_bytes own = {p->address, p->n}, whole = p->whole.n > 0 ? p->whole : own;
	struct host_event *const e = whole.address >= m->start ? host_room(sizeof *e) : NULL;

	if (e != NULL) {
		*e = (struct host_event){.kind = HOST_WIDE,
			.file = (uint16_t)m->file,
			.thread = p->thread,
			.site = p->site,
			.bytes = (uint32_t)nvw_min(whole.n, UINT32_MAX),
			.off = m->off + (whole.address - m->start),
			.call = host_call()};
		host_publish(sizeof *e);
	}
}

/* Bytes of a word, at an offset of the mapping; the shadow has them from then on. */
static inline void record_bytes(
	const struct host_mapping *m, size_t at, uint64_t bytes, size_t n, const struct host_pending *p)
{
	NVW_DEEP_INVARIANT(n > 0 && at % 8 + n <= 8);

	struct host_event *const e = host_room(sizeof *e + 8);

	if (e != NULL) {
		*e = (struct host_event){.kind = HOST_STORE,
			.file = (uint16_t)m->file,
			.thread = p->thread,
			.site = p->site,
			.bytes = (uint32_t)n,
			.off = m->off + at,
			.call = host_call()};
		*(uint64_t *)(e + 1) = bytes;
		host_publish(sizeof *e + 8);
	}
	m->lines[at / HOST_LINE] = 1;
	m->page[at / HOST_PAGE].idle = 0;
	host_self.stats->bytes_changed += n;
}

/* Records bytes of a store that lie in one word, if they changed. content: of the word, read at once.
 * wide: its first part is announced before. */
static inline bool settle_word(const struct host_pending *p, const struct host_mapping *m, size_t at,
	size_t n, uint64_t content, bool *wide)
{
	NVW_DEEP_INVARIANT(n > 0 && at % 8 + n <= 8);

	const unsigned shift = 8 * (at % 8);
	const uint64_t mask = UINT64_MAX >> (64 - 8 * n) << shift;
	uint64_t *const shadow = (uint64_t *)(m->shadow + host_down(at, 8));
	const uint64_t change = (content ^ *shadow) & mask;

	if (change == 0) {
		return false;
	}
	if (*wide) {
		record_wide(m, p);
		*wide = false;
	}
	record_bytes(m, at, (content & mask) >> shift, n, p);
	*shadow ^= change;
	return true;
}

/* At once, since other threads may be storing. */
static inline uint64_t read_word(const struct host_mapping *m, size_t at)
{
	return *(const volatile uint64_t *)(m->alias + host_down(at, 8));
}

/* Records the completed part of a store; line: its mapping's content from an offset on, NULL: read it now. */
__attribute__((noinline)) static bool settle(const struct host_pending *p, const struct host_mapping *m,
	size_t from, size_t to, const uint64_t *line)
{
	NVW_DEEP_INVARIANT(from < to && to <= m->length);

	const size_t first = host_down(from, HOST_LINE);
	bool changed = false;
	bool wide = p->whole.n > p->n || p->address / 8 != (p->address + p->n - 1) / 8;

	for (size_t at = from, next; at < to; at = next) {
		next = nvw_min(host_down(at, 8) + 8, to);
		const uint64_t content = line ? line[(at - first) / 8] : read_word(m, at);

		changed |= settle_word(p, m, at, next - at, content, &wide);
	}
	return changed;
}

/* Records a store if it has happened; false: nothing recorded. */
static inline bool settle_store(const struct host_pending *p)
{
	const struct host_mapping *const m = host_find((void *)p->address);

	if (m == NULL || m->file < 0) {
		return false;
	}
	const size_t at = p->address - m->start, n = nvw_min(p->n, m->length - at);

	if (at / 8 == (at + n - 1) / 8) {
		bool wide = p->whole.n > p->n;

		return settle_word(p, m, at, n, read_word(m, at), &wide);
	}
	return memcmp(m->alias + at, m->shadow + at, n) != 0 && settle(p, m, at, at + n, NULL);
}

void host_stored(const struct host_mapping *m, const void *address, size_t n, uint32_t site)
{
	NVW_DEEP_INVARIANT((uintptr_t)address - m->start < m->length);

	const struct host_pending p = {.address = (uintptr_t)address,
		.n = nvw_min(n, m->start + m->length - (uintptr_t)address),
		.thread = host_self.number,
		.site = site};

	settle_store(&p);
}

static void flush_stream(const struct host_pending *p)
{
	NVW_DEEP_INVARIANT(p->streams);

	const struct host_mapping *const m = host_find((void *)p->address);

	if (m != NULL) {
		host_record_streamed(m, p->address - m->start, p->n, p->site);
	}
}

void host_settle(void)
{
	NVW_DEEP_INVARIANT(host_self.inside && pending_count <= PENDING_MAX);

	unsigned kept = 0;

	NVW_EACH(p, pending, pending_count) {
		const bool own = p->thread == host_self.number, changed = settle_store(p);

		if (own && p->streams) {
			flush_stream(p);
		} else if (!own && (!changed || p->n > 8 || p->streams || p->waits)) {
			pending[kept++] = *p;
		}
	}
	pending_count = kept;
}

void host_settle_line(const struct host_mapping *m, size_t at, const uint64_t line[8])
{
	NVW_DEEP_INVARIANT(at % HOST_LINE == 0);
	NVW_EACH(p, pending, pending_count) {
		const size_t begin = p->address - m->start; /* wraps, and then it is far away */

		if (p->address >= m->start && begin < at + HOST_LINE && begin + p->n > at) {
			settle(p, m, nvw_max(begin, at), nvw_min(begin + p->n, at + HOST_LINE), line);
		}
	}
}

void host_forget_stores(uintptr_t start, uintptr_t end)
{
	unsigned kept = 0;

	NVW_EACH(one, pending, pending_count) {
		if (one->address - start >= end - start) {
			pending[kept++] = *one;
		}
	}
	pending_count = kept;
}

/* A change is attributed to a later store to the same bytes; the oldest is dropped if there are too many. */
void host_pend(const struct host_pending *p)
{
	NVW_DEEP_INVARIANT(p->n > 0 && p->thread == host_self.number);

	unsigned kept = 0;

	for (unsigned i = pending_count == PENDING_MAX; i < pending_count; i++) {
		if (pending[i].streams || pending[i].waits || pending[i].address < p->address ||
			pending[i].address + pending[i].n > p->address + p->n) {
			pending[kept++] = pending[i];
		}
	}
	pending_count = kept;
	if (kept < PENDING_MAX) {
		pending[pending_count++] = *p;
	}
}

void host_settle_store(const struct host_pending *p)
{
	settle_store(p);
}
