/* SPDX-License-Identifier: BSD-3-Clause */
/* Write-through, no L1 and QuickRelease (hechtman14 chapter 4): what each promises, and what it costs. */
#include "common/rig.h"

#include <nvw/kernel.h>

#include "protocol/protocol.h"

enum { LINES = 64, WORDS = EMU_LINE / 8 };

struct words {
	struct nvw_machine *m;
	uint64_t *a, *flag;
	uint64_t got[8];
};

static struct words begin(struct rig *rig, const char *protocol, const char *more)
{
	rig_begin_under_set(rig, protocol, "l3.size=16KiB", more);
	struct words w = {.m = rig->machine, .a = nvw_alloc(rig->machine, LINES * EMU_LINE)};

	w.flag = nvw_alloc(rig->machine, EMU_LINE);
	return w;
}

static struct emu_stats run(struct rig *rig, nvw_kernel kernel, struct words *w, uint64_t items)
{
	nvw_begin_measurement(rig->machine);
	rig_launch(rig, kernel, &w, items, 1);
	return *emu_statistics(rig->machine);
}

/* The statistics of one kernel of one work-item, without an action of the protocol (NULL: with all). */
static struct emu_stats alone(const char *protocol, const char *without, nvw_kernel kernel, struct words *ret)
{
	struct emu_stats stats;
	RIG(rig);
	struct words w = begin(&rig, protocol, NULL);

	rig_ok(without ? emu_plant_fault(rig.machine, without) : 0);
	stats = run(&rig, kernel, &w, 1);
	if (ret) {
		*ret = w;
	}
	return stats;
}

/* ---- What is combined ---------------------------------------------------------------------- */

KERNEL_ON(store_each_word, struct words, w)
{
	NVW_FOR(i, 4 * WORDS) {
		nvw_store(&w->a[i], i + 1);
	}
}

/* Four lines, a word at a time: 32 writes to memory, or 4. */
TEST(write_through_combines_nothing_and_quickrelease_whole_lines)
{
	static const char *const through[] = {"no-l1", "wt"};

	for_each(row, through) {
		const struct emu_stats stats = alone(*row, NULL, store_each_word, NULL);

		assert_int_equal(stats.l1_flush_through, 4 * WORDS);
		assert_int_equal(stats.l2_writeback_through, 4 * WORDS);
		assert_int_equal(stats.dram_writes, 4 * WORDS);
		assert_int_equal(stats.l3_writes, 0);
	}
	const struct emu_stats stats = alone("quickrelease", NULL, store_each_word, NULL);

	assert_int_equal(stats.l1_flush_release, 4);
	assert_int_equal(stats.l2_writeback_release, 4);
	assert_int_equal(stats.l3_writeback_release, 4);
	assert_int_equal(stats.dram_writes, 4);
}

/* The end of a kernel is a release: memory has everything, the wL3 nothing. */
TEST(memory_has_what_a_kernel_has_stored_when_it_ends)
{
	static const char *const protocols[] = {"no-l1", "wt", "quickrelease"};

	for_each(protocol, protocols) {
		RIG(rig);
		struct words w = begin(&rig, *protocol, NULL);

		run(&rig, store_each_word, &w, 1);
		NVW_FOR(k, 4 * WORDS) {
			assert_int_equal(rig_in_memory(rig.machine, &w.a[k]), k + 1);
		}
	}
	assert_int_equal(alone("quickrelease", "flush L3", store_each_word, NULL).dram_writes, 0);
}

/* ---- Releases ------------------------------------------------------------------------------ */

KERNEL_ON(store_and_release, struct words, w)
{
	NVW_FOR(i, 16) {
		nvw_store(&w->a[WORDS * i], i + 1);
	}
	nvw_atomic_add(w->flag, 1, NVW_RELEASE, NVW_SCOPE_AGENT);
	for (unsigned i = 0; i < 16; i++) {
		w->got[0] += rig_in_memory(w->m, &w->a[WORDS * i]) == i + 1;
	}
}

