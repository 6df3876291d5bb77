/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine as kernels and hosts see it: execution, barriers, errors, determinism. */
#include "words.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <nvw/random.h>

#include "machine.h"

/* ---- Execution ----------------------------------------------------------------------------- */

KERNEL(note_ids, const struct words, w)
{
	const uint64_t id = nvw_global_id();

	nvw_store(&w->a[id], nvw_group_id() * nvw_group_size() + nvw_local_id() == id ? id + 1 : 0);
}

TEST(every_work_item_runs_once_with_its_own_id)
{
	static const unsigned group_sizes[] = {1, 7, 64, 65, 256, 1000};

	NVW_FOR(i, NVW_COUNT(group_sizes)) {
		RIG_BEGUN(rig, i);
		struct words w = {.n = 3000, .a = nvw_alloc(rig.machine, 8 * 4096)};

		rig_launch(&rig, note_ids, &w, w.n, group_sizes[i]);
		NVW_FOR(id, w.n) {
			assert_visible(&rig, &w.a[id], id + 1);
		}
		assert_counted(
			&rig, work_items, (w.n + group_sizes[i] - 1) / group_sizes[i] * group_sizes[i]);
	}
}

KERNEL(diverge, const struct words, w)
{
	const uint64_t id = nvw_global_id();
	uint64_t sum = 0;

	NVW_FOR(i, id % 7) {
		if ((id + i) % 3 == 0) {
			sum += nvw_load(&w->a[i]);
		} else {
			sum += 2 * nvw_load(&w->a[i + 8]);
		}
	}
	nvw_store(&w->b[id], sum);
}

TEST(diverged_lanes_compute_what_each_would_alone)
{
	RIG_BEGUN(rig, 3);
	const struct words w = words_of(&rig, 8 * 16, 8 * 512);

	NVW_FOR(i, 16) {
		rig_write(&rig, &w.a[i], i * i + 1);
	}
	rig_launch(&rig, diverge, &w, 512, 128);
	NVW_FOR(id, 512) {
		uint64_t sum = 0;

		NVW_FOR(i, id % 7) {
			const uint64_t at = (id + i) % 3 == 0 ? i : i + 8;

			sum += ((id + i) % 3 == 0 ? 1 : 2) * (at * at + 1);
		}
		assert_visible(&rig, &w.b[id], sum);
	}
	assert_true(emu_statistics(rig.machine)->divergent_ops > 0);
}

KERNEL(spin_on_neighbour, const struct words, w)
{
	if (nvw_local_id() == 0) {
		while (!nvw_atomic_load(&w->a[0], NVW_ACQUIRE, NVW_SCOPE_AGENT)) {
		}
	} else if (nvw_local_id() == 1) {
		nvw_atomic_store(&w->a[0], 1, NVW_RELEASE, NVW_SCOPE_AGENT);
	}
}

TEST(a_lane_that_spins_does_not_starve_its_wavefront)
{
	RIG_BEGUN(rig, 1);
	const struct words w = words_of(&rig, 64, 0);

	rig_launch(&rig, spin_on_neighbour, &w, 64, 64);
}

KERNEL(take_turns_on_a_lock, const struct words, w)
{
	while (nvw_atomic_compare_exchange(&w->a[0], 0, 1, NVW_ACQUIRE, NVW_SCOPE_AGENT) != 0) {
	}
	nvw_store(&w->a[1], nvw_load(&w->a[1]) + 1);
	nvw_atomic_store(&w->a[0], 0, NVW_RELEASE, NVW_SCOPE_AGENT);
}

/*
 * 64 holders with three instructions each, all others spin: 64 turns for one of the holder's, not 64 for each
 * lane's.
 */
TEST(lanes_that_spin_on_a_lock_let_its_holder_go_on)
{
	RIG_BEGUN(rig, 1);
	const struct words w = words_of(&rig, 64, 0);

	rig_launch(&rig, take_turns_on_a_lock, &w, 64, 64);
	assert_visible(&rig, &w.a[1], 64);
	assert_true(emu_statistics(rig.machine)->divergent_ops < 64 * 3 * 2 * 64);
}

