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
 * have ended by then are not needed; they are dropped, but for one of them, when the array is full, and the
 * array grows if there are few of them.
 *
 * Next to the latest booking that was not for the end, the array has a gap of unused places (see struct
 * emu_resource). The next one is nearly always for the same place or one beside it: the requests of one
 * instruction follow each other on the same path. So the gap moves by an interval or two, and nothing else
 * does. The first interval and the last are before and behind every such booking, so that a move asks for no
 * end of the array.
 */
#include <stdlib.h>

#include "booking.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "core/search.h"
#include "../machine.h"

enum { INTERVALS_MIN = 64, GAP = 16, NEAR = 32 };

/* If count is 0, there may be no array yet. */
static void move(struct emu_interval *to, const struct emu_interval *from, size_t count)
{
	if (count) {
		memmove(to, from, count * sizeof *to);
	}
}

/* See resource.h; the ends of intervals, but those at the gap, are not looked at. */
__attribute__((unused)) static bool resource_is_valid(const struct emu_resource *r)
{
	if (!r->busy) {
		return !r->gap && !r->right && !r->end && !r->limit;
	}
	return r->busy < r->gap && r->gap <= r->right && r->right <= r->end && r->end <= r->limit &&
	       (r->right < r->end || r->gap == r->right) && r->busy->from == 0 &&
	       (r->right == r->end || r->gap[-1].to < r->right->from);
}

/* Drops what is over, but for one, which stays the first of all. */
static void drop_past(struct emu_resource *r, emu_time now)
{
	struct emu_interval *first = r->busy;

	NVW_DEEP_INVARIANT(resource_is_valid(r));
	while (first + 1 < r->gap && first[1].to <= now) {
		first++;
	}
	if (first + 1 == r->gap) {
		while (r->right < r->end && r->right->to <= now) {
			r->right++;
		}
	}
	if (first->to <= now) {
		first->from = 0;
	}
	move(r->busy, first, (size_t)(r->gap - first));
	r->gap -= first - r->busy;
	if (r->right == r->end) {
		r->right = r->end = r->gap;
	}
}

/* The array has so many places from now on. */
static bool resize(struct emu_resource *r, size_t capacity)
{
	const size_t gap = (size_t)(r->gap - r->busy), right = (size_t)(r->right - r->busy),
		     end = (size_t)(r->end - r->busy);
	struct emu_interval *const grown = realloc(r->busy, capacity * sizeof *grown);

	if (!grown) {
		return false;
	}
	*r = (struct emu_resource){.busy = grown,
		.gap = grown + gap,
		.right = grown + right,
		.end = grown + end,
		.limit = grown + capacity};
	return true;
}

/* Room in the gap, a quarter of all that is free, and at the end. False without memory. */
static bool make_room(struct emu_resource *r, emu_time now)
{
	size_t capacity = (size_t)(r->limit - r->busy), behind, count;

	if (r->busy) {
		drop_past(r, now);
	}
	behind = (size_t)(r->end - r->right);
	count = (size_t)(r->gap - r->busy) + behind;
	if (2 * (count + GAP) >= capacity) {
		capacity = NVW_OR(2 * capacity, INTERVALS_MIN);
		if (!resize(r, capacity)) {
			return false;
		}
	}
	if (!count) { /* the first booking */
		*r->gap++ = (struct emu_interval){0, 0};
	}
	if (behind) {
		struct emu_interval *const right = r->gap + (capacity - count) / 4;

		move(right, r->right, behind);
		r->right = right;
		r->end = right + behind;
	} else {
		r->right = r->end = r->gap;
	}
	NVW_DEEP_INVARIANT(resource_is_valid(r));
	return true;
}

/* The first of the intervals [low, high) that begins after t, or high. */
static struct emu_interval *first_after(struct emu_interval *low, struct emu_interval *high, emu_time t)
{
	return NVW_FIRST(interval, low, high, interval->from > t);
}

/* Moves the gap to t, which is far away: before it, what begins by then, and behind it the rest. */
static void move_gap(struct emu_resource *r, emu_time t)
{
	if (t < r->gap[-1].from) {
		const size_t count = (size_t)(r->gap - first_after(r->busy, r->gap, t));

		r->gap -= count;
		r->right -= count;
		move(r->right, r->gap, count);
	} else {
		const size_t count = (size_t)(first_after(r->right, r->end, t) - r->right);

		move(r->gap, r->right, count);
		r->gap += count;
		r->right += count;
	}
}