TEST(a_release_has_everything_before_it_in_memory)
{
	static const char *const protocols[] = {"no-l1", "wt", "quickrelease"};
	struct words w;

	for_each(protocol, protocols) {
		alone(*protocol, NULL, store_and_release, &w);
		assert_int_equal(w.got[0], 16);
	}
	alone("quickrelease", "marker through the S-FIFOs", store_and_release, &w);
	assert_int_equal(w.got[0], 0);
}

KERNEL_ON(release_by_a_store, struct words, w)
{
	nvw_store(w->a, 3);
	nvw_atomic_store(w->flag, 1, NVW_RELEASE, NVW_SCOPE_AGENT);
	w->got[0] = rig_in_memory(w->m, w->a);
	w->got[1] = rig_in_memory(w->m, w->flag);
}

/* The store of a StRel goes the way of stores, and no marker follows it: it drives itself out. */
TEST(the_store_of_a_release_does_not_wait_in_write_caches)
{
	struct words w;

	alone("quickrelease", NULL, release_by_a_store, &w);
	assert_int_equal(w.got[0], 3);
	assert_int_equal(w.got[1], 1);
	alone("quickrelease", "flush of the S-FIFOs that nobody waits for", release_by_a_store, &w);
	assert_int_equal(w.got[0], 3);
	assert_int_equal(w.got[1], 0);
}

/* Without the wait, or without the marker, a release takes less time. */
TEST(a_release_waits_for_what_memory_has_to_acknowledge)
{
	static const char *const cases[][2] = {{"no-l1", "wait for the acknowledgements of stores"},
		{"wt", "wait for the acknowledgements of stores"},
		{"quickrelease", "marker through the S-FIFOs"}};

	NVW_EACH(one, cases, 3) {
		const struct emu_stats with = alone((*one)[0], NULL, store_and_release, NULL),
				       without = alone((*one)[0], (*one)[1], store_and_release, NULL);

		assert_true(with.release_ps > 0);
		assert_int_equal(without.release_ps, 0);
		assert_true(with.atomic_ps > without.atomic_ps);
	}
}

/* The acknowledgement of a store that a release waits for comes from behind the L2, under gd from the L2. */
static uint64_t release_with(const char *protocol, const char *latency)
{
	RIG(rig);
	struct words w = begin(&rig, protocol, latency);

	return run(&rig, store_and_release, &w, 1).release_ps;
}

TEST(a_release_pays_the_way_through_the_l2)
{
	static const char *const protocols[] = {"no-l1", "wt", "quickrelease", "gd"};

	for_each(protocol, protocols) {
		const uint64_t near = release_with(*protocol, "l2.latency=20cycles"),
			       far = release_with(*protocol, "l2.latency=1020cycles");

		assert_true(far >= near + 900000);
	}
}

KERNEL_ON(meet, struct words, w)
{
	NVW_FOR(i, 16) {
		nvw_store(&w->a[WORDS * i], i + 1);
	}
	nvw_barrier(NVW_WORKGROUP);
}

/* Also a work-group barrier is a release of write-through memory systems (4.2.3). */
TEST(a_work_group_barrier_waits_for_stores)
{
	static const char wait[] = "wait for the acknowledgements of stores";

	assert_true(alone("wt", NULL, meet, NULL).sim_time_ps > alone("wt", wait, meet, NULL).sim_time_ps);
	assert_true(
		alone("no-l1", NULL, meet, NULL).sim_time_ps > alone("no-l1", wait, meet, NULL).sim_time_ps);
}

/* ---- Acquires and copies ------------------------------------------------------------------- */

KERNEL_ON(load_acquire_load, struct words, w)
{
	(void)nvw_load(w->a);
	(void)nvw_atomic_load(w->flag, NVW_ACQUIRE, NVW_SCOPE_AGENT);
	(void)nvw_load(w->a);
	(void)nvw_atomic_load(w->flag, NVW_ACQUIRE, NVW_SCOPE_AGENT);
}

/* QuickRelease's LdAcq is a load: it hits the rL1, and so does what follows it. */
TEST(an_acquire_does_nothing_under_quickrelease)
{
	const struct emu_stats wt = alone("wt", NULL, load_acquire_load, NULL),
			       quick = alone("quickrelease", NULL, load_acquire_load, NULL);

	assert_int_equal(wt.l1_load_misses, 2);
	assert_int_equal(wt.invalidations_acquire, 2);
	assert_int_equal(quick.l1_load_misses, 2); /* a line of data and one of the flag */
	assert_int_equal(quick.l1_load_hits, 2);
	assert_int_equal(quick.invalidations_acquire, 0);
	assert_int_equal(quick.acquire_ps, 0);
}

