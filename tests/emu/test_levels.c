/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Levels as options of a machine: read and write caches apart (under docs/protocols/apart.c), a third level,
 * and the latencies of tags and data.
 */
#include "common/rig.h"

#include <nvw/kernel.h>

#include "protocol/protocol.h"

struct words {
	uint64_t *a, *turn;
	uint64_t got[8];
};

static struct words begin(struct rig *rig, const char *protocol, const char *const *more)
{
	rig_begin_under_with(rig, protocol, 0, more);
	struct words w = {.a = nvw_alloc(rig->machine, 64 * 64)};

	w.turn = nvw_alloc(rig->machine, 64);
	return w;
}

static struct emu_stats run(struct rig *rig, nvw_kernel kernel, struct words *w, uint64_t items)
{
	nvw_begin_measurement(rig->machine);
	rig_launch(rig, kernel, &w, items, 1);
	return *emu_statistics(rig->machine);
}

/* ---- Read and write caches apart ----------------------------------------------------------- */

KERNEL_ON(store_and_load_it, struct words, w)
{
	nvw_store(w->a, 5);
	w->got[0] = nvw_load(w->a);
}

KERNEL_ON(store_and_load_beside, struct words, w)
{
	w->got[2] = nvw_load(&w->a[2]);
	nvw_store(w->a, 6);
	w->got[0] = nvw_load(w->a);
	w->got[1] = nvw_load(&w->a[1]);
	w->got[3] = nvw_load(w->a);
}

TEST(a_load_of_what_was_stored_hits_the_write_cache)
{
	struct emu_stats stats;
	RIG(rig);
	struct words w = begin(&rig, "apart", NULL);

	stats = run(&rig, store_and_load_it, &w, 1);
	assert_int_equal(w.got[0], 5);
	assert_int_equal(stats.l1_write_hits, 1);
	assert_int_equal(stats.l1_load_misses, 0);
	assert_int_equal(stats.l1_flush_read, 0);
}

/*
 * The copy that was read first is no hit any more; the part that was stored hits, the rest has to be fetched.
 */
TEST(a_load_of_bytes_beside_writes_the_stored_ones_down_first)
{
	struct emu_stats stats;
	RIG(rig);
	struct words w = begin(&rig, "apart", NULL);

	rig_ok(nvw_write(rig.machine, w.a, &(uint64_t[]){1, 2, 3}, 24));
	stats = run(&rig, store_and_load_beside, &w, 1);
	assert_int_equal(w.got[2], 3);
	assert_int_equal(w.got[0], 6);
	assert_int_equal(w.got[1], 2);
	assert_int_equal(w.got[3], 6);
	assert_int_equal(stats.l1_write_hits, 1);
	assert_int_equal(stats.l1_flush_read, 1);
	assert_int_equal(stats.l2_writeback_read, 1);
	assert_int_equal(stats.l1_load_misses, 2);
}

/* CU 1 reads, CU 0 stores and releases, CU 1 reads again, with no acquire that would invalidate. */
KERNEL_ON(read_store_release_read, struct words, w)
{
	if (nvw_group_id() == 1) {
		w->got[0] = nvw_load(w->a);
		nvw_atomic_store(w->turn, 1, NVW_RELAXED, NVW_SCOPE_AGENT);
		while (nvw_atomic_load(w->turn, NVW_RELAXED, NVW_SCOPE_AGENT) != 2) {
		}
		w->got[1] = nvw_load(w->a);
	} else if (nvw_group_id() == 0) {
		while (nvw_atomic_load(w->turn, NVW_RELAXED, NVW_SCOPE_AGENT) != 1) {
		}
		nvw_store(w->a, 9);
		nvw_atomic_store(w->turn, 2, NVW_RELEASE, NVW_SCOPE_AGENT);
	}
}

