/* SPDX-License-Identifier: BSD-3-Clause */
/* Bookings of a resource, against a map of every instant. */
#include "common/rig.h"

#include <string.h>

#include <nvw/random.h>

#include "time/booking.h"
#include "machine.h"

enum { INSTANTS = 100000 };

static bool busy[INSTANTS];

/* Books, and compares with the first instants that are free; then they are busy. */
static void book(struct nvw_machine *m, struct emu_resource *r, emu_time t, emu_time length)
{
	emu_time expected = t;

	for (emu_time free = 0; free < (length ? length : 1);) {
		free = busy[expected + free] ? (expected += free + 1, 0) : free + 1;
	}
	assert_true(expected + length < INSTANTS);
	assert_int_equal(emu_book(m, r, t, length), expected);
	memset(busy + expected, true, length);
}

struct requests {
	struct nvw_random random;
	struct nvw_machine m; /* its time alone */
	struct emu_resource r;
};

static struct requests begin(uint64_t seed)
{
	memset(busy, 0, sizeof busy);
	return (struct requests){.random = {nvw_mix64(seed)}};
}

/* Also when hundreds of bookings lie ahead, each in a gap of its own. */
TEST(a_booking_takes_the_first_gap_that_is_long_enough_however_many_lie_ahead)
{
	static const struct {
		uint64_t steps, ahead, length;
	} loads[] = {{6, 20, 3}, {2, 400, 2}, {1, 3000, 8}, {40, 5000, 3}};
	enum { BOOKINGS = 1500 };

	NVW_FOR(seed, 20) {
		struct requests q = begin(seed);

		NVW_FOR(i, BOOKINGS) {
			const emu_time t = q.m.now + nvw_random_below(&q.random, loads[seed % 4].ahead);

			book(&q.m, &q.r, t, 1 + nvw_random_below(&q.random, loads[seed % 4].length));
			q.m.now += nvw_random_below(&q.random, loads[seed % 4].steps);
		}
		emu_resources_finish(&q.r, 1);
	}
}

/* At the first instant that is free, and it leaves nothing behind: the others are served as without it. */
TEST(a_request_that_takes_no_time_is_served_between_the_others)
{
	enum { BOOKINGS = 3000, AHEAD = 40 };

	NVW_FOR(seed, 6) {
		struct requests q = begin(seed);

		NVW_FOR(i, BOOKINGS) {
			/* At first there are only such requests. */
			const emu_time t = q.m.now + nvw_random_below(&q.random, AHEAD);

			book(&q.m, &q.r, t, i < 100 ? 0 : nvw_random_below(&q.random, 4));
			q.m.now += nvw_random_below(&q.random, 4);
		}
		emu_resources_finish(&q.r, 1);
	}
}

/*
 * Most requests come far ahead. So what is over includes the place of the last booking between others, and
 * the array is full at its end. Now and then a request is for at once, and finds the booking that the
 * resource is at.
 */
TEST(what_a_resource_is_serving_stays_booked_when_what_is_over_is_dropped)
{
	enum { BOOKINGS = 1500, AHEAD = 400, SELDOM = 10 };

	NVW_FOR(seed, 6) {
		struct requests q = begin(seed);

		NVW_FOR(i, BOOKINGS) {
			const bool at_once = nvw_random_below(&q.random, SELDOM) == 0;
			const emu_time t = q.m.now + (at_once ? 0 : AHEAD);

			book(&q.m, &q.r, t, 1 + nvw_random_below(&q.random, 12));
			q.m.now += nvw_random_below(&q.random, 40);
		}
		emu_resources_finish(&q.r, 1);
	}
}
