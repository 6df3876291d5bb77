/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes that come alone, share a line or have no neighbours; where their stacks are; atomics beside their own stores. */
#include "common/rig.h"

#include <stdio.h>

#include "machine.h"
#include "protocol/protocol.h"

struct words {
	uint64_t *a, *b;
};

static void begin_under(struct rig *rig, const char *protocol)
{
	char setting[64];

	snprintf(setting, sizeof setting, "protocol=%s", protocol);
	rig_begin(rig, 0, (const char *const[]){setting, NULL});
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

/* A work-item stores a word, and has it in its L1; then two load a word each of that line. */
static void load_beside_own_store(const void *args)
{
	const struct words *const w = args;
	const uint64_t lane = nvw_local_id();

	if (lane == 1) {
		nvw_store(&w->a[1], 11);
	}
	nvw_store(&w->b[lane], nvw_load(&w->a[lane]));
}

static void lanes_that_share_a_line_load_what_each_of_them_needs(void **state)
{
	for (unsigned i = 0; coh_protocols[i]; i++) {
		struct rig rig;
		struct words w;
		const uint64_t before[2] = {10, 0};

		begin_under(&rig, coh_protocols[i]->name);
		w.a = nvw_alloc(rig.machine, 64);
		w.b = nvw_alloc(rig.machine, 64);
		rig_ok(nvw_write(rig.machine, w.a, before, sizeof before));
		rig_ok(nvw_launch(rig.machine, "beside", load_beside_own_store, &w, 2, 2));
		assert_int_equal(rig_visible(&rig, &w.b[0]), 10);
		assert_int_equal(rig_visible(&rig, &w.b[1]), 11);
		rig_end(&rig);
	}
}

/* Every third work-item, so that no two are neighbours, and then those of which every fourth is missing. */
static void copy_by_some(const void *args)
{
	const struct words *const w = args;
	const uint64_t id = nvw_local_id();

	if (id % 3 == 1) {
		nvw_store(&w->b[id], nvw_load(&w->a[id]) + 1);
	}
	if (id % 4 != 2) {
		nvw_atomic_add(&w->b[id], nvw_load(&w->a[63 - id]), NVW_RELAXED, NVW_SCOPE_AGENT);
	}
}

static void lanes_that_have_no_neighbours_are_served_like_others(void **state)
{
	struct rig rig;
	struct words w;

	rig_begin(&rig, 0, NULL);
	w.a = nvw_alloc(rig.machine, 512);
	w.b = nvw_alloc(rig.machine, 512);
	for (uint64_t i = 0; i < 64; i++) {
		const uint64_t value = 1000 * i;

		rig_ok(nvw_write(rig.machine, &w.a[i], &value, sizeof value));
	}
	rig_ok(nvw_launch(rig.machine, "some", copy_by_some, &w, 64, 64));
	for (uint64_t i = 0; i < 64; i++) {
		assert_int_equal(rig_visible(&rig, &w.b[i]),
			(i % 3 == 1 ? 1000 * i + 1 : 0) + (i % 4 != 2 ? 1000 * (63 - i) : 0));
	}
	rig_end(&rig);
}

enum { STACK_WORDS = 64, LONG_ITEMS = 512, LONG_ROUNDS = 1200 };

/* A long life, with numbers on the stack. */
static void keep_numbers(const void *args)
{
	const struct words *const w = args;
	const uint64_t id = nvw_global_id();
	volatile uint64_t own[STACK_WORDS];
	uint64_t wrong = 0;

	for (unsigned i = 0; i < STACK_WORDS; i++) {
		own[i] = id * STACK_WORDS + i;
	}
	for (unsigned i = 0; i < LONG_ROUNDS; i++) {
		wrong += nvw_load(&w->a[0]) != 7;
	}
	for (unsigned i = 0; i < STACK_WORDS; i++) {
		wrong += own[i] != id * STACK_WORDS + i;
	}
	nvw_store(&w->b[id], wrong + 1);
}

static void stacks_that_move_to_huge_pages_keep_what_they_have(void **state)
{
	const uint64_t seven = 7;
	struct rig rig;
	struct words w;

	rig_begin(&rig, 0, NULL);
	w.a = nvw_alloc(rig.machine, 64);
	w.b = nvw_alloc(rig.machine, 8 * LONG_ITEMS);
	rig_ok(nvw_write(rig.machine, w.a, &seven, sizeof seven));
	rig_ok(nvw_launch(rig.machine, "numbers", keep_numbers, &w, LONG_ITEMS, LONG_ITEMS));
	assert_true(rig.machine->exec.huge_pages);
	for (unsigned i = 0; i < LONG_ITEMS; i++) {
		assert_int_equal(rig_visible(&rig, &w.b[i]), 1);
	}
	rig_end(&rig);
}

/* A value of 4 bytes that is negative fills the request's 8 bytes with ones. */
static void exchange_negative(const void *args)
{
	const struct words *const w = args;
	int32_t *const word = (int32_t *)w->a;

	nvw_atomic_compare_exchange(word, -7, 3, NVW_RELAXED, NVW_SCOPE_AGENT);
}

static void a_compare_exchange_compares_as_many_bytes_as_its_type_has(void **state)
{
	struct rig rig;
	struct words w;
	const int32_t before[2] = {-7, 5};

	rig_begin(&rig, 1, NULL);
	w.a = nvw_alloc(rig.machine, 64);
	rig_ok(nvw_write(rig.machine, w.a, before, sizeof before));
	rig_ok(nvw_launch(rig.machine, "exchange", exchange_negative, &w, 1, 1));
	assert_int_equal(rig_visible(&rig, w.a), UINT64_C(5) << 32 | 3);
	rig_end(&rig);
}

static void add_to_own_store(const void *args)
{
	const struct words *const w = args;
	uint64_t *const mine = &w->a[nvw_global_id()];

	nvw_store(mine, 5);
	nvw_store(&w->b[nvw_global_id()], nvw_atomic_add(mine, 1, NVW_RELAXED, NVW_SCOPE_AGENT));
}

/* Nothing but the order of the program says so: no release writes back what was stored. */
static void a_relaxed_atomic_finds_what_its_work_item_has_stored(void **state)
{
	for (unsigned i = 0; coh_protocols[i]; i++) {
		struct rig rig;
		struct words w;

		begin_under(&rig, coh_protocols[i]->name);
		w.a = nvw_alloc(rig.machine, 8 * 100);
		w.b = nvw_alloc(rig.machine, 8 * 100);
		rig_ok(nvw_launch(rig.machine, "own", add_to_own_store, &w, 100, 10));
		for (unsigned id = 0; id < 100; id++) {
			assert_int_equal(rig_visible(&rig, &w.b[id]), 5);
			assert_int_equal(rig_visible(&rig, &w.a[id]), 6);
		}
		rig_end(&rig);
	}
}

static void fail_to_exchange(const void *args)
{
	const struct words *const w = args;

	nvw_atomic_compare_exchange(w->a, UINT64_C(1), 2, NVW_ACQ_REL, NVW_SCOPE_AGENT);
	nvw_atomic_compare_exchange(w->a + 8, UINT64_C(1), 2, NVW_RELAXED, NVW_SCOPE_WORKGROUP);
}

static void a_compare_exchange_that_fails_stores_nothing(void **state)
{
	for (unsigned i = 0; coh_protocols[i]; i++) {
		struct rig rig;
		struct words w;

		begin_under(&rig, coh_protocols[i]->name);
		w.a = (uint64_t *)rig.nvram;
		rig_ok(nvw_launch(rig.machine, "fail", fail_to_exchange, &w, 100, 10));
		rig_ok(nvw_persist(rig.machine));
		assert_int_equal(emu_statistics(rig.machine)->nv_stores, 0);
		assert_int_equal(emu_statistics(rig.machine)->nvram_writes, 0);
		rig_end(&rig);
	}
}

/* ---- Barriers -------------------------------------------------------------------------------- */

/* The last work-item comes by itself, long after the others. */
static void come_late(const void *args)
{
	const struct words *const w = args;
	const uint64_t id = nvw_local_id();

	if (id == nvw_group_size() - 1) {
		for (unsigned i = 0; i < 50; i++) {
			(void)nvw_load(&w->b[8 * i]);
		}
		nvw_store(w->a, 1);
	}
	nvw_barrier(NVW_WORKGROUP);
	if (id == 0) {
		nvw_store(w->b, nvw_load(w->a));
	}
}

static void a_barrier_waits_for_a_work_item_that_comes_alone(void **state)
{
	static const unsigned sizes[] = {2, 33, 64, 65, 200};

	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct rig rig;
		struct words w;

		rig_begin(&rig, 1, NULL);
		w.a = nvw_alloc(rig.machine, 64);
		w.b = nvw_alloc(rig.machine, 64 * 64);
		rig_ok(nvw_launch(rig.machine, "late", come_late, &w, sizes[i], sizes[i]));
		assert_int_equal(rig_visible(&rig, w.b), 1);
		rig_end(&rig);
	}
}

