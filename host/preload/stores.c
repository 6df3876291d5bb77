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
#include <string.h>

#include "preload.h"

/* ---- Those that are pending ----------------------------------------------------------------------- */

enum { PENDING_MAX = 64 };

/* In the order of their hooks, one per thread, or two of a lock; under the lock. */
static struct host_pending pending[PENDING_MAX];
static unsigned pending_count;

/* The stores of the site that follow are parts of one to these bytes. */
static void record_wide(const struct host_mapping *m, const struct host_pending *p)
{
	const struct host_bytes own = {p->address, p->n}, whole = p->whole.n > 0 ? p->whole : own;
	struct host_event *const e =
		whole.address >= m->start ? (struct host_event *)host_room(sizeof *e) : NULL;

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
	struct host_event *const e = (struct host_event *)host_room(sizeof *e + 8);

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

/* Records bytes of a store that lie in one word, if they changed. content: of the word, read at once. wide: its
 * first part is announced before. */
static inline bool settle_word(const struct host_pending *p, const struct host_mapping *m, size_t at,
	size_t n, uint64_t content, bool *wide)
{
	const unsigned shift = 8 * (at % 8);
	const uint64_t mask = UINT64_MAX >> (64 - 8 * n) << shift;
	uint64_t *const shadow = (uint64_t *)(m->shadow + (at & ~(size_t)7));
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
	return *(const volatile uint64_t *)(m->alias + (at & ~(size_t)7));
}

/* Records the completed part of a store; line: its mapping's content from an offset on, NULL: read it now. */
__attribute__((noinline)) static bool settle(const struct host_pending *p, const struct host_mapping *m,
	size_t from, size_t to, const uint64_t *line)
{
	const size_t first = from & ~(size_t)(HOST_LINE - 1);
	bool changed = false;
	bool wide = p->whole.n > p->n || p->address / 8 != (p->address + p->n - 1) / 8;

	for (size_t at = from, next; at < to; at = next) {
		next = nvw_min((at & ~(size_t)7) + 8, to);
		const uint64_t content = line ? line[(at - first) / 8] : read_word(m, at);

		changed |= settle_word(p, m, at, next - at, content, &wide);
	}
	return changed;
}

/* Records a store if it has happened; false: nothing recorded. */
static inline __attribute__((always_inline)) bool settle_store(const struct host_pending *p)
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
	const struct host_pending p = {.address = (uintptr_t)address,
		.n = nvw_min(n, m->start + m->length - (uintptr_t)address),
		.thread = host_self.number,
		.site = site};

	settle_store(&p);
}

static void flush_stream(const struct host_pending *p)
{
	const struct host_mapping *const m = host_find((void *)p->address);

	if (m != NULL) {
		host_record_streamed(m, p->address - m->start, p->n, p->site);
	}
}

static inline __attribute__((always_inline)) void settle_all(void)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < pending_count; i++) {
		const struct host_pending *const p = &pending[i];
		const bool own = p->thread == host_self.number, changed = settle_store(p);

		if (own && p->streams) {
			flush_stream(p);
		} else if (!own && (!changed || p->n > 8 || p->streams || p->waits)) {
			pending[kept++] = *p;
		}
	}
	pending_count = kept;
}

void host_settle(void)
{
	settle_all();
}

void host_settle_line(const struct host_mapping *m, size_t at, const uint64_t line[8])
{
	for (unsigned i = 0; i < pending_count; i++) {
		const struct host_pending *const p = &pending[i];
		const size_t begin = p->address - m->start; /* wraps, and then it is far away */

		if (p->address >= m->start && begin < at + HOST_LINE && begin + p->n > at) {
			settle(p, m, nvw_max(begin, at), nvw_min(begin + p->n, at + HOST_LINE), line);
		}
	}
}

void host_forget_stores(uintptr_t start, uintptr_t end)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < pending_count; i++) {
		if (pending[i].address - start >= end - start) {
			pending[kept++] = pending[i];
		}
	}
	pending_count = kept;
}

/* A change is attributed to a later store to the same bytes; the oldest is dropped if there are too many. */
static inline void pend(const struct host_pending *p)
{
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

/* ---- Those that come ------------------------------------------------------------------------------ */

static struct host_pending atomic; /* in progress by the thread that holds the lock */

/* Records other changes in the lines of a coming store. */
static inline void record_others(const struct host_mapping *m, const struct host_pending *p)
{
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
	settle_all();
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
	record_others(m, p);
	pend(p);
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
		pend(&other);
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
	settle_store(&atomic);
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
