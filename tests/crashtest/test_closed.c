/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partial choices under buffered epoch persistency (crashtest/states/closed.h) against all sets of stores.
 * Small random kernels: whatever is said, one after the other, of units and of operations, the levels and
 * acknowledgements that are left are those of the closed sets that have all that was said, and the least
 * state is one of them.
 */
#include "common/test.h"

#include <string.h>
#include <crashtest/states/closed.h>
#include <nvw/random.h>

enum { ITEMS = 4, GROUP = 2, CELLS = 4, STORES = 10, TOLDS = 4, KERNELS = 400, CHOICES = 8 };

/* A kernel: what the medium has of it. */
struct kernel {
	struct ct_medium medium;
	struct ct_cell cell[CELLS];
	uint64_t write[CELLS][STORES];
	struct ct_flight flight[STORES];
	struct ct_told told[TOLDS];
	uint32_t wi[ITEMS], wg[ITEMS / GROUP], kr;
	unsigned stores, tolds;
	bool permitted[1 << STORES]; /* by set of stores: is closed, and has all that was said */
};

static struct ct_stamp stamp(const struct kernel *k, unsigned item)
{
	return (struct ct_stamp){item, item / GROUP, k->wi[item], k->wg[item / GROUP], k->kr};
}

static void store(struct kernel *k, unsigned item, unsigned cell)
{
	struct ct_cell *const c = &k->cell[cell];

	k->flight[k->stores] = (struct ct_flight){
		.write = 101 + k->stores, .by = stamp(k, item), .cell = cell, .version = c->count};
	c->write[c->count++] = 101 + k->stores++;
}

static void tell(struct kernel *k, unsigned item, uint64_t op)
{
	k->told[k->tolds++] =
		(struct ct_told){.first = op, .count = 1, .after = 100 + k->stores, .by = stamp(k, item)};
}

/* The barrier is one of a work-item, of its group, or of all. */
static void barrier(struct kernel *k, unsigned item, unsigned scope)
{
	const unsigned first = scope == 0 ? item :
			       scope == 1 ? item / GROUP * GROUP :
					    0,
		       count = scope == 0 ? 1 :
			       scope == 1 ? GROUP :
					    ITEMS;

	for (unsigned i = first; i < first + count; i++) {
		k->wi[i]++;
		k->wg[i / GROUP] += scope > 0 && i % GROUP == 0;
	}
	k->kr += scope == 2;
}

static void make(struct kernel *k, struct nvw_random *random)
{
	memset(k, 0, sizeof *k);
	NVW_FOR(i, CELLS) {
		k->cell[i].write = k->write[i];
	}
	while (k->stores < STORES) {
		const unsigned item = (unsigned)nvw_random_below(random, ITEMS);
		const uint64_t what = nvw_random_below(random, 8);

		if (what < 4) {
			store(k, item, (unsigned)nvw_random_below(random, CELLS));
		} else if (what < 7) {
			barrier(k, item, nvw_random_below(random, 4) == 0 ? 2 : (unsigned)(what - 4) % 2);
		} else if (k->tolds < TOLDS) {
			tell(k, item, nvw_random_below(random, 3)); /* some of them twice */
		}
	}
	k->medium = (struct ct_medium){.flight = k->flight,
		.flight_count = STORES,
		.stores = 100 + STORES,
		.cell = k->cell,
		.cell_count = CELLS,
		.told = {k->told, k->tolds, TOLDS},
		.work_items = ITEMS};
}

/* ---- All sets ------------------------------------------------------------------------------------------ */

static bool has(unsigned set, unsigned store)
{
	return set >> store & 1;
}

/* Is it of an earlier epoch of the work-item, the group or the kernel? */
static bool is_of_earlier_epoch(const struct ct_stamp *a, const struct ct_stamp *b)
{
	return (a->work_item == b->work_item && a->epoch_wi < b->epoch_wi) ||
	       (a->group == b->group && a->epoch_wg < b->epoch_wg) || a->epoch_kr < b->epoch_kr;
}

static bool must_precede(const struct ct_flight *a, const struct ct_flight *b)
{
	return a->write < b->write && (a->cell == b->cell || is_of_earlier_epoch(&a->by, &b->by));
}