static uint64_t read_after_release(const char *without, uint64_t *ret_invalidated)
{
	struct emu_stats stats;
	RIG(rig);
	struct words w = begin(&rig, "apart", NULL);

	if (without) {
		rig_ok(emu_plant_fault(rig.machine, without));
	}
	stats = run(&rig, read_store_release_read, &w, 2);
	assert_int_equal(w.got[0], 0);
	*ret_invalidated = stats.l1_invalidated;
	return w.got[1];
}

TEST(what_leaves_the_l2_s_write_cache_takes_all_copies_along)
{
	uint64_t invalidated;

	assert_int_equal(read_after_release(NULL, &invalidated), 9);
	assert_true(invalidated >= 1);
	assert_int_equal(read_after_release("invalidate the copies in all L1s (broadcast)", &invalidated), 0);
	assert_int_equal(invalidated, 0);
}

KERNEL_ON(store_to_many_lines, struct words, w)
{
	NVW_FOR(i, 32) {
		nvw_store(&w->a[8 * i], i + 1);
	}
}

TEST(a_write_cache_has_its_own_size)
{
	static const char *const large[] = {"l1.sfifo=64", NULL};
	static const char *const small[] = {"l1.write_size=256B", "l1.write_ways=2", "l1.sfifo=64",
		"l2.write_size=512B", "l2.write_ways=2", NULL};

	NVW_FOR(i, 2) {
		struct emu_stats stats;
		RIG(rig);
		struct words w = begin(&rig, "apart", i ? small : large);

		stats = run(&rig, store_to_many_lines, &w, 1);
		assert_int_equal(stats.l1_flush_evict, i ? 32 - 4 : 0);
		assert_int_equal(stats.l2_writeback_evict > 0, i);
		NVW_FOR(k, 32) {
			assert_visible(&rig, &w.a[8 * k], k + 1);
		}
	}
}

/* L1s keep their copies from kernel to kernel: what the host writes has to reach them. */
KERNEL_ON(load_first, struct words, w)
{
	w->got[nvw_group_id()] = nvw_load(w->a);
}

TEST(copies_that_outlive_a_kernel_learn_what_the_host_writes)
{
	struct emu_stats stats;
	RIG(rig);
	struct words w = begin(&rig, "apart", NULL);
	const uint64_t mark = nvw_mark(rig.machine);

	w.a = nvw_alloc(rig.machine, 64);
	rig_write(&rig, w.a, 3);
	run(&rig, load_first, &w, 2);
	assert_int_equal(w.got[1], 3);
	rig_write(&rig, w.a, 4);
	stats = run(&rig, load_first, &w, 2);
	assert_int_equal(w.got[0], 4);
	assert_int_equal(w.got[1], 4);
	assert_int_equal(stats.l1_load_hits, 2);
	nvw_release(rig.machine, mark);
	assert_ptr_equal(nvw_alloc(rig.machine, 64), w.a);
	run(&rig, load_first, &w, 2);
	assert_int_equal(w.got[1], 0);
}

static int created(const char *protocol, const char *setting, const char *another)
{
	struct nvw_machine *m = NULL;
	const int r = rig_alone(NULL, SETTINGS(protocol, setting, another), &m);

	emu_destroy(m);
	return r;
}

TEST(a_protocol_says_whether_its_caches_are_apart)
{
	assert_int_equal(created("protocol=apart", "l1.split=on", "l2.split=auto"), 0);
	assert_int_equal(created("protocol=vi", "l1.split=off", NULL), 0);
	assert_int_equal(created("protocol=vi", "l1.split=on", NULL), NVW_E_CONFIG);
	assert_error_has("l1.split: protocol vi needs read and write caches in one");
	assert_int_equal(created("protocol=apart", "l2.split=off", NULL), NVW_E_CONFIG);
	assert_error_has("l2.split: protocol apart needs read and write caches apart");
	assert_int_equal(created("protocol=apart", "l1.write_size=100B", NULL), NVW_E_CONFIG);
	assert_error_has("l1.write_size");
	assert_int_equal(created("protocol=vi", "l2.tag=25cycles", NULL), NVW_E_CONFIG);
	assert_error_has("l2.tag");
}

