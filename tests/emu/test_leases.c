/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Temporal coherence: leases, stores that wait for them, the prediction, lines that the L2 has replaced,
 * persist barriers.
 */
#include "common/rig.h"

#include <nvw/host.h>

#include "machine.h"
#include "protocol/leases.h"

enum { LINE_WORDS = 8, LEASE = 5000, CYCLE = 1000 };

struct task {
	uint64_t *a;
	uint64_t *others; /* lines that take time to read */
	unsigned n;
};

static void launch(struct rig *rig, nvw_kernel kernel, const struct task *t, unsigned groups)
{
	rig_launch(rig, kernel, t, groups, 1);
}

static struct task task_of(struct rig *rig, unsigned n)
{
	struct task t = {.n = n};

	t.a = nvw_alloc(rig->machine, 64);
	t.others = nvw_alloc(rig->machine, 64 * (uint64_t)(n ? n : 1));
	return t;
}

/* Two CUs, one bank, leases of LEASE cycles; and a task. */
static struct task begin(struct rig *rig, unsigned n, const char *first, const char *second)
{
	rig_begin_set(rig, 0, "protocol=tcs", "gpu.cus=2", "l2.banks=1", "tcs.lease=5000cycles",
		"tcs.step=0cycles", first ? first : "gpu.cus=2", second);
	return task_of(rig, n);
}

static void read_others(const struct task *t)
{
	NVW_FOR(i, t->n) {
		(void)nvw_load(t->others + (size_t)LINE_WORDS * i);
	}
}

static const struct emu_stats *stats_of(const struct rig *rig)
{
	return emu_statistics(rig->machine);
}

/* ---- Loads ------------------------------------------------------------------------------------- */

KERNEL(read_twice, const struct task, t)
{
	(void)nvw_load(t->a);
	read_others(t);
	(void)nvw_load(t->a);
}

TEST(a_line_is_hit_until_its_lease_ends)
{
	for (unsigned n = 4; n <= 400; n += 396) {
		RIG(rig);
		const struct task t = begin(&rig, n, "l1.size=64KiB", NULL);

		launch(&rig, read_twice, &t, 1);
		assert_counted(&rig, l1_load_hits, n == 4 ? 1 : 0);
		assert_counted(&rig, tcs_expired, n == 4 ? 0 : 1);
	}
}

KERNEL(load_once, const struct task, t)
{
	(void)nvw_load(t->a);
}

TEST(data_are_found_again_by_the_next_kernel)
{
	RIG(rig);
	const struct task t = begin(&rig, 0, NULL, NULL);

	launch(&rig, load_once, &t, 1);
	launch(&rig, load_once, &t, 1);
	assert_counted(&rig, l1_load_hits, 1);
}

TEST(a_read_and_its_answer_carry_a_timestamp)
{
	RIG(rig);
	const struct task t = begin(&rig, 0, "network.flit=4B", NULL);

	launch(&rig, load_once, &t, 1);
	/* A header of 8 bytes, and 4 of the clock; the same with a line. */
	assert_counted(&rig, net_flits_read, (8 + 4) / 4 + (8 + 64 + 4) / 4);
}

/* ---- Stores ------------------------------------------------------------------------------------ */

/* The first work-item reads the line; the second stores to it some time later. */
KERNEL(one_reads_one_writes, const struct task, t)
{
	if (nvw_global_id() == 0) {
		(void)nvw_load(t->a);
	} else {
		read_others(t);
		nvw_store(t->a, 7);
	}
}

TEST(a_store_waits_until_the_lease_of_another_l1_has_ended)
{
	RIG(rig);
	const struct task t = begin(&rig, 8, NULL, NULL);

	launch(&rig, one_reads_one_writes, &t, 2);
	/* Once on its way to the L2, once there. */
	assert_counted(&rig, waits_lease, 2);
	assert_true(stats_of(&rig)->sim_time_ps > (uint64_t)LEASE * CYCLE);
	assert_visible(&rig, t.a, 7);
}

