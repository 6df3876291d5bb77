/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes of a mapping against their shadow: lines that differ are recorded, and the shadow has them from then
 * on. A store that has been announced and is among them is recorded first, as itself (stores.c).
 */
#include <string.h>

#include "core/each.h"
#include "preload.h"

/* A run of changed lines within a page. */
struct run {
	const struct host_mapping *m;
	enum host_event_kind kind;
	uint32_t site;
	struct host_event *event; /* in the spool, NULL: not stored */
	uint8_t *data;
	size_t at, n; /* in the mapping */
};

static uint8_t unkept[sizeof(struct host_event) + HOST_PAGE];

static void begin_run(struct run *r, size_t at)
{
	NVW_DEEP_INVARIANT(r->n == 0 && at % HOST_LINE == 0);

	uint8_t *const to = host_room(sizeof *r->event + HOST_PAGE);

	r->event = (struct host_event *)to;
	r->data = NVW_OR(to, unkept) + sizeof *r->event;
	r->at = at;
	r->n = 0;
}

/* Publishes the run, then updates the shadow. */
static void end_run(struct run *r)
{
	if (r->n == 0) {
		return;
	}
	NVW_DEEP_INVARIANT(r->n <= HOST_PAGE && r->at / HOST_PAGE == (r->at + r->n - 1) / HOST_PAGE);
	if (r->event != NULL) {
		*r->event = (struct host_event){.kind = (uint16_t)r->kind,
			.file = (uint16_t)r->m->file,
			.thread = host_self.number,
			.site = r->site,
			.bytes = (uint32_t)r->n,
			.off = r->m->off + r->at,
			.call = host_call()};
		host_publish(sizeof *r->event + r->n);
	}
	memcpy(r->m->shadow + r->at, r->data, r->n);
	r->n = 0;
}

static unsigned words_changed(const uint64_t *a, const uint64_t *b)
{
	unsigned n = 0;

	NVW_FOR(i, 8) {
		n += a[i] != b[i];
	}
	return n;
}

/* Words are read one by one, each at once, because other threads may be storing. */
static void read_line(uint64_t line[8], const volatile uint64_t *from)
{
	NVW_FOR(i, 8) {
		line[i] = from[i];
	}
}

/* Records announced stores that happened just before the line was read. Returns the number of words changed
 * only by them. */
static unsigned settle_line(struct run *r, size_t at, const uint64_t line[8])
{
	const uint64_t *const shadow = (const uint64_t *)(r->m->shadow + at);
	const unsigned before = words_changed(line, shadow);

	if (!host_control->instrumented) {
		return 0;
	}
	end_run(r);
	host_settle_line(r->m, at, line);
	NVW_DEEP_INVARIANT(words_changed(line, shadow) <= before);
	return before - words_changed(line, shadow);
}

/* Records the changes in the lines of a range within a page; true if there were any. */
static bool compare_lines(
	const struct host_mapping *m, size_t from, size_t to, enum host_event_kind kind, uint32_t site)
{
	NVW_DEEP_INVARIANT(from / HOST_PAGE == (to - 1) / HOST_PAGE);

	struct run r = {.m = m, .kind = kind, .site = site};
	bool changed = false;

	for (size_t at = from; at < to; at += HOST_LINE) {
		const uint64_t *const shadow = (const uint64_t *)(m->shadow + at);
		uint64_t line[8];

		read_line(line, (const volatile uint64_t *)(m->alias + at));
		unsigned words = words_changed(line, shadow);

		if (words > 0) {
			words -= settle_line(&r, at, line);
		}
		if (words == 0) {
			end_run(&r);
			continue;
		}
		if (__atomic_load_n(&m->page[at / HOST_PAGE].state, __ATOMIC_RELAXED) == HOST_ANNOUNCED &&
			kind == HOST_CHANGE) {
			host_gap(HOST_GAP_LATE);
			host_foreign = true;
		}
		if (r.n == 0) {
			begin_run(&r, at);
		}
		memcpy(r.data + r.n, line, HOST_LINE);
		r.n += HOST_LINE;
		m->lines[at / HOST_LINE] = 1;
		if (kind == HOST_CHANGE) {
			host_self.stats->bytes_changed += 8 * words;
		}
		changed = true;
	}
	end_run(&r);
	return changed;
}

bool host_window;

bool host_compare_pages(
	const struct host_mapping *m, size_t from, size_t to, enum host_event_kind kind, uint32_t site)
{
	NVW_DEEP_INVARIANT(host_self.inside && m->file >= 0);

	bool changed = false;

	if (host_window) {
		return false;
	}
	while (from < to) {
		const size_t page = (from | (HOST_PAGE - 1)) + 1, end = nvw_min(page, to);

		if (memcmp(m->alias + from, m->shadow + from, end - from) != 0) {
			changed |= compare_lines(m, from, end, kind, site);
		}
		from = end;
	}
	return changed;
}