/* ---- Atomics, sizes ------------------------------------------------------------------------ */

struct atomics {
	uint8_t *u8;
	uint16_t *u16;
	uint32_t *u32;
	uint64_t *u64; /* add, sub, and, or, min, max, exchange, compare-exchange */
	enum nvw_scope scope;
};

KERNEL(do_atomics, const struct atomics, a)
{
	const uint64_t id = nvw_global_id();

	nvw_atomic_add(a->u8, 1, NVW_RELAXED, a->scope);
	nvw_atomic_add(a->u16, 3, NVW_ACQUIRE, a->scope);
	nvw_atomic_sub(a->u32, 5, NVW_RELEASE, a->scope);
	nvw_atomic_add(&a->u64[0], id, NVW_ACQ_REL, a->scope);
	nvw_atomic_sub(&a->u64[1], id, NVW_SEQ_CST, a->scope);
	nvw_atomic_and(&a->u64[2], ~(UINT64_C(1) << id % 64), NVW_RELAXED, a->scope);
	nvw_atomic_or(&a->u64[3], UINT64_C(1) << id % 64, NVW_RELAXED, a->scope);
	nvw_atomic_min(&a->u64[4], 1000 - id, NVW_RELAXED, a->scope);
	nvw_atomic_max(&a->u64[5], id, NVW_RELAXED, a->scope);
	for (;;) {
		const uint64_t was = nvw_atomic_load(&a->u64[6], NVW_RELAXED, a->scope);

		if (nvw_atomic_compare_exchange(&a->u64[6], was, was + 2, NVW_ACQ_REL, a->scope) == was) {
			break;
		}
	}
}

static void check_atomics(enum nvw_scope scope, uint64_t work_items, unsigned group_size)
{
	const uint64_t n = work_items;
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;

	RIG_BEGUN(rig, 5);
	struct atomics a = {.scope = scope};

	a.u8 = nvw_alloc(rig.machine, 64);
	a.u16 = nvw_alloc(rig.machine, 64);
	a.u32 = nvw_alloc(rig.machine, 64);
	a.u64 = nvw_alloc(rig.machine, 64);
	rig_write(&rig, &a.u64[2], UINT64_MAX);
	rig_write(&rig, &a.u64[4], UINT64_MAX);
	rig_launch(&rig, do_atomics, &a, n, group_size);
	rig_ok(nvw_read(rig.machine, &u8, a.u8, 1));
	rig_ok(nvw_read(rig.machine, &u16, a.u16, 2));
	rig_ok(nvw_read(rig.machine, &u32, a.u32, 4));
	assert_int_equal(u8, (uint8_t)n);
	assert_int_equal(u16, (uint16_t)(3 * n));
	assert_int_equal(u32, (uint32_t) - (5 * (int64_t)n));
	assert_visible(&rig, &a.u64[0], n * (n - 1) / 2);
	assert_visible(&rig, &a.u64[1], -(n * (n - 1) / 2));
	assert_visible(&rig, &a.u64[2], 0);
	assert_visible(&rig, &a.u64[3], UINT64_MAX);
	assert_visible(&rig, &a.u64[4], 1000 - (n - 1));
	assert_visible(&rig, &a.u64[5], n - 1);
	assert_visible(&rig, &a.u64[6], 2 * n);
}

TEST(atomics_of_agent_and_system_scope_lose_no_update_between_cus)
{
	check_atomics(NVW_SCOPE_AGENT, 704, 64);
	check_atomics(NVW_SCOPE_SYSTEM, 192, 32);
}

TEST(atomics_of_work_group_scope_lose_no_update_within_a_group)
{
	check_atomics(NVW_SCOPE_WORKGROUP, 256, 256);
}

