/* SPDX-License-Identifier: BSD-3-Clause */
/* The order word of a B+tree node against a plain array: random insertions, removals, truncations. */
#include "common/test.h"

#include <string.h>
#include <nvw/random.h>

#include "workloads/btree/layout.h"

/* What the word is to say: which slot each key has, and that the others are free. */
struct model {
	unsigned room, count;
	uint8_t slots[BTREE_SLOTS_MAX];
};

static void assert_says(uint64_t order, const struct model *m)
{
	unsigned seen = 0;

	assert_int_equal(btree_count(order), m->count);
	NVW_FOR(i, m->room) {
		if (i < m->count) {
			assert_int_equal(btree_slot(order, i), m->slots[i]);
		}
		seen |= 1u << btree_slot(order, i);
	}
	assert_int_equal(seen, (1u << m->room) - 1); /* no slot lost, none twice */
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

static void change_at_random(unsigned room)
{
	struct nvw_random random = {room};
	struct model m = {.room = room};
	uint64_t order = btree_order(room, 0);

	NVW_FOR(step, 20000) {
		const uint64_t what = nvw_random_below(&random, 40);

		if (what == 0) {
			m.count = (unsigned)nvw_random_below(&random, m.count + 1);
			order = btree_order_truncate(order, m.count);
		} else if (m.count < room && (m.count == 0 || what < 24)) {
			insert(&order, &m, (unsigned)nvw_random_below(&random, m.count + 1));
		} else {
			erase(&order, &m, (unsigned)nvw_random_below(&random, m.count));
		}
		assert_says(order, &m);
	}
}

TEST(order_word_agrees_with_an_array)
{
	for (unsigned room = BTREE_SLOTS_MIN; room <= BTREE_SLOTS_MAX; room++) {
		change_at_random(room);
	}
}

TEST(a_fresh_word_lists_its_slots_in_order)
{
	for (unsigned room = BTREE_SLOTS_MIN; room <= BTREE_SLOTS_MAX; room++) {
		for (unsigned count = 0; count <= room; count++) {
			struct model m = {.room = room, .count = count};

			NVW_FOR(i, count) {
				m.slots[i] = (uint8_t)i;
			}
			assert_says(btree_order(room, count), &m);
		}
	}
}

/* A split's new nodes have room above their parents' keys: two for each new key (insert.c). */
TEST(a_split_makes_at_most_two_nodes_for_each_new_key)
{
	for (unsigned slots = BTREE_SLOTS_MIN; slots <= BTREE_SLOTS_MAX; slots++) {
		for (unsigned keys = 1; keys < 100; keys++) {
			assert_true(btree_nodes_for(slots, slots + keys) <= 2 * keys);
			assert_true(
				btree_nodes_for(slots, slots + 2 * keys) <= 2 * keys); /* of an inner node */
		}
		assert_true(btree_fill(slots) < slots);
	}
}

TEST(a_node_fits_its_block_and_its_info_says_what_it_is)
{
	for (unsigned slots = BTREE_SLOTS_MIN; slots <= BTREE_SLOTS_MAX; slots++) {
		const uint64_t info = btree_info(slots, 7);
		struct btree_node node;

		assert_true((const char *)(BTREE_VALUE(&node, slots, slots - 1) + 1) - (const char *)&node <=
			    btree_node_bytes(slots));
		assert_true(btree_info_is_sound(info));
		assert_int_equal(btree_slots(info), slots);
		assert_int_equal(btree_level(info), 7);
	}
	assert_false(btree_info_is_sound(btree_info(BTREE_SLOTS_MAX + 1, 0)));
	assert_false(btree_info_is_sound(btree_info(BTREE_SLOTS_MIN, BTREE_LEVELS_MAX)));
}
