/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes that come alone, share a line or have no neighbours; where their stacks are; atomics beside their own
 * stores.
 */
#include "words.h"

#include <stdlib.h>

#include <nvw/random.h>

#include "machine.h"
#include "protocol/protocol.h"

/* ---- Lanes ----------------------------------------------------------------------------------- */

struct sharing {
	struct words w;
	uint64_t stored; /* a word of a */
	bool crosswise;  /* work-items load each other's word: addresses that do not ascend */
};

/* A work-item stores a word, and has it in its L1; then two load a word each of that line. */
KERNEL(load_beside_own_store, const struct sharing, s)
{
	const uint64_t lane = nvw_local_id();

	if (lane == s->stored) {
		nvw_store(&s->w.a[lane], 11);
	}
	nvw_store(&s->w.b[lane], nvw_load(&s->w.a[lane ^ s->crosswise]));
}

static void check_shared_line(const char *protocol, uint64_t stored, bool crosswise)
{
	const uint64_t before[2] = {10, 10};
	struct sharing s = {.stored = stored, .crosswise = crosswise};

	RIG_UNDER(rig, protocol);
	s.w.a = nvw_alloc(rig.machine, 64);
	s.w.b = nvw_alloc(rig.machine, 64);
	rig_ok(nvw_write(rig.machine, s.w.a, before, sizeof before));
	rig_launch(&rig, load_beside_own_store, &s, 2, 2);
	for (uint64_t lane = 0; lane < 2; lane++) {
		assert_visible(&rig, &s.w.b[lane], (lane ^ crosswise) == stored ? 11 : 10);
	}
}

TEST(lanes_that_share_a_line_load_what_each_of_them_needs)
{
	for_each_protocol(p) {
		NVW_FOR(stored, 2) {
			check_shared_line(p->name, stored, false);
			check_shared_line(p->name, stored, true);
		}
	}
}

/* Every third work-item, so that no two are neighbours, and then those of which every fourth is missing. */
KERNEL(copy_by_some, const struct words, w)
{
	const uint64_t id = nvw_local_id();

	if (id % 3 == 1) {
		nvw_store(&w->b[id], nvw_load(&w->a[id]) + 1);
	}
	if (id % 4 != 2) {
		nvw_atomic_add(&w->b[id], nvw_load(&w->a[63 - id]), NVW_RELAXED, NVW_SCOPE_AGENT);
	}
}

TEST(lanes_that_have_no_neighbours_are_served_like_others)
{
	RIG_BEGUN(rig, 0);
	const struct words w = words_of(&rig, 512, 512);

	NVW_FOR(i, 64) {
		rig_write(&rig, &w.a[i], 1000 * i);
	}
	rig_launch(&rig, copy_by_some, &w, 64, 64);
	NVW_FOR(i, 64) {
		assert_visible(
			&rig, &w.b[i], (i % 3 == 1 ? 1000 * i + 1 : 0) + (i % 4 != 2 ? 1000 * (63 - i) : 0));
	}
}

enum { STACK_WORDS = 64, LONG_ITEMS = 512, LONG_ROUNDS = 1200 };

/* A long life, with numbers on the stack. */
KERNEL(keep_numbers, const struct words, w)
{
	const uint64_t id = nvw_global_id();
	volatile uint64_t own[STACK_WORDS];
	uint64_t wrong = 0;

	NVW_FOR(i, STACK_WORDS) {
		own[i] = id * STACK_WORDS + i;
	}
	NVW_FOR(i, LONG_ROUNDS) {
		wrong += nvw_load(&w->a[0]) != 7;
	}
	NVW_FOR(i, STACK_WORDS) {
		wrong += own[i] != id * STACK_WORDS + i;
	}
	nvw_store(&w->b[id], wrong + 1);
}

TEST(stacks_that_move_to_huge_pages_keep_what_they_have)
{
	RIG_BEGUN(rig, 0);
	const struct words w = words_of(&rig, 64, 8 * LONG_ITEMS);

	rig_write(&rig, w.a, 7);
	rig_launch(&rig, keep_numbers, &w, LONG_ITEMS, LONG_ITEMS);
	assert_true(rig.machine->exec.huge_pages);
	NVW_EACH(b, w.b, LONG_ITEMS) {
		assert_visible(&rig, b, 1);
	}
}

enum { APART_GROUPS = 24, APART_ITEMS = 128 };