/* ---- Barriers ------------------------------------------------------------------------------ */

KERNEL(reverse, const struct words, w)
{
	const unsigned size = nvw_group_size(), id = nvw_local_id();
	uint64_t *const mine = w->a + nvw_group_id() * size;

	NVW_FOR(round, 5) {
		const uint64_t value = nvw_load(&mine[size - 1 - id]);

		nvw_barrier(NVW_WORKGROUP);
		nvw_store(&mine[id], value + 1);
		nvw_barrier(NVW_WORKGROUP);
	}
}

TEST(a_work_group_barrier_separates_what_is_before_and_after)
{
	RIG_BEGUN(rig, 2);
	const struct words w = words_of(&rig, 8 * 1024, 0);

	NVW_FOR(i, 1024) {
		rig_write(&rig, &w.a[i], i);
	}
	rig_launch(&rig, reverse, &w, 1024, 256);
	NVW_FOR(i, 1024) {
		assert_visible(&rig, &w.a[i], i / 256 * 256 + 255 - i % 256 + 5);
	}
}

KERNEL(rotate, const struct words, w)
{
	const uint64_t id = nvw_global_id();
	uint64_t mark = id; /* on the stack: must survive being set aside */

	NVW_FOR(round, 3) {
		const uint64_t value = nvw_load(&w->a[(id + 1) % w->n]);

		nvw_barrier(NVW_KERNEL);
		nvw_store(&w->a[id], value);
		nvw_barrier(NVW_KERNEL);
		mark += round;
	}
	nvw_store(&w->b[id], mark);
}

TEST(a_kernel_wide_barrier_works_with_more_work_groups_than_fit)
{
	RIG_BEGUN(rig, 4, "gpu.cus=2", "gpu.wavefronts_per_cu=8");
	struct words w = words_of(&rig, 8 * 8192, 8 * 8192);

	w.n = 8192;
	NVW_FOR(i, w.n) {
		rig_write(&rig, &w.a[i], i);
	}
	assert_true(nvw_resident_work_items(rig.machine) < w.n);
	rig_launch(&rig, rotate, &w, w.n, 128);
	NVW_FOR(i, w.n) {
		assert_visible(&rig, &w.a[i], (i + 3) % w.n);
		assert_visible(&rig, &w.b[i], i + 3);
	}
	assert_true(emu_statistics(rig.machine)->preemptions > 0);
}

static void leave_early(const void *args)
{
	if (nvw_local_id() == 3) {
		return;
	}
	nvw_barrier(NVW_WORKGROUP);
}

TEST(a_deadlock_is_reported_with_who_waits_where)
{
	RIG_BEGUN(rig, 1);
	assert_int_equal(nvw_launch(rig.machine, "leaver", leave_early, NULL, 256, 128), NVW_E_DEADLOCK);
	assert_error_has("127 work-items of work-group 1 wait at");
	assert_error_has("test_machine.c");
	assert_error_has("leave_early");
}

/*
 * Every fifth work-item returns at once, every third of the others behind the first barrier; the last of a
 * group comes late, and returns.
 */
KERNEL(leave_now_and_then, const struct words, w)
{
	const uint64_t id = nvw_global_id();

	if (id % 5 == 2) {
		return;
	}
	nvw_store(&w->a[id], id + 1);
	if (nvw_local_id() == 127) {
		NVW_FOR(i, 100) {
			nvw_load(&w->a[id]);
		}
		return;
	}
	nvw_barrier((enum nvw_group)w->n);
	if (id % 3 == 1) {
		return;
	}
	nvw_barrier((enum nvw_group)w->n);
	nvw_store(&w->b[id], nvw_load(&w->a[id]) + 10);
}

