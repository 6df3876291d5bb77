/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bookings of resources that serve one request at a time: ports, links, banks, channels.
 *
 * A transaction is atomic: when it begins it books every resource on its path, the last of them for a time
 * before which many other, later transactions may use it. So a resource keeps its busy intervals, and a
 * booking takes the first sufficient gap. With a single "free from then on", those transactions would wait
 * for one that arrives after them.
 *
 * The number of intervals is not bounded. No booking is for a time before the machine's, so intervals that
 * have ended by then are not needed; they are dropped when the array is full, and the array grows if there
 * are few of them.
 */
#include <stdlib.h>

#include "core/invariant.h"
#include "machine.h"

enum { INTERVALS_MIN = 16, NEAR_END = 8 };

/* Makes room for one more at the end. False without memory. */
static bool make_room(struct emu_resource *r, emu_time now)
{
	uint32_t over = 0;

	while (over < r->count && r->busy[over].to <= now) {
		over++;
	}
	r->count -= over;
	if (over) {
		memmove(r->busy, &r->busy[over], r->count * sizeof *r->busy);
	}
	if (2 * r->count >= r->capacity) {
		const uint32_t capacity = r->capacity ? 2 * r->capacity : INTERVALS_MIN;
		struct emu_interval *const grown = realloc(r->busy, capacity * sizeof *grown);

		if (!grown) {
			return r->count < r->capacity;
		}
		r->busy = grown;
		r->capacity = capacity;
	}
	return true;
}

/* The first interval that ends after t: usually one of the last. */
static uint32_t first_after(const struct emu_resource *r, emu_time t)
{
	uint32_t low = 0, high = r->count;

	for (unsigned near = 0; near < NEAR_END; near++) {
		if (!high || r->busy[high - 1].to <= t) {
			return high;
		}
		high--;
	}
	while (low < high) {
		const uint32_t middle = (low + high) / 2;

		if (r->busy[middle].to <= t) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/* Inserts a new interval before interval i; merges it with adjacent ones. */
static void insert(struct emu_resource *r, uint32_t i, emu_time from, emu_time to)
{
	struct emu_interval *const at = &r->busy[i], *const end = &r->busy[r->count];
	NVW_DEEP_INVARIANT(from < to && (i == 0 || at[-1].to <= from) && (at == end || to <= at->from));

	const bool touches_before = i > 0 && at[-1].to == from, touches_after = at < end && at->from == to;

	if (touches_before && touches_after) {
		at[-1].to = at->to;
		r->count--;
		memmove(at, at + 1, (size_t)(end - at - 1) * sizeof *at);
	} else if (touches_before) {
		at[-1].to = to;
	} else if (touches_after) {
		at->from = from;
	} else {
		memmove(at + 1, at, (size_t)(end - at) * sizeof *at);
		at->from = from;
		at->to = to;
		r->count++;
	}
}

emu_time emu_book_between(struct nvw_machine *m, struct emu_resource *r, emu_time t, emu_time occupancy)
{
	uint32_t i;

	if (r->count == r->capacity && !make_room(r, m->now)) {
		m->error = nvw_fail(NVW_E_MEMORY, "no memory for %u bookings", r->count);
		return t;
	}
	for (i = first_after(r, t); i < r->count && t + occupancy > r->busy[i].from; i++) {
		t = r->busy[i].to;
	}
	if (occupancy) {
		insert(r, i, t, t + occupancy);
	}
	return t;
}

void emu_resources_finish(struct emu_resource *resources, size_t count)
{
	for (size_t i = 0; resources && i < count; i++) {
		free(resources[i].busy);
	}
}