static void do_nothing(const void *args)
{
	(void)args;
}

/* Work-groups of two wavefronts, more than there are CUs. */
TEST(stacks_of_wavefronts_are_apart)
{
	const struct emu_exec *x;
	struct words w = {0};
	unsigned used = 0;

	RIG_BEGUN(rig, 0);
	rig_launch(&rig, do_nothing, &w, APART_GROUPS * APART_ITEMS, APART_ITEMS);
	x = &rig.machine->exec;
	NVW_FOR(i, x->wavefront_count) {
		const char *const stacks = x->wavefronts[i].stacks;

		used += stacks != NULL;
		for (uint32_t other = 0; stacks && other < i; other++) {
			const char *const others = x->wavefronts[other].stacks;

			assert_true(!others || (uint64_t)labs(stacks - others) >= EMU_LANES * x->stack_bytes);
		}
	}
	assert_int_equal(used, APART_GROUPS * APART_ITEMS / EMU_LANES);
}

static void fill_stack(const void *args)
{
	volatile char own[1024];

	NVW_EACH(one, own, sizeof own) {
		*one = 1;
	}
	do_nothing(args);
}

/* A kernel that reads a variable before it sets it has to do the same in the thousandth machine of a process
 * as in the first. */
TEST(stacks_that_machines_hand_on_are_zeros)
{
	const char *before = NULL;

	NVW_FOR(turn, 2) {
		struct words w = {0};

		RIG_BEGUN(rig, 0, "gpu.cus=1", "gpu.wavefronts_per_cu=1");
		const struct emu_exec *const x = &rig.machine->exec;
		const char *const stacks = emu_stacks_at(x, 0);

		assert_true(turn == 0 || stacks == before);
		before = stacks;
		NVW_EACH(stack, stacks, EMU_LANES * x->stack_bytes) {
			assert_int_equal(*stack, 0);
		}
		rig_launch(&rig, fill_stack, &w, EMU_LANES, EMU_LANES);
	}
}

/* A value of 4 bytes that is negative fills the request's 8 bytes with ones. */
KERNEL(exchange_negative, const struct words, w)
{
	int32_t *const word = (int32_t *)w->a;

	nvw_atomic_compare_exchange(word, -7, 3, NVW_RELAXED, NVW_SCOPE_AGENT);
}

TEST(a_compare_exchange_compares_as_many_bytes_as_its_type_has)
{
	const int32_t before[2] = {-7, 5};

	RIG_BEGUN(rig, 1);
	const struct words w = words_of(&rig, 64, 0);

	rig_ok(nvw_write(rig.machine, w.a, before, sizeof before));
	rig_launch(&rig, exchange_negative, &w, 1, 1);
	assert_visible(&rig, w.a, UINT64_C(5) << 32 | 3);
}

KERNEL(add_to_own_store, const struct words, w)
{
	uint64_t *const mine = &w->a[nvw_global_id()];

	nvw_store(mine, 5);
	nvw_store(&w->b[nvw_global_id()], nvw_atomic_add(mine, 1, NVW_RELAXED, NVW_SCOPE_AGENT));
}

/* Nothing but the order of the program says so: no release writes back what was stored. */
TEST(a_relaxed_atomic_finds_what_its_work_item_has_stored)
{
	for_each_protocol(p) {
		RIG_UNDER(rig, p->name);
		const struct words w = words_of(&rig, 8 * 100, 8 * 100);

		rig_launch(&rig, add_to_own_store, &w, 100, 10);
		NVW_FOR(id, 100) {
			assert_visible(&rig, &w.b[id], 5);
			assert_visible(&rig, &w.a[id], 6);
		}
	}
}

KERNEL(fail_to_exchange, const struct words, w)
{
	nvw_atomic_compare_exchange(w->a, UINT64_C(1), 2, NVW_ACQ_REL, NVW_SCOPE_AGENT);
	nvw_atomic_compare_exchange(w->a + 8, UINT64_C(1), 2, NVW_RELAXED, NVW_SCOPE_WORKGROUP);
}

TEST(a_compare_exchange_that_fails_stores_nothing)
{
	for_each_protocol(p) {
		RIG_UNDER(rig, p->name);
		struct words w = {.a = rig.nvram};

		rig_launch(&rig, fail_to_exchange, &w, 100, 10);
		rig_ok(nvw_persist(rig.machine));
		assert_counted(&rig, nv_stores, 0);
		assert_counted(&rig, nvram_writes, 0);
	}
}

