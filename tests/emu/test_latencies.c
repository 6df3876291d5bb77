/* SPDX-License-Identifier: BSD-3-Clause */
/* What accesses, messages, launches and copies take. */
#include "common/rig.h"

#include "machine.h"

/* ---- Network ------------------------------------------------------------------------------ */

static emu_time time_to_the_corner(const char *topology)
{
	RIG_BEGUN(rig, 0, topology, "network.columns=4", "gpu.cus=12");
	return emu_network_send(rig.machine, 0, 15, 0, EMU_MESSAGE_READ, 0);
}

TEST(messages_take_hops_and_wait_for_each_others_flits)
{
	/* From (0, 0) to (3, 3): six hops on the mesh, two the other way round the torus. */
	assert_int_equal(time_to_the_corner("network.topology=mesh"), 6000 + 1000);
	assert_int_equal(time_to_the_corner("network.topology=torus"), 2000 + 1000);
	/* A header of 8 bytes and 64 of data are three flits of 32: head one hop, then the tail. */
	RIG_BEGUN(rig, 0, "network.flit=32B");
	assert_int_equal(emu_network_send(rig.machine, 0, 5, 64, EMU_MESSAGE_READ, 0), 1000 + 3000);
	assert_int_equal(emu_network_send(rig.machine, 0, 6, 64, EMU_MESSAGE_READ, 0), 3000 + 1000 + 3000);
	assert_int_equal(emu_network_send(rig.machine, 1, 5, 0, EMU_MESSAGE_READ, 0), 1000 + 3000 + 1000);
	assert_counted(&rig, net_flits, 7);
}

/* ---- sinclair15 Table 3 ---------------------------------------------------------------------------- */

struct distance {
	uint64_t *line;
	uint64_t reader, writer; /* work-groups, each on the CU of its number */
};

KERNEL(read_line, const struct distance, d)
{
	if (nvw_group_id() == d->reader) {
		(void)nvw_load(d->line);
	}
}

KERNEL(write_line, const struct distance, d)
{
	if (nvw_group_id() == d->writer) {
		nvw_store(d->line, 1);
	}
}

/*
 * Cycles of one load by CU reader of the line of a bank; first written, and under dd registered, by writer.
 */
static double load_cycles(struct nvw_machine *m, struct distance *d, bool written)
{
	const double cycle = 1e12 / 700e6;
	uint64_t before;

	rig_ok(nvw_launch(
		m, written ? "write_line" : "read_line", written ? write_line : read_line, d, 15, 1));
	before = emu_statistics(m)->load_ps;
	rig_ok(nvw_launch(m, "read_line", read_line, d, 15, 1));
	return (double)(emu_statistics(m)->load_ps - before) / cycle;
}

TEST(hits_on_sinclair15_are_as_near_and_as_far_as_its_table_says)
{
	double least[2] = {1e9, 1e9}, most[2] = {0, 0};
	struct nvw_machine *m;
	uint64_t *lines;

	rig_ok(rig_alone("sinclair15", SETTINGS("protocol=dd"), &m));
	lines = nvw_alloc(m, 16 * 64 * 15 * 15 * 2);
	NVW_FOR(n, 15 * 15 * 16) {
		const bool remote = n / 16 % 15 != n / 240;
		struct distance d = {.line = lines + (size_t)8 * n, .reader = n / 240, .writer = n / 16 % 15};
		const double cycles = load_cycles(m, &d, remote);

		least[remote] = cycles < least[remote] ? cycles : least[remote];
		most[remote] = cycles > most[remote] ? cycles : most[remote];
	}
	emu_destroy(m);
	assert_float_equal(least[0], 29, 1);
	assert_float_equal(most[0], 61, 1);
	/*
	 * The table's 83 are three times across the mesh; no way from reader to bank to writer and back has
	 * more than 12 hops, which makes 67; and reader and writer are a hop apart at least.
	 */
	assert_float_equal(least[1], 35 + 2 * 3.81 * 0.7, 1);
	assert_float_equal(most[1], 67, 1);
}

KERNEL(store_over_line, const struct distance, d)
{
	if (nvw_group_id() == d->writer) {
		nvw_store(d->line + nvw_local_id(), d->writer);
	}
}

TEST(a_line_that_is_stored_over_changes_hands_without_its_data)
{
	struct nvw_machine *m;
	struct distance d = {.writer = 1};
	uint64_t before;

	rig_ok(rig_alone("sinclair15", SETTINGS("protocol=dd"), &m));
	d.line = nvw_alloc(m, 64);
	rig_ok(nvw_launch(m, "store_over_line", store_over_line, &d, 15 * 8, 8));
	before = emu_statistics(m)->net_flits_register;
	d.writer = 2;
	rig_ok(nvw_launch(m, "store_over_line", store_over_line, &d, 15 * 8, 8));
	/* Request, revocation, its reply, acknowledgement: headers all of them. */
	assert_int_equal(emu_statistics(m)->net_flits_register - before, 4);
	emu_destroy(m);
}

static void nothing_at_all(const void *args)
{
}

TEST(launches_and_copies_take_the_time_that_the_machine_says)
{
	char bytes[4000] = {0};
	uint64_t begin, end;
	void *block;

	RIG_BEGUN(rig, 1, "gpu.launch=7us", "host.copy=300ns", "host.bandwidth=2GB/s");
	block = nvw_alloc(rig.machine, sizeof bytes);
	nvw_begin_measurement(rig.machine);
	begin = nvw_time_ps(rig.machine);
	rig_ok(nvw_write(rig.machine, block, bytes, sizeof bytes));
	rig_ok(nvw_read(rig.machine, bytes, block, sizeof bytes));
	assert_int_equal(nvw_time_ps(rig.machine) - begin, 2 * (300 + 2000) * 1000);
	begin = nvw_time_ps(rig.machine);
	rig_launch(&rig, nothing_at_all, NULL, 1, 1);
	assert_in_range(nvw_time_ps(rig.machine) - begin, 7000000, 7100000);
	nvw_end_measurement(rig.machine);
	end = nvw_time_ps(rig.machine);
	rig_ok(nvw_read(rig.machine, bytes, block, sizeof bytes));
	assert_int_equal(nvw_time_ps(rig.machine), end);
	assert_counted(&rig, host_copies, 2);
	assert_counted(&rig, host_launch_ps, 7000000);
}

/* ---- Instructions -------------------------------------------------------------------------------- */

struct counted {
	uint64_t *word;
	uint64_t work;
};

enum { LOADS = 8 };

KERNEL(load_and_work, const struct counted, c)
{
	NVW_FOR(i, LOADS) {
		(void)nvw_load(c->word);
		nvw_work(c->work);
	}
}

static uint64_t time_of(const char *instruction, const char *memory, uint64_t work)
{
	RIG_BEGUN(rig, 1, instruction, memory);
	struct counted c = {.work = work, .word = nvw_alloc(rig.machine, 64)};

	rig_launch(&rig, load_and_work, &c, 1, 1);
	return nvw_time_ps(rig.machine);
}

TEST(instructions_and_the_way_to_the_l1_take_their_time)
{
	const uint64_t none = time_of("gpu.instruction=0ns", "gpu.memory=0ns", 5);

	assert_int_equal(time_of("gpu.instruction=3ns", "gpu.memory=0ns", 0), none + LOADS * 3000);
	assert_int_equal(time_of("gpu.instruction=3ns", "gpu.memory=0ns", 5), none + LOADS * 6 * 3000);
	assert_int_equal(time_of("gpu.instruction=0ns", "gpu.memory=40ns", 5), none + LOADS * 40000);
}
