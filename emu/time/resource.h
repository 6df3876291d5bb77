/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What serves one request at a time: a port, a link, a bank, a channel. booking.h books it.
 */
#ifndef EMU_RESOURCE_H
#define EMU_RESOURCE_H

#include <stddef.h>

#include "../memory/line.h"

/*
 * The busy times of a resource that serves one request at a time (resource.c): disjoint intervals in
 * ascending order, none of which ends where the next begins. The array has them at [busy, gap) and [right,
 * end), and a gap of unused places between the two. The first begins at 0, so no booking goes before it. The
 * second part is empty only if the gap is, too; so the last interval is before end. All are NULL before the
 * first booking.
 */
struct emu_interval {
	emu_time from, to;
};
struct emu_resource {
	struct emu_interval *end, *limit, *gap, *right, *busy;
};

void emu_resources_finish(struct emu_resource *resources, size_t count);

/* Where requests are served in order of arrival, one time says all: as emu_book(). */
static inline emu_time emu_reserve(emu_time *free_at, emu_time t, emu_time occupancy)
{
	const emu_time start = emu_later(t, *free_at);

	*free_at = start + occupancy;
	return start;
}

#endif