/* ---- Barriers -------------------------------------------------------------------------------- */

/* The last work-item comes by itself, long after the others. */
KERNEL(come_late, const struct words, w)
{
	const uint64_t id = nvw_local_id();

	if (id == nvw_group_size() - 1) {
		NVW_FOR(i, 50) {
			(void)nvw_load(&w->b[8 * i]);
		}
		nvw_store(w->a, 1);
	}
	nvw_barrier(NVW_WORKGROUP);
	if (id == 0) {
		nvw_store(w->b, nvw_load(w->a));
	}
}

TEST(a_barrier_waits_for_a_work_item_that_comes_alone)
{
	static const unsigned sizes[] = {2, 33, 64, 65, 200};

	for_each(size, sizes) {
		RIG_BEGUN(rig, 1);
		const struct words w = words_of(&rig, 64, 64 * 64);

		rig_launch(&rig, come_late, &w, *size, *size);
		assert_visible(&rig, w.b, 1);
	}
}

/* Odd lanes name themselves at the same barrier, store, and only then meet the others. */
KERNEL(name_two_groups, const struct words, w)
{
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

TEST(lanes_may_name_different_groups_at_one_barrier)
{
	enum { ITEMS = 100 };

	RIG_BEGUN(rig, 1);
	const struct words w = words_of(&rig, 8 * ITEMS, 8 * ITEMS);

	rig_launch(&rig, name_two_groups, &w, ITEMS, ITEMS);
	NVW_FOR(id, ITEMS) {
		assert_visible(&rig, &w.b[id], id | 1);
	}
}

/* All of a wavefront at one place: a half acquires, and a lane in the middle is at another place first. */
KERNEL(differ, const struct words, w)
{
	const uint64_t id = nvw_local_id();

	if (id == 37) {
		nvw_atomic_add(&w->a[1], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	} else {
		nvw_atomic_add(&w->a[0], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	}
	w->b[id] = nvw_atomic_add(&w->a[2], 1, id < 32 ? NVW_RELAXED : NVW_ACQUIRE, NVW_SCOPE_AGENT);
}

TEST(lanes_may_have_different_places_and_operations)
{
	uint64_t before[64]; /* of the host: what each lane's last add returned */

	RIG_BEGUN(rig, 1);
	struct words w = {.b = before, .a = nvw_alloc(rig.machine, 64)};

	rig_launch(&rig, differ, &w, 64, 64);
	assert_visible(&rig, &w.a[0], 63);
	assert_visible(&rig, &w.a[1], 1);
	assert_visible(&rig, &w.a[2], 64);
	assert_true(before[0] < before[63]); /* of lanes at one place those like the first go first */
	/*
	 * The lane, the others without it, those that do not acquire, those that do while the others return.
	 */
	assert_counted(&rig, divergent_ops, 4);
}

/* All but the last of some neighbours at one place. */
KERNEL(differ_at_the_end, const struct words, w)
{
	if (nvw_local_id() + 1 == nvw_group_size()) {
		nvw_atomic_add(&w->a[1], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	} else {
		nvw_atomic_add(&w->a[0], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	}
}

TEST(the_last_of_some_lanes_may_have_another_place)
{
	for (uint64_t lanes = 2; lanes < 8; lanes++) {
		RIG_BEGUN(rig, 1);
		const struct words w = words_of(&rig, 64, 0);

		rig_launch(&rig, differ_at_the_end, &w, lanes, (unsigned)lanes);
		assert_visible(&rig, &w.a[0], lanes - 1);
		assert_visible(&rig, &w.a[1], 1);
		assert_true(emu_statistics(rig.machine)->divergent_ops > 0);
	}
}

struct calls {
	uint64_t *word;
	unsigned depth[3]; /* of each lane, in calls */
	bool stores[3];
	uint64_t loaded[3];
};

static __attribute__((noinline)) void call(struct calls *c, unsigned depth)
{
	volatile unsigned left = depth; /* so that the call is one, and not the last action */

	if (left) {
		call(c, left - 1);
	} else if (!c->stores[nvw_local_id()]) {
		c->loaded[nvw_local_id()] = nvw_load(c->word);
	} else {
		nvw_store(c->word, 1);
	}
	left = 0;
}

KERNEL_ON(call_deep, struct calls, c)
{
	call(c, c->depth[nvw_local_id()]);
}

TEST(the_lanes_deepest_in_calls_go_first_with_all_at_their_instruction)
{
	static const struct {
		struct calls calls;
		uint64_t loaded; /* 1: after the store */
	} cases[] = {
		{{.depth = {1, 2, 3}, .stores = {false, true, false}}, 0},
		{{.depth = {1, 3, 2}, .stores = {false, false, true}}, 0},
		{{.depth = {3, 1, 2}, .stores = {false, false, true}}, 0},
#if defined(__x86_64__) && !defined(EMU_FIBER_UCONTEXT) /* else nobody knows how deep a lane is */
		{{.depth = {1, 2, 3}, .stores = {false, false, true}}, 1},
#endif
		{{.depth = {2, 2, 2}, .stores = {true, false, false}}, 0},
	};

	for_each(given, cases) {
		struct calls c = given->calls;

		RIG_BEGUN(rig, 1);
		c.word = nvw_alloc(rig.machine, 64);
		rig_launch_on(&rig, call_deep, &c, 3, 3);
		NVW_FOR(lane, 3) {
			assert_int_equal(c.loaded[lane], c.stores[lane] ? 0 : given->loaded);
		}
		assert_counted(&rig, wavefront_ops, 2);
	}
}

/* ---- Addresses in any order ------------------------------------------------------------------------- */

enum { OBJECTS = 80 };

/* Work-items first to end - 1 load, and store, the object at their place in an order. */
struct order {
	uint8_t *from, *to;
	uint64_t *loaded;
	unsigned log2_size, first, end;
	uint8_t place[64];
};

KERNEL(follow_order, const struct order, o)
{
	const uint64_t id = nvw_local_id(), at = (uint64_t)o->place[id] << o->log2_size;

	if (id >= o->first && id < o->end) {
		const unsigned size = 1u << o->log2_size;
		const uint64_t value = load_bytes(&o->from[at], size);

		store_bytes(&o->to[at], size, value + 1);
		nvw_store(&o->loaded[id], value);
	}
}

/*
 * The order of the objects: ascending from one of them on, and then some of the lanes, maybe, exchange
 * theirs.
 */
static void choose_order(struct order *o, struct nvw_random *random)
{
	const uint8_t begin = (uint8_t)nvw_random_below(random, OBJECTS - 64);
	unsigned exchanges = (unsigned)nvw_random_below(random, 3);

	o->log2_size = (unsigned)nvw_random_below(random, 4);
	o->first = (unsigned)nvw_random_below(random, 2) * (unsigned)nvw_random_below(random, 63);
	o->end = o->first + 1 + (unsigned)nvw_random_below(random, 64 - o->first);
	o->end = nvw_random_below(random, 2) ? 64 : o->end;
	NVW_FOR(i, 64) {
		o->place[i] = (uint8_t)(begin + i);
	}
	for (; exchanges > 0; exchanges--) {
		const uint64_t a = nvw_random_below(random, 64), b = nvw_random_below(random, 64);
		const uint8_t other = o->place[a];

		o->place[a] = o->place[b];
		o->place[b] = other;
	}
}

TEST(each_lane_gets_the_object_at_its_own_address_in_any_order)
{
	struct nvw_random random = {5};

	NVW_FOR(round, 400) {
		uint8_t bytes[8 * OBJECTS], stored[8 * OBJECTS] = {0}, expected[8 * OBJECTS] = {0};
		uint64_t loaded[64];
		struct order o;

		choose_order(&o, &random);
		RIG_BEGUN(rig, 0);
		o.from = nvw_alloc(rig.machine, sizeof bytes);
		o.to = nvw_alloc(rig.machine, sizeof stored);
		o.loaded = nvw_alloc(rig.machine, sizeof loaded);
		NVW_EACH(byte, bytes, sizeof bytes) {
			*byte = (uint8_t)nvw_random_below(&random, 256);
		}
		rig_ok(nvw_write(rig.machine, o.from, bytes, sizeof bytes));
		rig_launch(&rig, follow_order, &o, 64, 64);
		rig_ok(nvw_read(rig.machine, stored, o.to, sizeof stored));
		rig_ok(nvw_read(rig.machine, loaded, o.loaded, sizeof loaded));
		for (unsigned lane = o.first; lane < o.end; lane++) {
			const unsigned at = (unsigned)o.place[lane] << o.log2_size, size = 1u << o.log2_size;
			uint64_t value = 0;

			memcpy(&value, &bytes[at], size);
			assert_int_equal(loaded[lane], value);
			value++;
			memcpy(&expected[at], &value, size);
		}
		assert_memory_equal(stored, expected, sizeof expected);
	}
}

/* The first lanes of a line store words, which wait in the store buffer; then all lanes load theirs. */
KERNEL(load_behind_some_stores, const struct words, w)
{
	const uint64_t id = nvw_local_id();

	if (id % 8 < 3) {
		nvw_store(&w->a[id], 1000 + id);
	}
	nvw_store(&w->b[id], nvw_load(&w->a[id]));
}

/* Likewise lanes in the middle of a line, and words of 4 bytes. */
KERNEL(load_around_some_stores, const struct words, w)
{
	const uint64_t id = nvw_local_id();
	uint32_t *const a = (uint32_t *)w->a, *const b = (uint32_t *)w->b;

	if (id % 16 / 3 == 1) {
		nvw_store(&a[id], (uint32_t)(1000 + id));
	}
	nvw_store(&b[id], nvw_load(&a[id]));
}

TEST(a_store_buffer_may_serve_lanes_in_the_middle_of_a_line)
{
	uint32_t values[64];

	RIG_UNDER(rig, "rfo", "store_buffer.entries=64", "l2.latency=500cycles");
	const struct words w = words_of(&rig, sizeof values, sizeof values);

	NVW_FOR(i, 64) {
		values[i] = i;
	}
	rig_ok(nvw_write(rig.machine, w.a, values, sizeof values));
	rig_launch(&rig, load_around_some_stores, &w, 64, 64);
	assert_true(emu_statistics(rig.machine)->buffer_forwards > 0);
	rig_ok(nvw_read(rig.machine, values, w.b, sizeof values));
	NVW_FOR(i, 64) {
		assert_int_equal(values[i], i % 16 / 3 == 1 ? 1000 + i : i);
	}
}

TEST(a_store_buffer_may_serve_some_of_the_lanes_of_a_line)
{
	RIG_UNDER(rig, "rfo", "store_buffer.entries=64", "l2.latency=500cycles");
	const struct words w = words_of(&rig, 512, 512);

	NVW_FOR(i, 64) {
		rig_write(&rig, &w.a[i], i);
	}
	rig_launch(&rig, load_behind_some_stores, &w, 64, 64);
	assert_true(emu_statistics(rig.machine)->buffer_forwards > 0);
	NVW_FOR(i, 64) {
		assert_visible(&rig, &w.b[i], i % 8 < 3 ? 1000 + i : i);
	}
}

/* ---- What a work-item has while it waits ------------------------------------------------------ */

enum { KEPT = 10 };

/*
 * In registers, and in memory below the stack pointer, which a function that calls none may use. So a counter
 * numbers work-items.
 */
KERNEL(keep_while_waiting, const struct words, w)
{
	const uint64_t own = nvw_atomic_add(&w->b[1], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	volatile uint64_t below[KEPT];
	uint64_t mixed[KEPT], wrong = 0;
	double half = 0.5;

	NVW_FOR(i, KEPT) {
		below[i] = mixed[i] = nvw_load(&w->a[i]) + i + own;
		half *= (double)(mixed[i] + 1);
	}
	nvw_barrier(NVW_KERNEL);
	NVW_FOR(i, KEPT) {
		wrong += mixed[i] != 2 * i + own || below[i] != 2 * i + own;
		half /= (double)(2 * i + own + 1);
	}
	nvw_atomic_add(&w->b[0], wrong + (half < 0.499 || half > 0.501), NVW_RELAXED, NVW_SCOPE_AGENT);
}

TEST(registers_and_the_red_zone_survive_while_others_have_the_stack)
{
	enum { ITEMS = 4096 };

	RIG_BEGUN(rig, 1, "gpu.cus=1", "gpu.wavefronts_per_cu=8");
	const struct words w = words_of(&rig, 8 * KEPT, 64);

	NVW_FOR(i, KEPT) {
		rig_write(&rig, &w.a[i], i);
	}
	rig_launch(&rig, keep_while_waiting, &w, ITEMS, 128);
	assert_true(emu_statistics(rig.machine)->preemptions > 0);
	assert_visible(&rig, &w.b[0], 0);
	assert_visible(&rig, &w.b[1], ITEMS);
}
