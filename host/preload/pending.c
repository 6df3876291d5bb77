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

enum { PENDING_MAX = 64 };

/* In the order of their hooks, one per thread; under the lock. */
static struct host_pending pending[PENDING_MAX];
static unsigned pending_count;

/* Before the first part of a store to several words, or of several instructions. */
static void announce_wide(const struct host_pending *p, const struct host_mapping *m, bool *announced)
{
	const struct host_bytes own = {p->address, p->n}, whole = p->whole.n > 0 ? p->whole : own;
	const size_t begin = whole.address - m->start;

	if (!*announced && whole.address >= m->start &&
		(whole.n > p->n || begin / 8 != (begin + whole.n - 1) / 8)) {
		host_record_wide(m, begin, whole.n, p->thread, p->site);
	}
	*announced = true;
}

/* Records the bytes of a store in one word, if they changed. content: of the word, read at once. */
static bool settle_word(const struct host_pending *p, const struct host_mapping *m, size_t word,
	uint64_t content, bool *announced)
{
	const size_t begin = p->address - m->start;
	const size_t from = nvw_max(begin, word), to = nvw_min(begin + p->n, word + 8);
	const uint8_t *const data = (const uint8_t *)&content + (from - word);

	if (host_is_same(data, m->shadow + from, to - from)) {
		return false;
	}
	announce_wide(p, m, announced);
	host_record_bytes(m, from, data, to - from, p->thread, p->site);
	return true;
}

/* Records the completed part of a store; line: its mapping's content from an offset on, NULL: read it now. */
static bool settle(const struct host_pending *p, const struct host_mapping *m, size_t from, size_t to,
	const uint64_t *line)
{
	bool changed = false, announced = false;

	for (size_t word = from & ~(size_t)7; word < to; word += 8) {
		const uint64_t content = line ? line[(word - (from & ~(size_t)(HOST_LINE - 1))) / 8] :
						*(const volatile uint64_t *)(m->alias + word);

		changed |= settle_word(p, m, word, content, &announced);
	}
	return changed;
}

bool host_settle_store(const struct host_pending *p)
{
	const struct host_mapping *const m = host_find((void *)p->address);

	if (m == NULL || m->file < 0) {
		return false;
	}
	const size_t at = p->address - m->start, n = nvw_min(p->n, m->length - at);

	return !host_is_same(m->alias + at, m->shadow + at, n) && settle(p, m, at, at + n, NULL);
}

void host_stored(const struct host_mapping *m, const void *address, size_t n, uint32_t site)
{
	const struct host_pending p = {.address = (uintptr_t)address,
		.n = nvw_min(n, m->start + m->length - (uintptr_t)address),
		.thread = host_self.number,
		.site = site};

	host_settle_store(&p);
}

static void flush_stream(const struct host_pending *p)
{
	const struct host_mapping *const m = p->streams ? host_find((void *)p->address) : NULL;

	if (m != NULL) {
		host_record_streamed(m, p->address - m->start, p->n, p->site);
	}
}

void host_settle(void)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < pending_count; i++) {
		const struct host_pending p = pending[i];
		const bool own = p.thread == host_self.number, changed = host_settle_store(&p);

		if (own) {
			flush_stream(&p);
		} else if (!changed || p.n > 8 || p.streams) {
			pending[kept++] = p;
		}
	}
	pending_count = kept;
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
void host_pend(const struct host_pending *p)
{
	unsigned kept = 0;

	for (unsigned i = pending_count == PENDING_MAX; i < pending_count; i++) {
		if (pending[i].streams || pending[i].address < p->address ||
			pending[i].address + pending[i].n > p->address + p->n) {
			pending[kept++] = pending[i];
		}
	}
	pending_count = kept;
	if (kept < PENDING_MAX) {
		pending[pending_count++] = *p;
	}
}
