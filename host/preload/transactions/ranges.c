/* SPDX-License-Identifier: BSD-3-Clause */
/* See ranges.h. They are in the order in which they came, and may overlap. */
#include "ranges.h"

#include "core/each.h"

void host_ranges_add(struct host_ranges *r, const void *start, size_t bytes)
{
	NVW_INVARIANT(r->count <= HOST_RANGES_MAX);
	if (r->count == HOST_RANGES_MAX) {
		r->full = true;
		return;
	}
	r->range[r->count++] = (struct host_range){(uintptr_t)start, (uintptr_t)start + bytes};
}

void host_ranges_remove(struct host_ranges *r, const void *start, size_t bytes)
{
	NVW_INVARIANT(r->count <= HOST_RANGES_MAX);

	const uintptr_t from = (uintptr_t)start, to = from + bytes;

	for (unsigned i = r->count; i-- > 0;) {
		const struct host_range old = r->range[i];

		if (old.end <= from || old.start >= to) {
			continue;
		}
		r->range[i].end = nvw_max(old.start, nvw_min(old.end, from));
		if (old.end > to) {
			host_ranges_add(r, (const void *)to, old.end - to);
		}
	}
}

void host_ranges_drop(struct host_ranges *r, const void *start)
{
	NVW_INVARIANT(r->count <= HOST_RANGES_MAX);
	NVW_EACH(range, r->range, r->count) {
		if (range->start == (uintptr_t)start) {
			*range = r->range[--r->count];
			return;
		}
	}
}

void host_ranges_clear(struct host_ranges *r)
{
	r->count = 0;
	r->full = false;
}

/* The newest ranges are the likeliest. */
static uintptr_t covered_up_to(const struct host_ranges *r, uintptr_t at)
{
	for (unsigned i = r->count; i-- > 0;) {
		if (at >= r->range[i].start && at < r->range[i].end) {
			return r->range[i].end;
		}
	}
	return at;
}

bool host_ranges_cover(const struct host_ranges *r, uintptr_t at, size_t bytes)
{
	NVW_DEEP_INVARIANT(r->count <= HOST_RANGES_MAX);

	const uintptr_t end = at + bytes;

	while (!r->full && at < end) {
		const uintptr_t next = covered_up_to(r, at);

		if (next == at) {
			return false;
		}
		at = next;
	}
	return true;
}