static __attribute__((noinline, cold)) emu_time no_memory(
	struct nvw_machine *m, const struct emu_resource *r, emu_time t)
{
	m->error =
		nvw_fail(NVW_E_MEMORY, "no memory for more than %zu bookings", (size_t)(r->limit - r->busy));
	return t;
}

/* There is no room at the end, or no array yet. */
static __attribute__((noinline)) emu_time book_with_room(
	struct nvw_machine *m, struct emu_resource *r, emu_time t, emu_time occupancy)
{
	if (!make_room(r, m->now)) {
		return no_memory(m, r, t);
	}
	return emu_book(m, r, t, occupancy);
}

/* A new interval at the gap, which is closed. */
static __attribute__((noinline)) emu_time insert_with_room(
	struct nvw_machine *m, struct emu_resource *r, emu_time from, emu_time to)
{
	if (!make_room(r, m->now)) {
		return no_memory(m, r, from);
	}
	*r->gap++ = (struct emu_interval){from, to};
	return from;
}

/* Books at the gap, which is at t, and has intervals behind it. */
static inline emu_time book_at_gap(
	struct nvw_machine *m, struct emu_resource *r, emu_time t, emu_time occupancy)
{
	struct emu_interval *gap = r->gap, *right = r->right, *const end = r->end;
	emu_time start = emu_later(t, gap[-1].to);

	NVW_DEEP_INVARIANT(resource_is_valid(r));
	if (!occupancy) {
		return start;
	}
	/* Past the intervals before which there is not enough time. */
	while (right < end && start + occupancy > right->from) {
		start = right->to;
		*gap++ = *right++;
	}
	NVW_DEEP_INVARIANT(gap[-1].to <= start);
	r->gap = gap;
	r->right = right;
	if (start == gap[-1].to) {
		gap[-1].to += occupancy;
		if (right < end && right->from == gap[-1].to) {
			gap[-1].to = right->to;
			r->right = ++right;
		}
		if (right == end) {
			r->right = r->end = gap; /* the last interval is before end, as emu_book() expects */
		}
	} else if (start + occupancy == right->from) {
		right->from = start;
	} else if (gap == right) {
		return insert_with_room(m, r, start, start + occupancy);
	} else {
		*gap = (struct emu_interval){start, start + occupancy};
		r->gap = gap + 1;
	}
	return start;
}

/* The gap is far from t. */
static __attribute__((noinline)) emu_time book_far(
	struct nvw_machine *m, struct emu_resource *r, emu_time t, emu_time occupancy)
{
	move_gap(r, t);
	NVW_DEEP_INVARIANT(r->gap[-1].from <= t && (r->right == r->end || t < r->right->from));
	return book_at_gap(m, r, t, occupancy);
}

/* The gap is not where t is, or is closed, or the booking closes it. It moves interval by interval as long as
 * t is near. */
static __attribute__((noinline)) emu_time book_near(
	struct nvw_machine *m, struct emu_resource *r, emu_time t, emu_time occupancy)
{
	struct emu_interval *gap = r->gap, *right = r->right;
	unsigned near = NEAR;

	if (r->end == r->limit) {
		return book_with_room(m, r, t, occupancy);
	}
	if (t < gap[-1].from) {
		do {
			*--right = *--gap;
		} while (t < gap[-1].from && --near);
	} else {
		while (right->from <= t && --near) {
			*gap++ = *right++;
		}
	}
	r->gap = gap;
	r->right = right;
	if (!near) {
		return book_far(m, r, t, occupancy);
	}
	return book_at_gap(m, r, t, occupancy);
}

/* Most bookings go to the gap, and end before what is behind it. */
emu_time emu_book_between(struct nvw_machine *m, struct emu_resource *r, emu_time t, emu_time occupancy)
{
	struct emu_interval *const gap = r->gap, *const right = r->right;
	emu_time start;

	NVW_DEEP_INVARIANT(resource_is_valid(r));
	if (gap == right) { /* also where there is no array yet */
		return book_near(m, r, t, occupancy);
	}
	start = emu_later(t, gap[-1].to);
	if (t < gap[-1].from || start + occupancy >= right->from || !occupancy) {
		return book_near(m, r, t, occupancy);
	}
	if (start == gap[-1].to) {
		gap[-1].to += occupancy;
	} else {
		*gap = (struct emu_interval){start, start + occupancy};
		r->gap = gap + 1;
	}
	return start;
}

void emu_resources_finish(struct emu_resource *resources, size_t count)
{
	for (size_t i = 0; resources && i < count; i++) {
		free(resources[i].busy);
	}
}