KERNEL_ON(load_first, struct words, w)
{
	w->got[nvw_group_id()] = nvw_load(w->a);
}

KERNEL_ON(store_first, struct words, w)
{
	nvw_store(w->a, 9);
}

/* What one kernel has read the next one hits, unless it was stored to meanwhile, by whomever. */
TEST(copies_outlive_a_kernel_under_quickrelease_alone)
{
	static const char *const protocols[] = {"no-l1", "wt", "quickrelease"};

	NVW_FOR(i, 3) {
		const bool is_kept = i == 2;
		RIG(rig);
		struct words w = begin(&rig, protocols[i], NULL);

		run(&rig, load_first, &w, 4);
		assert_int_equal(run(&rig, load_first, &w, 4).l1_load_hits, is_kept ? 4 : 0);
		run(&rig, store_first, &w, 1);
		assert_int_equal(run(&rig, load_first, &w, 4).l1_load_hits, 0);
		NVW_EACH(got, w.got, 4) {
			assert_int_equal(*got, 9);
		}
	}
}

/* One line leaves the wL2: one invalidation in each of four L1s. */
TEST(every_line_that_leaves_the_wl2_is_announced_to_all_l1s)
{
	assert_int_equal(alone("quickrelease", NULL, store_first, NULL).l1_probes, 4);
	assert_int_equal(alone("quickrelease", NULL, store_each_word, NULL).l1_probes, 16);
	assert_int_equal(alone("wt", NULL, store_each_word, NULL).l1_probes, 0);
}

/* ---- Atomics ------------------------------------------------------------------------------- */

KERNEL_ON(add_on_two_lines, struct words, w)
{
	nvw_store(w->a, 1);
	for (unsigned i = 1; i <= 4; i++) {
		nvw_atomic_add(&w->a[WORDS * i], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	}
	w->got[0] = rig_in_memory(w->m, w->a);
	(void)nvw_atomic_compare_exchange(w->flag, 5, 6, NVW_RELAXED, NVW_SCOPE_AGENT);
}

/*
 * The S-FIFO has four entries: the fourth atomic drives the store out that came before. A failed one changes
 * nothing, and takes no copy along.
 */
TEST(an_atomic_takes_a_place_in_the_s_fifo)
{
	NVW_FOR(i, 2) {
		RIG(rig);
		struct words w = begin(&rig, "quickrelease", "l1.sfifo=4");

		rig_ok(i ? emu_plant_fault(rig.machine, "write marker into the S-FIFO") : 0);
		const struct emu_stats stats = run(&rig, add_on_two_lines, &w, 1);

		assert_int_equal(stats.l1_flush_sfifo, !i);
		assert_int_equal(stats.l1_probes, 5 * 4);
		assert_int_equal(stats.l2_atomics, 5);
	}
}

/* ---- The machine --------------------------------------------------------------------------- */

/* Table 4.1. */
TEST(the_machine_has_table_4_1)
{
	struct emu_config c;

	emu_config_default(&c);
	rig_ok(emu_config_load(&c, "hechtman14-apu"));
	assert_int_equal(c.cus, 8);
	assert_int_equal(c.wavefronts_per_cu, 40);
	assert_int_equal(c.l1.size, 16 << 10);
	assert_int_equal(c.l2.size, 256 << 10);
	assert_int_equal(c.l3.size, 4 << 20);
	assert_int_equal(c.l1.write_size + c.l2.write_size + c.l3.write_size, (4 + 16 + 32) << 10);
	assert_int_equal(c.l1.sfifo, 64);
	assert_int_equal(c.l2.sfifo, 128);
	assert_int_equal(c.l3.sfifo, 256);
	assert_int_equal(c.l1.tag, 1000);
	assert_int_equal(c.l1.latency, 1000 + 4000);
	assert_int_equal(c.l2.tag, 4000);
	assert_int_equal(c.l2.latency, 4000 + 16000);
	assert_string_equal(c.protocol, "wt");
}
