/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who looked at what (crashtest/parts/watch.h), against sets that are kept the plain way: whatever parts look
 * at in one try after the other, a thing that changes wakes exactly those that looked at it when they were
 * last tried.
 */
#include "common/test.h"

#include <string.h>
#include <crashtest/parts/watch.h>
#include <nvw/random.h>

enum { PARTS = 12, THINGS = 24, ROUNDS = 4000 };

struct plain {
	bool looked[PARTS][THINGS], awake[PARTS];
};

/* Mostly the things of the last try, some left out and some new, in nearly the same order, and some twice. */
static void try_part(struct ct_watch *w, struct plain *p, struct nvw_random *random, uint32_t part)
{
	bool now[THINGS] = {false};
	const unsigned changes = (unsigned)nvw_random_below(random, 4),
		       from = (unsigned)nvw_random_below(random, 8) == 0 ?
				      (unsigned)nvw_random_below(random, THINGS) :
				      0;

	memcpy(now, p->looked[part], sizeof now);
	NVW_FOR(i, changes) {
		now[nvw_random_below(random, THINGS)] = nvw_random_below(random, 2) == 0;
	}
	ct_watch_try(w, part);
	NVW_FOR(i, THINGS) {
		const unsigned thing = (from + i) % THINGS;

		for (uint64_t times = now[thing] ? 1 + nvw_random_below(random, 2) : 0; times > 0; times--) {
			assert_ok(ct_watch_look(w, thing));
		}
	}
	memcpy(p->looked[part], now, sizeof now);
}

TEST(a_change_wakes_exactly_those_that_looked_when_they_were_last_tried)
{
	struct nvw_random random = {1};
	struct plain plain = {0};
	const uint32_t *woken;
	struct ct_watch w;
	unsigned wakes = 0;

	assert_ok(ct_watch_create(PARTS, 4, &w)); /* the others are met later */
	memset(plain.awake, true, sizeof plain.awake);
	NVW_FOR(round, ROUNDS) {
		const uint64_t count = ct_watch_take(&w, &woken);
		uint64_t expected = 0;

		NVW_FOR(part, PARTS) {
			if (plain.awake[part]) {
				assert_true(expected < count);
				assert_int_equal(woken[expected++], part);
				try_part(&w, &plain, &random, part);
			}
		}
		assert_int_equal(count, expected);
		wakes += (unsigned)count;
		memset(plain.awake, false, sizeof plain.awake);
		for (uint64_t changes = nvw_random_below(&random, 4); changes > 0; changes--) {
			const uint64_t thing =
				nvw_random_below(&random, THINGS + 2); /* of two nobody knows */

			assert_ok(ct_watch_wake(&w, thing));
			for (unsigned part = 0; part < PARTS && thing < THINGS; part++) {
				plain.awake[part] = plain.awake[part] || plain.looked[part][thing];
			}
		}
	}
	assert_true(wakes > ROUNDS);
	ct_watch_free(&w);
}
