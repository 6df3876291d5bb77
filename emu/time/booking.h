/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Booking a resource. Nearly all bookings come behind the others, or nearly so: that much is inline.
 */
#ifndef EMU_BOOKING_H
#define EMU_BOOKING_H

#include <assert.h>

#include "../machine.h"

/* Books the resource for occupancy in the first gap at t or later; returns the beginning. t is not before the
 * machine's time. */
emu_time emu_book_between(struct nvw_machine *m, struct emu_resource *r, emu_time t, emu_time occupancy);
static inline emu_time emu_book(struct nvw_machine *m, struct emu_resource *r, emu_time t, emu_time occupancy)
{
	struct emu_interval *const end = r->end;
	emu_time start;

	assert(t >= m->now); /* past intervals have been dropped */
	/* There is always an interval before the end; before there is an array, both are NULL. */
	if (end == r->limit || t < end[-1].from) {
		return emu_book_between(m, r, t, occupancy);
	}
	start = emu_later(t, end[-1].to);
	if (start == end[-1].to) {
		end[-1].to += occupancy;
	} else if (occupancy) {
		*end = (struct emu_interval){start, start + occupancy};
		r->end = end + 1;
	}
	return start;
}
/* The same for a resource whose use an observer sees. Without one nothing is kept for it while the resource
 * is booked. */
static inline emu_time emu_book_seen(struct nvw_machine *m, struct emu_resource *r, enum emu_sight_kind kind,
	uint32_t unit, const char *what, emu_time t, emu_time occupancy)
{
	if (emu_is_watched(m)) {
		return emu_watch_book(m, r, kind, unit, what, t, occupancy);
	}
	return emu_book(m, r, t, occupancy);
}

#endif