TEST(a_store_comes_to_the_l2_only_once)
{
	uint64_t atomics[2];

	NVW_FOR(i, 2) {
		RIG(rig);
		const struct task t = begin(&rig, 8, i ? "tcs.lease=0cycles" : NULL, NULL);

		launch(&rig, one_reads_one_writes, &t, 2);
		atomics[i] = stats_of(&rig)->net_flits_write;
	}
	assert_int_equal(atomics[0], atomics[1]);
}

KERNEL(read_then_write, const struct task, t)
{
	(void)nvw_load(t->a);
	nvw_store(t->a, 7);
	assert_int_equal(nvw_load(t->a), 7);
}

TEST(a_cu_does_not_wait_for_its_own_lease)
{
	RIG(rig);
	const struct task t = begin(&rig, 0, NULL, NULL);

	launch(&rig, read_then_write, &t, 1);
	assert_counted(&rig, waits_lease, 0);
	launch(&rig, read_then_write, &t, 1); /* what it stored keeps nobody from writing */
	assert_counted(&rig, waits_lease, 0);
}

/* The first work-item reads the line; the second reads it later, and stores. */
KERNEL(both_read_one_writes, const struct task, t)
{
	if (nvw_global_id() == 1) {
		read_others(t);
	}
	(void)nvw_load(t->a);
	if (nvw_global_id() == 1) {
		nvw_store(t->a, 7);
	}
}

TEST(a_lease_of_two_l1s_is_nobody_s_own)
{
	RIG(rig);
	const struct task t = begin(&rig, 8, NULL, NULL);

	launch(&rig, both_read_one_writes, &t, 2);
	assert_true(stats_of(&rig)->waits_lease >= 1);
	assert_true(stats_of(&rig)->sim_time_ps > (uint64_t)LEASE * CYCLE);
}

/* The first two work-items read until they see the store of the third, and not at the same times. */
KERNEL(two_poll_one_writes, const struct task, t)
{
	if (nvw_global_id() == 1) {
		read_others(t);
	}
	if (nvw_global_id() == 2) {
		read_others(t);
		nvw_store(t->a, 1);
		return;
	}
	for (unsigned i = 0; i < 10000 && !nvw_load(t->a); i++) {
	}
}

TEST(readers_that_go_on_reading_do_not_keep_a_store_waiting)
{
	RIG(rig);
	const struct task t = begin(&rig, 6, "gpu.cus=3", "tcs.lease=400cycles");

	launch(&rig, two_poll_one_writes, &t, 3);
	assert_true(stats_of(&rig)->waits_lease >= 1);
	assert_true(stats_of(&rig)->wait_lease_ps <= (uint64_t)2 * 400 * CYCLE);
	assert_visible(&rig, t.a, 1);
}

/* Each work-item adds to a counter that all of them poll. */
KERNEL(add_and_poll, const struct task, t)
{
	const uint64_t all = t->n;

	nvw_atomic_add(t->a, 1, NVW_ACQ_REL, NVW_SCOPE_AGENT);
	while (nvw_atomic_load(t->a, NVW_ACQUIRE, NVW_SCOPE_AGENT) < all) {
	}
}

TEST(all_stores_to_a_line_are_carried_out_however_many_wait)
{
	RIG(rig);
	const struct task t = begin(&rig, 8, "tcs.lease=300cycles", "tcs.step=8cycles");

	launch(&rig, add_and_poll, &t, t.n);
	assert_visible(&rig, t.a, 8);
}

/* ---- The prediction ---------------------------------------------------------------------------- */

static uint64_t predicted(const struct rig *rig)
{
	return rig->machine->leases->bank[0].prediction / CYCLE;
}

TEST(leases_grow_when_reads_come_too_late_and_shrink_when_stores_come_too_early)
{
	struct rig rig;
	struct task t = begin(&rig, 400, "tcs.step=10cycles", "l1.size=64KiB");

	launch(&rig, read_twice, &t, 1);
	assert_int_equal(predicted(&rig), LEASE + 10);
	rig_end(&rig);
	t = begin(&rig, 8, "tcs.step=10cycles", NULL);
	launch(&rig, one_reads_one_writes, &t, 2);
	assert_int_equal(predicted(&rig), LEASE - 10);
	rig_end(&rig);
}