static bool is_closed(const struct kernel *k, unsigned set)
{
	NVW_FOR(b, STORES) {
		NVW_FOR(a, b) {
			if (has(set, b) && !has(set, a) && must_precede(&k->flight[a], &k->flight[b])) {
				return false;
			}
		}
	}
	return true;
}

static unsigned level(const struct kernel *k, unsigned set, unsigned cell)
{
	unsigned n = 0;

	NVW_FOR(i, STORES) {
		n += k->flight[i].cell == cell && has(set, i);
	}
	return n;
}

/* Each time that it was told of, it waits for the earlier epochs of its work-item, group and kernel. */
static bool is_acked(const struct kernel *k, unsigned set, uint64_t op)
{
	bool acked = true;

	NVW_EACH(told, k->told, k->tolds) {
		for (unsigned i = 0; i < STORES && told->first == op; i++) {
			acked = acked && (has(set, i) || !is_of_earlier_epoch(&k->flight[i].by, &told->by));
		}
	}
	return acked;
}

/* ---- Choices ------------------------------------------------------------------------------------------- */

static void choose_level(struct kernel *k, struct ct_closed *c, struct nvw_random *random)
{
	const unsigned cell = (unsigned)nvw_random_below(random, CELLS);
	unsigned least, most;
	bool may[STORES + 1] = {false};

	NVW_FOR(set, 1 << STORES) {
		may[level(k, set, cell)] |= k->permitted[set];
	}
	ct_closed_levels(c, cell, &least, &most);
	for (unsigned i = 0; i <= k->cell[cell].count; i++) {
		assert_int_equal(may[i], i >= least && i <= most);
	}
	const unsigned from = least + (unsigned)nvw_random_below(random, most - least + 1),
		       to = from + (unsigned)nvw_random_below(random, most - from + 1);

	ct_closed_take(c, cell, from, to);
	NVW_FOR(set, 1 << STORES) {
		k->permitted[set] =
			k->permitted[set] && level(k, set, cell) >= from && level(k, set, cell) <= to;
	}
}

static void choose_ack(struct kernel *k, struct ct_closed *c, struct nvw_random *random)
{
	const uint64_t op = nvw_random_below(random, 3);
	const uint32_t told = ct_before_told(&c->before, op);
	bool may[2] = {false, false};

	if (told == 0) {
		return;
	}
	NVW_FOR(set, 1 << STORES) {
		may[is_acked(k, set, op)] |= k->permitted[set];
	}
	assert_int_equal(ct_closed_may_be_acked(c, told - 1), may[true]);
	assert_int_equal(ct_closed_may_be_unacked(c, told - 1), may[false]);
	const bool acked = may[true] && (!may[false] || nvw_random_below(random, 2) == 0);

	ct_closed_take_ack(c, told - 1, acked);
	NVW_FOR(set, 1 << STORES) {
		k->permitted[set] = k->permitted[set] && is_acked(k, set, op) == acked;
	}
}

/* The sets that have all that was said are those that the choice holds; the least state is one. */
static void compare_states(const struct kernel *k, const struct ct_closed *c)
{
	unsigned levels[CELLS], least[CELLS];
	bool is_there = false;

	ct_closed_state(c, least);
	NVW_FOR(set, 1 << STORES) {
		if (is_closed(k, set)) {
			NVW_FOR(i, CELLS) {
				levels[i] = level(k, set, i);
			}
			assert_int_equal(ct_closed_hold(c, levels), k->permitted[set]);
			is_there =
				is_there || (k->permitted[set] && memcmp(levels, least, sizeof levels) == 0);
		}
	}
	assert_true(is_there);
}

TEST(a_choice_leaves_what_closed_sets_leave)
{
	static struct kernel k;
	struct nvw_random random = {1};
	struct ct_closed closed = {0};

	NVW_FOR(i, KERNELS) {
		make(&k, &random);
		closed.before.first = 0; /* another kernel */
		assert_ok(ct_before_update(&closed.before, &k.medium));
		assert_false(closed.before.too_many);
		ct_closed_begin(&closed, &k.medium);
		NVW_FOR(set, 1 << STORES) {
			k.permitted[set] = is_closed(&k, set);
		}
		NVW_FOR(n, CHOICES) {
			if (nvw_random_below(&random, 3) == 0) {
				choose_ack(&k, &closed, &random);
			} else {
				choose_level(&k, &closed, &random);
			}
		}
		compare_states(&k, &closed);
	}
	ct_closed_free(&closed);
}