TEST(barriers_do_not_wait_for_those_who_have_returned_if_told_so)
{
	for (enum nvw_group group = NVW_WORKGROUP; group <= NVW_KERNEL; group++) {
		RIG_BEGUN(rig, 1, "gpu.cus=1", "gpu.wavefronts_per_cu=4");
		struct words w = words_of(&rig, 8 * 512, 8 * 512);

		w.n = group;
		emu_barriers_without_returned(rig.machine);
		rig_launch(&rig, leave_now_and_then, &w, 512, 128);
		assert_counted(&rig, barriers, group == NVW_KERNEL ? 2 : 8);
		NVW_FOR(i, 512) {
			const bool stays = i % 5 != 2 && i % 128 != 127 && i % 3 != 1;

			assert_visible(&rig, &w.b[i], stays ? i + 11 : 0);
		}
		rig_launch(&rig, leave_now_and_then, &w, 512, 128);
	}
}

/* ---- Bad kernels --------------------------------------------------------------------------- */

static void wild_store(const void *args)
{
	if (nvw_global_id() == 77) {
		nvw_store((uint64_t *)8, 1);
	}
}

KERNEL(crossing_load, const struct words, w)
{
	(void)nvw_load((uint64_t *)(void *)((char *)w->a + 60));
}

/* Stacks are larger under address sanitizer. */
#ifdef EMU_ASAN
enum { DEEP_BYTES = 40000 };
#else
enum { DEEP_BYTES = 6000 };
#endif

static void deep(const void *args)
{
	volatile char large[DEEP_BYTES];
	const struct words *const w = args;

	large[0] = large[DEEP_BYTES - 1] = 1;
	nvw_store(&w->a[0], (uint64_t)large[0]);
	if (large[DEEP_BYTES - 1]) {
		deep(args);
		nvw_store(&w->a[1], (uint64_t)large[0]);
	}
}

TEST(an_access_outside_both_ranges_stops_with_its_source_line)
{
	RIG_BEGUN(rig, 1);
	assert_int_equal(nvw_launch(rig.machine, "wild", wild_store, NULL, 128, 64), NVW_E_KERNEL);
	assert_error_has("test_machine.c:");
	assert_error_has("store of 8 bytes at 0x8 by work-item 77");
}

TEST(an_access_that_crosses_a_line_stops)
{
	RIG_BEGUN(rig, 1);
	const struct words w = words_of(&rig, 128, 0);

	assert_int_equal(nvw_launch(rig.machine, "crossing", crossing_load, &w, 1, 1), NVW_E_KERNEL);
	assert_error_has("crosses a 64-byte line");
}

TEST(a_work_item_that_uses_up_its_stack_stops)
{
	RIG_BEGUN(rig, 1);
	const struct words w = words_of(&rig, 64, 0);

	assert_int_equal(nvw_launch(rig.machine, "deep", deep, &w, 1, 1), NVW_E_KERNEL);
	assert_error_has("stack");
}

KERNEL(shallow, const struct words, w)
{
	volatile char some[1000];

	NVW_FOR(i, sizeof some) {
		some[i] = (char)(nvw_local_id() + i);
	}
	nvw_store(&w->a[nvw_local_id()], nvw_local_id());
	NVW_FOR(i, sizeof some) {
		if (some[i] != (char)(nvw_local_id() + i)) {
			nvw_store(&w->a[nvw_local_id()], 1000);
		}
	}
}

TEST(each_lane_has_all_of_its_stack)
{
	RIG_BEGUN(rig, 1, "host.stack=2KiB");
	const struct words w = words_of(&rig, 8 * 64, 0);

	rig_launch(&rig, shallow, &w, 64, 64);
	NVW_FOR(lane, 64) {
		assert_visible(&rig, &w.a[lane], lane);
	}
}

/* ---- The host ------------------------------------------------------------------------------ */

