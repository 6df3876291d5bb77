/* SPDX-License-Identifier: BSD-3-Clause */
/* The order word of a B+tree node against a plain array: random insertions, removals, truncations. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <nvw/random.h>

#include "workloads/btree/layout.h"

/* What the word is to say: which slot each key has, and that the others are free. */
struct model {
	unsigned count;
	uint8_t slots[BTREE_SLOTS];
};

static void assert_says(uint64_t order, const struct model *m)
{
	unsigned seen = 0;

	assert_int_equal(btree_count(order), m->count);
	for (unsigned i = 0; i < BTREE_SLOTS; i++) {
		if (i < m->count) {
			assert_int_equal(btree_slot(order, i), m->slots[i]);
		}
		seen |= 1u << btree_slot(order, i);
	}
	assert_int_equal(seen, (1u << BTREE_SLOTS) - 1); /* no slot lost, none twice */
}

static void insert(uint64_t *order, struct model *m, unsigned i)
{
	const uint8_t slot = (uint8_t)btree_slot(*order, m->count);

	memmove(m->slots + i + 1, m->slots + i, m->count - i);
	m->slots[i] = slot;
	m->count++;
	*order = btree_order_insert(*order, i);
}

static void erase(uint64_t *order, struct model *m, unsigned i)
{
	memmove(m->slots + i, m->slots + i + 1, m->count - i - 1);
	m->count--;
	*order = btree_order_remove(*order, i);
}

static void order_word_agrees_with_an_array(void **state)
{
	struct nvw_random random = {1};
	struct model m = {0};
	uint64_t order = btree_order(0);

	(void)state;
	for (unsigned step = 0; step < 100000; step++) {
		const uint64_t what = nvw_random_below(&random, 40);

		if (what == 0) {
			m.count = (unsigned)nvw_random_below(&random, m.count + 1);
			order = btree_order_truncate(order, m.count);
		} else if (m.count < BTREE_SLOTS && (m.count == 0 || what < 24)) {
			insert(&order, &m, (unsigned)nvw_random_below(&random, m.count + 1));
		} else {
			erase(&order, &m, (unsigned)nvw_random_below(&random, m.count));
		}
		assert_says(order, &m);
	}
}

static void a_fresh_word_lists_its_slots_in_order(void **state)
{
	(void)state;
	for (unsigned count = 0; count <= BTREE_SLOTS; count++) {
		struct model m = {.count = count};

		for (unsigned i = 0; i < count; i++) {
			m.slots[i] = (uint8_t)i;
		}
		assert_says(btree_order(count), &m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_word_agrees_with_an_array),
		cmocka_unit_test(a_fresh_word_lists_its_slots_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