/* ---- Persistence, through write caches and a third level ----------------------------------- */

struct durable {
	struct rig *rig;
	uint64_t *a;
	unsigned lost;
};

KERNEL_ON(store_and_persist, struct durable, d)
{
	const uint64_t me = nvw_global_id();

	for (uint64_t i = 1; i <= 4; i++) {
		nvw_store(&d->a[64 * me + 8 * i], i);
		nvw_p_barrier_wi();
		d->lost += rig_durable(d->rig, &d->a[64 * me + 8 * i]) != i;
	}
}

TEST(a_persist_barrier_reaches_through_write_caches_and_an_l3)
{
	static const char *const models[] = {"persist.model=epoch", "persist.model=strict"};
	static const char *const domains[] = {"nvram.domain=device", "nvram.domain=adr", "nvram.domain=eadr"};
	static const char *const protocols[] = {"apart", "vi", "rsp", "dd", "quickrelease", "wt", "no-l1"};
	enum { PROTOCOLS = NVW_COUNT(protocols) };

	NVW_FOR(i, PROTOCOLS * 2 * 3) {
		RIG_UNDER(rig, protocols[i % PROTOCOLS], "l3.size=4KiB", models[i / PROTOCOLS % 2],
			domains[i / PROTOCOLS / 2], i % 2 ? "l3.split=on" : NULL);
		struct durable d = {.rig = &rig, .a = rig.nvram};

		rig_launch_on(&rig, store_and_persist, &d, 8, 4);
		assert_int_equal(d.lost, 0);
	}
}

/* ---- A third level ------------------------------------------------------------------------- */

KERNEL_ON(load_all, struct words, w)
{
	w->got[0] = 0;
	NVW_FOR(i, 32) {
		w->got[0] += nvw_load(&w->a[8 * i]);
	}
}

/* The second kernel finds in the L3 what has left the small L2. */
TEST(reads_that_miss_the_l2_hit_the_l3)
{
	struct emu_stats stats[2];

	NVW_FOR(i, 2) {
		RIG(rig);
		struct words w =
			begin(&rig, "gd", SETTINGS("l2.size=1KiB", "l2.ways=2", i ? "l3.size=8KiB" : NULL));

		run(&rig, store_to_many_lines, &w, 1);
		run(&rig, load_all, &w, 1);
		stats[i] = run(&rig, load_all, &w, 1);
		assert_int_equal(w.got[0], 32 * 33 / 2);
	}
	assert_int_equal(stats[0].l3_accesses, 0);
	assert_int_equal(stats[0].dram_reads, 32);
	assert_int_equal(stats[1].dram_reads, 0);
	assert_int_equal(stats[1].l3_load_hits, 32);
}

KERNEL_ON(store_one, struct words, w)
{
	nvw_store(w->a, 7);
	nvw_atomic_store(w->turn, 1, NVW_RELEASE, NVW_SCOPE_SYSTEM);
	w->got[0] = 1;
}

/* rsp writes through: what passes the L2 stays in the L3. The skeleton's release takes it on to memory. */
TEST(an_l3_keeps_stores_to_dram_until_a_marker_comes)
{
	NVW_FOR(i, 2) {
		const char *const settings[] = {"l3.size=4KiB", i ? "l3.split=on" : NULL, NULL};
		struct emu_stats stats;
		struct rig rig;
		struct words w = begin(&rig, "rsp", settings);

		stats = run(&rig, store_one, &w, 1);
		assert_visible(&rig, w.a, 7);
		assert_int_equal(rig_in_memory(rig.machine, w.a), 0);
		assert_true(stats.l3_writes >= 2);
		assert_int_equal(stats.dram_writes, 0);
		rig_write(&rig, w.a, 8);
		assert_visible(&rig, w.a, 8);
		run(&rig, load_first, &w, 1);
		assert_int_equal(w.got[0], 8);
		rig_end(&rig);

		w = begin(&rig, "skeleton", settings);
		stats = run(&rig, store_one, &w, 1);
		assert_int_equal(rig_in_memory(rig.machine, w.a), 7);
		assert_int_equal(stats.l3_writeback_release, 1);
		rig_end(&rig);
	}
}