TEST(the_host_reads_what_kernels_stored_and_they_what_it_wrote)
{
	uint64_t in[40], out[40];

	RIG_BEGUN(rig, 1);
	NVW_FOR(i, 40) {
		in[i] = i * 77 + 1;
	}
	NVW_FOR(where, 2) {
		char *const base = (char *)(where ? rig.nvram : nvw_alloc(rig.machine, 1024)) + 8;

		rig_ok(nvw_write(rig.machine, base, in, sizeof in));
		rig_ok(nvw_read(rig.machine, out, base, sizeof out));
		assert_memory_equal(in, out, sizeof in);
	}
	assert_durable(&rig, (char *)rig.nvram + 8, 1);
	assert_int_equal(nvw_write(rig.machine, in, in, 8), NVW_E_USAGE);
	assert_null(nvw_alloc(rig.machine, UINT64_MAX));
}

/* ---- Determinism --------------------------------------------------------------------------- */

KERNEL(race, const struct words, w)
{
	const uint64_t place = nvw_atomic_add(&w->b[0], 1, NVW_RELAXED, NVW_SCOPE_AGENT);

	nvw_store(&w->a[place], nvw_global_id());
	nvw_p_barrier_wi();
	nvw_store(&w->a[place + 4096], nvw_global_id());
	nvw_p_barrier_wg();
}

static uint64_t race_once(uint64_t seed, struct emu_stats *ret_stats, char *log_path)
{
	RIG_LOGGED(rig, seed);
	struct words w = {.a = rig.nvram, .b = nvw_alloc(rig.machine, 64)};
	uint64_t hash = 0;

	rig_launch(&rig, race, &w, 2048, 128);
	rig_ok(nvw_persist(rig.machine));
	NVW_EACH(a, w.a, 2048) {
		hash = nvw_mix64(hash ^ rig_durable(&rig, a));
	}
	*ret_stats = *emu_statistics(rig.machine);
	strcpy(log_path, rig.log_path);
	return hash;
}

static bool same_files(const char *a, const char *b)
{
	FILE *const f = fopen(a, "rb"), *const g = fopen(b, "rb");
	int x, y;

	do {
		x = getc(f);
		y = getc(g);
	} while (x == y && x != EOF);
	fclose(f);
	fclose(g);
	return x == y;
}

TEST(one_seed_gives_the_same_statistics_and_log)
{
	struct emu_stats first, second;
	char log1[64], log2[64];

	assert_int_equal(race_once(9, &first, log1), race_once(9, &second, log2));
	assert_memory_equal(&first, &second, sizeof first);
	assert_true(same_files(log1, log2));
	unlink(log1);
	unlink(log2);
}

TEST(ten_seeds_give_more_than_one_interleaving)
{
	uint64_t hashes[10];
	unsigned different = 0;

	NVW_FOR(seed, 10) {
		struct emu_stats stats;
		char log[64];
		bool is_new = true;

		hashes[seed] = race_once(seed, &stats, log);
		unlink(log);
		NVW_EACH(hash, hashes, seed) {
			is_new = is_new && *hash != hashes[seed];
		}
		different += is_new;
	}
	assert_true(different > 1);
}

/* ---- sinclair15 Table 3 ---------------------------------------------------------------------------- */

/* Whether kernels of one work-group, on a machine with a seed, begin at CUs 0, step, 2 step ... */
static bool begins_at_steps_of(const char *setting, unsigned step)
{
	bool all = true;

	RIG_BEGUN(rig, 7, setting);
	struct words w = {.n = 64, .a = nvw_alloc(rig.machine, 8 * 64)};

	NVW_FOR(i, 12) {
		rig_launch(&rig, note_ids, &w, 64, 64);
		all = all && rig.machine->exec.slots[0].cu->id == i * step % rig.machine->config.cus;
	}
	return all;
}

TEST(the_machine_says_where_kernels_begin)
{
	assert_true(begins_at_steps_of("gpu.first_cu=first", 0));
	assert_true(begins_at_steps_of("gpu.first_cu=next", 1));
	assert_false(begins_at_steps_of("gpu.first_cu=random", 0));
	assert_false(begins_at_steps_of("gpu.first_cu=random", 1));
}