/* The lease ended, and then the line was written: a longer one would have kept the store waiting. */
KERNEL(read_write_read, const struct task, t)
{
	if (nvw_global_id() == 0) {
		(void)nvw_load(t->a);
		read_others(t);
		(void)nvw_load(t->a);
	} else {
		NVW_FOR(i, 20) {
			(void)nvw_load(t->others + (size_t)LINE_WORDS * (200 + i));
		}
		nvw_store(t->a, 1);
	}
}

TEST(leases_do_not_grow_for_data_that_are_new)
{
	RIG(rig);
	const struct task t = begin(&rig, 220, "tcs.lease=100cycles", "tcs.step=10cycles");

	launch(&rig, read_write_read, &t, 2);
	assert_counted(&rig, tcs_expired, 0);
	assert_int_equal(predicted(&rig), 100);
}

TEST(predictions_have_bounds)
{
	struct rig rig;
	struct task t = begin(&rig, 400, "tcs.most=5000cycles", "tcs.step=1000cycles");

	rig.machine->leases->bank[0].prediction = rig.config.tcs.lease;
	launch(&rig, read_twice, &t, 1);
	assert_int_equal(predicted(&rig), LEASE);
	rig_end(&rig);
	t = begin(&rig, 8, "tcs.least=4999cycles", "tcs.step=1000cycles");
	launch(&rig, one_reads_one_writes, &t, 2);
	assert_int_equal(predicted(&rig), 4999);
	rig_end(&rig);
}

/* ---- Lines that the L2 has replaced -------------------------------------------------------------- */

TEST(the_l2_remembers_the_leases_of_lines_that_it_replaces)
{
	RIG(rig);
	const struct task t = begin(&rig, 8, "l2.size=512B", "l2.ways=1");

	launch(&rig, one_reads_one_writes, &t, 2);
	assert_true(stats_of(&rig)->tcs_mshr_most >= 1);
	assert_true(stats_of(&rig)->waits_lease >= 1);
	assert_true(stats_of(&rig)->sim_time_ps > (uint64_t)LEASE * CYCLE);
	assert_counted(&rig, tcs_full, 0);
}

static void read_all(const void *args)
{
	read_others(args);
}

TEST(a_line_without_an_mshr_waits_for_one)
{
	uint64_t time[2];

	NVW_FOR(i, 2) {
		RIG(rig);
		const struct task t = begin(&rig, 20, i ? "tcs.mshrs=2" : NULL, "l2.size=1KiB");

		launch(&rig, read_all, &t, 1);
		assert_int_equal(stats_of(&rig)->tcs_full > 0, i);
		time[i] = stats_of(&rig)->sim_time_ps;
	}
	assert_true(time[1] > time[0] + (uint64_t)LEASE * CYCLE / 2);
}

/* ---- The host, and what is durable --------------------------------------------------------------- */

TEST(memory_that_the_host_takes_back_is_forgotten)
{
	RIG(rig);
	struct task t;
	uint64_t mark;

	begin(&rig, 0, NULL, NULL);
	mark = nvw_mark(rig.machine);
	t = task_of(&rig, 0);
	launch(&rig, read_then_write, &t, 1);
	nvw_release(rig.machine, mark);
	t = task_of(&rig, 0);
	launch(&rig, load_once, &t, 2);
	assert_visible(&rig, t.a, 0);
}

KERNEL(write_and_persist, const struct task, t)
{
	if (nvw_global_id() == 0) {
		(void)nvw_load(t->a);
	} else {
		read_others(t);
		nvw_store(t->a, 7);
		nvw_p_barrier(NVW_WORKITEM);
		nvw_store(t->a + LINE_WORDS, 8);
	}
}

/* The store is in no FIFO while it waits for a lease. */
TEST(a_persist_barrier_covers_a_store_that_has_waited_for_a_lease)
{
	RIG(rig);
	struct task t = begin(&rig, 8, NULL, NULL);

	t.a = rig.nvram;
	launch(&rig, write_and_persist, &t, 2);
	assert_true(stats_of(&rig)->waits_lease >= 1);
	assert_durable(&rig, t.a, 7);
	assert_durable(&rig, t.a + LINE_WORDS, 0); /* nobody has asked for it */
}