/* Odd lanes name themselves at the same barrier, store, and only then meet the others. */
static void name_two_groups(const void *args)
{
	const struct words *const w = args;
	const uint64_t id = nvw_local_id();
	const bool is_odd = id & 1;

	for (unsigned i = 0; i <= is_odd; i++) {
		nvw_barrier(is_odd && i == 0 ? NVW_WORKITEM : NVW_WORKGROUP);
		if (is_odd && i == 0) {
			nvw_store(&w->a[id], id);
		}
	}
	nvw_store(&w->b[id], nvw_load(&w->a[id | 1]));
}

static void lanes_may_name_different_groups_at_one_barrier(void **state)
{
	enum { ITEMS = 100 };
	struct rig rig;
	struct words w;

	rig_begin(&rig, 1, NULL);
	w.a = nvw_alloc(rig.machine, 8 * ITEMS);
	w.b = nvw_alloc(rig.machine, 8 * ITEMS);
	rig_ok(nvw_launch(rig.machine, "two groups", name_two_groups, &w, ITEMS, ITEMS));
	for (uint64_t id = 0; id < ITEMS; id++) {
		assert_int_equal(rig_visible(&rig, &w.b[id]), id | 1);
	}
	rig_end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lanes_that_share_a_line_load_what_each_of_them_needs),
		cmocka_unit_test(lanes_that_have_no_neighbours_are_served_like_others),
		cmocka_unit_test(stacks_that_move_to_huge_pages_keep_what_they_have),
		cmocka_unit_test(a_compare_exchange_compares_as_many_bytes_as_its_type_has),
		cmocka_unit_test(a_relaxed_atomic_finds_what_its_work_item_has_stored),
		cmocka_unit_test(a_compare_exchange_that_fails_stores_nothing),
		cmocka_unit_test(a_barrier_waits_for_a_work_item_that_comes_alone),
		cmocka_unit_test(lanes_may_name_different_groups_at_one_barrier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