KERNEL_ON(store_two_lines_again, struct words, w)
{
	NVW_FOR(i, 8) {
		nvw_atomic_add(&w->a[8 * (i % 4)], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	}
}

TEST(a_full_s_fifo_of_the_l3_writes_its_oldest_line)
{
	struct emu_stats stats;
	RIG(rig);
	struct words w = begin(&rig, "rsp", SETTINGS("l3.size=4KiB", "l3.sfifo=2"));

	stats = run(&rig, store_two_lines_again, &w, 1);
	assert_int_equal(stats.l3_writes, 8);
	assert_int_equal(stats.l3_writeback_sfifo, 6);
	assert_int_equal(rig_in_memory(rig.machine, &w.a[0]), 2);
	assert_visible(&rig, &w.a[24], 2);
}

/* ---- Tags and data ------------------------------------------------------------------------- */

KERNEL_ON(load_once, struct words, w)
{
	(void)nvw_load(w->a);
	(void)nvw_load(w->a);
}

static uint64_t time_of_loads(const char *l1_tag, const char *l2_tag, const char *l3_tag)
{
	RIG(rig);
	struct words w = begin(&rig, "gd",
		SETTINGS("l1.latency=5cycles", "l2.latency=20cycles", "l3.size=4KiB", "l3.latency=30cycles",
			l1_tag, l2_tag, l3_tag));

	return run(&rig, load_once, &w, 1).load_ps;
}

/* One miss at each level and one hit in the L1. */
TEST(a_miss_takes_the_latency_of_tags)
{
	const uint64_t time = time_of_loads(NULL, NULL, NULL), cycle = 1000;

	assert_int_equal(time_of_loads("l1.tag=1cycles", NULL, NULL), time - 4 * cycle);
	assert_int_equal(time_of_loads("l1.tag=1cycles", "l2.tag=4cycles", "l3.tag=6cycles"),
		time - (4 + 16 + 24) * cycle);
}

/* ---- Acquires that invalidate nothing ------------------------------------------------------ */

KERNEL_ON(read_and_add, struct words, w)
{
	w->got[nvw_group_id()] = nvw_load(w->a);
	if (nvw_group_id() == 1) {
		nvw_store(w->a, w->got[1] + 1);
	}
}

/* CU 0 reads in each of three kernels what CU 1 has stored in the one before. */
static uint64_t misses_of_cu_0(const char *protocol, const char *acquire)
{
	struct emu_stats stats;
	RIG(rig);
	struct words w = begin(&rig, protocol, SETTINGS("gpu.first_cu=first", acquire));

	NVW_FOR(i, 3) {
		stats = run(&rig, read_and_add, &w, 2);
		assert_int_equal(w.got[0], i);
		assert_int_equal(w.got[1], i);
	}
	return stats.l1_load_misses;
}

TEST(l1s_without_acquires_hit_what_is_up_to_date)
{
	static const char *const protocols[] = {"vi", "gd", "gh", "rsp", "wt"};

	for_each(protocol, protocols) {
		assert_int_equal(misses_of_cu_0(*protocol, "l1.acquire=on"), 2);
		assert_int_equal(misses_of_cu_0(*protocol, "l1.acquire=off"), 0);
	}
	assert_int_equal(created("protocol=dd", "l1.acquire=off", NULL), NVW_E_CONFIG);
	assert_error_has("(vi, gd, gh, rsp, no-l1, wt, ");
	assert_error_has("directory, skeleton); found dd");
	assert_int_equal(created("protocol=vi", "l1.acquire=auto", NULL), NVW_E_CONFIG);
}
