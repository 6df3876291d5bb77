/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bookings of what serves one at a time: ports, links, banks, channels.
 *
 * A transaction is carried out whole: when it begins it books every resource on its way, the last of them for a time
 * at which many others, which begin later, may have come and gone. So a resource knows its busy intervals, and a booking
 * takes the first gap that is long enough. A single "free from then on" would let them wait behind what has
 * not come yet.
 */
#include "machine.h"

/* The gap between the first two bookings is given up: it is the nearest to its end. */
static void merge_first(struct emu_resource *r)
{
	r->busy[0].to = r->busy[1].to;
	r->count--;
	memmove(&r->busy[1], &r->busy[2], (r->count - 1) * sizeof *r->busy);
}

static void insert(struct emu_resource *r, uint32_t i, emu_time from, emu_time to)
{
	if (i > 0 && r->busy[i - 1].to == from) {
		r->busy[i - 1].to = to;
		if (i < r->count && r->busy[i].from == to) {
			r->busy[i - 1].to = r->busy[i].to;
			r->count--;
			memmove(&r->busy[i], &r->busy[i + 1], (r->count - i) * sizeof *r->busy);
		}
	} else if (i < r->count && r->busy[i].from == to) {
		r->busy[i].from = from;
	} else {
		memmove(&r->busy[i + 1], &r->busy[i], (r->count - i) * sizeof *r->busy);
		r->busy[i].from = from;
		r->busy[i].to = to;
		if (++r->count > EMU_BOOKINGS) {
			merge_first(r);
		}
	}
}

emu_time emu_book_between(struct emu_resource *r, emu_time now, emu_time t, emu_time occupancy)
{
	uint32_t over = 0, i;

	while (over < r->count && r->busy[over].to <= now) {
		over++;
	}
	if (over) {
		r->count -= over;
		memmove(r->busy, &r->busy[over], r->count * sizeof *r->busy);
	}
	for (i = 0; i < r->count && t + occupancy > r->busy[i].from; i++) {
		t = emu_later(t, r->busy[i].to);
	}
	if (occupancy) {
		insert(r, i, t, t + occupancy);
	}
	return t;
}
