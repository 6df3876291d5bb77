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
 *
 * Next to the latest booking that was not for the end, the array has a gap of unused places (see struct emu_resource). The next
 * one is nearly always for the same place or the place beside it: the requests of one instruction follow each other on the same
 * path. So it is found in two comparisons, and nothing has to be moved.
 */
#include <stdlib.h>

#include "booking.h"
#include "core/invariant.h"
#include "machine.h"

enum { INTERVALS_MIN = 64, GAP = 16, NEAR = 4 };

/* Of none, there may be no array yet. */
static void move(struct emu_resource *r, uint32_t to, uint32_t from, uint32_t count)
{
	if (count) {
		memmove(r->busy + to, r->busy + from, (size_t)count * sizeof *r->busy);
	}
}

/* Closes the gap, drops what is over, but for the last interval, and grows if that is little. False without memory. */
static bool make_room(struct emu_resource *r, emu_time now)
{
	uint32_t over = 0, count;

	move(r, r->gap, r->right, r->end - r->right);
	count = r->end - (r->right - r->gap);
	while (over + 1 < count && r->busy[over].to <= now) {
		over++;
	}
	count -= over;
	if (over) {
		move(r, 0, over, count);
	}
	r->end = count;
	r->gap = r->right = r->gap > over ? r->gap - over : 0;
	if (2 * (count + GAP) >= r->capacity) {
		const uint32_t capacity = r->capacity ? 2 * r->capacity : INTERVALS_MIN;
		struct emu_interval *const grown = realloc(r->busy, capacity * sizeof *grown);

		if (!grown) {
			return count + GAP < r->capacity;
		}
		r->busy = grown;
		r->capacity = capacity;
	}
	return true;
}

/* The first of the intervals [low, high) that ends after t, or high. */
static uint32_t first_after(const struct emu_resource *r, uint32_t low, uint32_t high, emu_time t)
{
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

/* The gap moves over so many intervals behind it, or before it. */
static void move_gap_on(struct emu_resource *r, uint32_t count)
{
	move(r, r->gap, r->right, count);
	r->gap += count;
	r->right += count;
}

static void move_gap_back(struct emu_resource *r, uint32_t count)
{
	r->gap -= count;
	r->right -= count;
	move(r, r->right, r->gap, count);
}

/* Moves the gap by one interval towards t: before it, what ends by then, and behind it the rest. False if it is there. */
static inline bool step_to(struct emu_resource *r, emu_time t)
{
	if (r->gap && r->busy[r->gap - 1].to > t) {
		r->busy[--r->right] = r->busy[--r->gap];
	} else if (r->right < r->end && r->busy[r->right].to <= t) {
		r->busy[r->gap++] = r->busy[r->right++];
	} else {
		return false;
	}
	return true;
}

static void find_gap(struct emu_resource *r, emu_time t)
{
	if (r->gap && r->busy[r->gap - 1].to > t) {
		move_gap_back(r, r->gap - first_after(r, 0, r->gap, t));
	} else {
		move_gap_on(r, first_after(r, r->right, r->end, t) - r->right);
	}
}

/* Inserts a new interval at the gap, which has room; merges it with adjacent ones. */
static inline void insert(struct emu_resource *r, emu_time from, emu_time to)
{
	struct emu_interval *const before = r->busy + r->gap - 1, *const after = r->busy + r->right;
	const bool touches_before = r->gap && before->to == from;
	const bool touches_after = r->right < r->end && after->from == to;

	NVW_DEEP_INVARIANT(
		from < to && (!r->gap || before->to <= from) && (r->right == r->end || to <= after->from));
	if (touches_before && touches_after) {
		before->to = after->to;
		r->right++;
	} else if (touches_before) {
		before->to = to;
	} else if (touches_after) {
		after->from = from;
	} else {
		r->busy[r->gap++] = (struct emu_interval){from, to};
	}
}

/* The gap is at t, and has room. */
static inline emu_time book_at_gap(struct emu_resource *r, emu_time t, emu_time occupancy)
{
	while (r->right < r->end && t + occupancy > r->busy[r->right].from) {
		t = r->busy[r->right].to;
		r->busy[r->gap++] = r->busy[r->right++];
	}
	if (occupancy) {
		insert(r, t, t + occupancy);
	}
	if (r->right == r->end) {
		r->right = r->end = r->gap; /* the last interval is before end, as emu_book() expects */
	}
	return t;
}

/* The gap is far from t, or full, or at the beginning. */
static __attribute__((noinline)) emu_time book_far(
	struct nvw_machine *m, struct emu_resource *r, emu_time t, emu_time occupancy)
{
	if (r->end + GAP >= r->capacity && !make_room(r, m->now)) {
		m->error = nvw_fail(NVW_E_MEMORY, "no memory for %u bookings", r->end);
		return t;
	}
	find_gap(r, t);
	if (r->gap == r->right) {
		move(r, r->right + GAP, r->right, r->end - r->right);
		r->right += GAP;
		r->end += GAP;
	}
	return book_at_gap(r, t, occupancy);
}

/* The gap is not where t is, or the booking closes it. */
static __attribute__((noinline)) emu_time book_near(
	struct nvw_machine *m, struct emu_resource *r, emu_time t, emu_time occupancy)
{
	unsigned near = NEAR;

	while (step_to(r, t)) {
		if (--near == 0) {
			return book_far(m, r, t, occupancy);
		}
	}
	return book_at_gap(r, t, occupancy);
}

/* Most bookings go to the gap, and end before what is behind it. */
emu_time emu_book_between(struct nvw_machine *m, struct emu_resource *r, emu_time t, emu_time occupancy)
{
	struct emu_interval *before, *after;
	emu_time start;

	if (!r->gap || r->gap == r->right) { /* also where there is no array yet */
		return book_far(m, r, t, occupancy);
	}
	before = r->busy + r->gap - 1;
	after = r->busy + r->right;
	start = t > before->to ? t : before->to;
	if (t < before->from || start + occupancy >= after->from || !occupancy) {
		return book_near(m, r, t, occupancy);
	}
	if (start == before->to) {
		before->to += occupancy;
	} else {
		before[1] = (struct emu_interval){start, start + occupancy};
		r->gap++;
	}
	return start;
}

void emu_resources_finish(struct emu_resource *resources, size_t count)
{
	for (size_t i = 0; resources && i < count; i++) {
		free(resources[i].busy);
	}
}
