/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffered epoch persistency: its buffer, races that its barriers contradict, and write-backs that overlap.
 */
#include "epochs.h"

KERNEL(race_across, const struct words, w)
{
	/* Work-item 0 passes the kernel's barrier and stores; the last one stores to the same word before it.
	 */
	if (nvw_global_id() == 0) {
		nvw_p_barrier_kr();
		nvw_store(&w->a[0], 2);
	} else if (nvw_global_id() == 64) {
		NVW_FOR(i, 64) {
			(void)nvw_load(&w->a[8 * i + 8]);
		}
		nvw_store(&w->a[0], 1);
		nvw_p_barrier_kr();
	} else {
		nvw_p_barrier_kr();
	}
}

TEST(a_race_that_contradicts_the_barriers_is_reported_and_not_hung)
{
	RIG_BEGUN(rig, 0, "persist.model=buffered-epoch");
	struct words w = {.a = rig.nvram};

	assert_int_equal(nvw_launch(rig.machine, "race", race_across, &w, 128, 64), NVW_E_KERNEL);
	assert_error_has("race across a persist barrier");
}

struct overtaking {
	uint64_t *lines;
	uint64_t *flag; /* DRAM */
};

/*
 * The first wavefront passes the barrier and fills the buffer, which must wait for the second one; that waits
 * for it.
 */
KERNEL(overtake, const struct overtaking, o)
{
	if (nvw_local_id() == 0) {
		nvw_p_barrier_wg();
		NVW_FOR(i, 200) {
			nvw_store(&o->lines[8 * i], i);
		}
		nvw_atomic_store(o->flag, 1, NVW_RELEASE, NVW_SCOPE_AGENT);
	} else if (nvw_local_id() == 64) {
		while (nvw_atomic_load(o->flag, NVW_ACQUIRE, NVW_SCOPE_AGENT) == 0) {
		}
		nvw_p_barrier_wg();
	} else {
		nvw_p_barrier_wg();
	}
}

TEST(a_full_buffer_waits_for_no_work_item_to_reach_its_barrier)
{
	struct overtaking o;

	RIG_BEGUN(
		rig, 0, "persist.model=buffered-epoch", "persist.buffer=1", "l1.nvw_fifo=1", "l2.nvw_fifo=1");
	o.lines = rig.nvram;
	o.flag = nvw_alloc(rig.machine, 64);
	rig_launch(&rig, overtake, &o, 128, 128);
	assert_durable(&rig, &o.lines[8 * 199], 199);
	assert_true(emu_statistics(rig.machine)->buffer_stalls > 0);
}

/* Each round's store must wait for the one before. */
KERNEL(store_in_rounds, const struct words, w)
{
	NVW_FOR(round, w->rounds) {
		nvw_store(&w->a[8 * (round * 64 + nvw_global_id())], round);
		nvw_p_barrier_wi();
	}
}

static struct emu_stats stats_with_buffer(const char *buffer)
{
	RIG_BEGUN(rig, 0, "persist.model=buffered-epoch", "nvram.write=10us", buffer);
	struct words w = {.rounds = 20, .a = rig.nvram};

	rig_launch(&rig, store_in_rounds, &w, 64, 64);
	assert_durable(&rig, &w.a[8 * (19 * 64 + 63)], 19);
	return *emu_statistics(rig.machine);
}

TEST(a_full_buffer_stalls_until_the_device_has_made_room)
{
	const struct emu_stats small = stats_with_buffer("persist.buffer=64"),
			       large = stats_with_buffer("persist.buffer=65536");

	assert_int_equal(large.buffer_stalls, 0);
	assert_true(small.buffer_stalls > 0);
	/* 1280 lines in 20 epochs of 64: all but the last few epochs have left when the last store issues. */
	assert_true(small.buffer_stall_ps > 10 * UINT64_C(10000000));
}

struct overlap {
	uint64_t *x, *y;
	uint64_t *flag; /* DRAM */
	unsigned first; /* which words of x the second work-item stores, and how many */
	unsigned count;
};

/*
 * What work-item 0 stores to x waits for its store to y; what work-item 64 stores to x later waits for
 * nothing but that.
 */
KERNEL(store_overlapping, const struct overlap, o)
{
	if (nvw_global_id() == 0) {
		nvw_store(o->y, 7);
		nvw_p_barrier_wi();
		for (unsigned i = 2; i < 6; i++) {
			nvw_store(&o->x[i], 10 + i);
		}
		nvw_atomic_store(o->flag, 1, NVW_RELEASE, NVW_SCOPE_AGENT);
	} else if (nvw_global_id() == 64) {
		while (nvw_atomic_load(o->flag, NVW_ACQUIRE, NVW_SCOPE_AGENT) == 0) {
		}
		for (unsigned i = o->first; i < o->first + o->count; i++) {
			nvw_store(&o->x[i], 20 + i);
		}
	}
}

TEST(write_backs_that_overlap_in_part_keep_coherence_order)
{
	NVW_FOR(i, 8 * 8) {
		const unsigned first = i % 8, count = 1 + i / 8;
		struct overlap o = {.first = first, .count = count};

		if (first + count > 8) {
			continue;
		}
		RIG_BEGUN(rig, 0, "persist.model=buffered-epoch");
		o.x = rig.nvram;
		o.y = o.x + 8;
		o.flag = nvw_alloc(rig.machine, 64);
		rig_launch(&rig, store_overlapping, &o, 128, 64);
		assert_true(emu_statistics(rig.machine)->epoch_conflicts > 0);
		for (unsigned word = 0; word < 8; word++) {
			const bool second = word >= first && word < first + count;

			assert_durable(&rig, &o.x[word],
				second                ? 20 + word :
				word >= 2 && word < 6 ? 10 + word :
							0);
		}
	}
}

TEST(ordering_alone_is_faster_than_waiting)
{
	uint64_t time[2];

	NVW_FOR(i, 2) {
		RIG_BEGUN(rig, 0, i ? "persist.model=buffered-epoch" : NULL);
		struct words w = {.group = NVW_WORKGROUP, .rounds = 4, .a = rig.nvram};

		rig_launch(&rig, ladder, &w, 64, 32);
		time[i] = nvw_time_ps(rig.machine);
	}
	assert_true(time[1] < time[0]);
}
