/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocols with a directory (rfo, mttop-wb; hechtman14 3.3 and 4.2): who may write a line, who has its
 * bytes, what moves.
 */
#include "common/rig.h"

#include <stdio.h>

#include <nvw/kernel.h>

#include "protocol/protocol.h"

enum { CUS = 4 };

/* Each with the L2's tags as its directory, and with a directory of its own. */
static const char *const protocols[] = {"rfo", "mttop-wb", "rfo", "mttop-wb", "directory"};
enum { KINDS = 4, KINDS_AND_SKELETON };

enum { LINE = 16 }; /* CU + n * LINE: of line n, not 0 */

struct step {
	unsigned cu;
	enum { READ, WRITE, ADD, PERSIST } what;
};

struct script {
	uint64_t *a;
	const struct step *steps;
	unsigned count;
	uint64_t last; /* read */
};

/* One work-group on each CU; a kernel-wide barrier between the steps. */
KERNEL_ON(play, struct script, s)
{
	NVW_FOR(i, s->count) {
		if (s->steps[i].cu % LINE == nvw_group_id()) {
			uint64_t *const a = &s->a[8 * (s->steps[i].cu / LINE)];

			switch (s->steps[i].what) {
			case READ:
				s->last = nvw_load(a);
				break;
			case WRITE:
				nvw_store(a, 100 + i);
				break;
			case ADD:
				nvw_atomic_add(a, 1, NVW_ACQ_REL, NVW_SCOPE_AGENT);
				break;
			case PERSIST:
				nvw_p_barrier(NVW_WORKITEM);
				break;
			}
		}
		nvw_barrier(NVW_KERNEL);
	}
}

static const struct emu_line *line_of(const struct rig *rig, const uint64_t *x, int cu)
{
	return emu_cache_peek(cu < 0 ? &rig->machine->l2.cache : &rig->machine->cus[cu].l1, rig_line(rig, x));
}

static const struct emu_line *entry_of(const struct rig *rig, const uint64_t *x)
{
	return coh_entry(rig->machine, rig_line(rig, x));
}

/* Returns the state in an L1, or in the directory: there cu is -1. */
static const char *state_at(const struct rig *rig, const uint64_t *x, int cu)
{
	const struct emu_line *const line = cu < 0 ? entry_of(rig, x) : line_of(rig, x, cu);
	const struct coh_protocol *const p = rig->machine->protocol;

	return !line ? "I" : cu < 0 ? p->l2_states[line->state] : p->l1_states[line->state];
}

static struct script begin(struct rig *rig, unsigned kind, const char *more, bool is_persistent)
{
	rig_begin_under_set(
		rig, protocols[kind], kind < 2 ? "directory.lines=0" : "directory.lines=64", more);
	return (struct script){.a = is_persistent ? rig->nvram : nvw_alloc(rig->machine, 512)};
}

static void run(struct rig *rig, struct script *s, const struct step *steps, unsigned count)
{
	s->steps = steps;
	s->count = count;
	rig_launch(rig, play, &s, CUS, 1);
}

#define RUN(rig, s, ...)                                \
	run(rig, s, (const struct step[]){__VA_ARGS__}, \
		sizeof((const struct step[]){__VA_ARGS__}) / sizeof(struct step))

/* The states of CU 0, CU 1 and the L2, as one text. */
static void expect_states(const struct rig *rig, const struct script *s, const char *expected)
{
	char states[32];

	snprintf(states, sizeof states, "%s %s %s", state_at(rig, s->a, 0), state_at(rig, s->a, 1),
		state_at(rig, s->a, -1));
	assert_string_equal(states, expected);
}

/* Read alone, read by two, written by the second, read by the first: typed from MOESI and MESI. */
TEST(a_line_has_one_writer_or_many_readers)
{
	static const char *const last[] = {"S O X", "S S V"};

	NVW_FOR(i, KINDS) {
		RIG(rig);
		struct script s = begin(&rig, i, NULL, false);

		RUN(&rig, &s, {0, READ});
		expect_states(&rig, &s, "E I X");
		RUN(&rig, &s, {0, WRITE});
		expect_states(&rig, &s, "M I X");
		RUN(&rig, &s, {1, WRITE});
		expect_states(&rig, &s, "I M X");
		assert_counted(&rig, l1_owned, 1);
		RUN(&rig, &s, {0, READ});
		assert_int_equal(s.last, 100);
		expect_states(&rig, &s, last[i % 2]);
		RUN(&rig, &s, {0, ADD});
		expect_states(&rig, &s, "M I X");
		assert_visible(&rig, s.a, 101);
		assert_counted(&rig, l1_upgraded, 1);
	}
}

/* rfo's owner keeps what it has stored when others read it; mttop-wb's writes it back. */
TEST(an_owner_that_is_read_keeps_its_bytes_only_where_there_is_a_state_for_it)
{
	NVW_FOR(i, KINDS) {
		RIG(rig);
		struct script s = begin(&rig, i, NULL, false);

		RUN(&rig, &s, {0, WRITE}, {1, READ}, {2, READ});
		assert_int_equal(s.last, 100);
		assert_int_equal(line_of(&rig, s.a, 0)->dirty != 0, i % 2 == 0);
		assert_int_equal(line_of(&rig, s.a, -1)->dirty != 0, i % 2 == 1);
		assert_counted(&rig, l1_flush_revoke, i % 2);
		assert_counted(&rig, l1_downgraded, i % 2 ? 1 : 2);
	}
}

TEST(dirty_lines_outlive_kernels_and_the_host_sees_them)
{
	NVW_FOR(i, KINDS) {
		RIG(rig);
		struct script s = begin(&rig, i, NULL, false);

		RUN(&rig, &s, {2, WRITE});
		assert_true(line_of(&rig, s.a, 2)->dirty != 0);
		assert_visible(&rig, s.a, 100);
		assert_counted(&rig, l2_writes, 0);
		rig_write(&rig, s.a, 5);
		RUN(&rig, &s, {1, READ});
		assert_int_equal(s.last, 5);
	}
}

/* As the processors do whose protocol it is: no read for sharing comes first. */
TEST(a_read_modify_write_asks_for_ownership_at_once)
{
	NVW_FOR(i, KINDS) {
		const struct emu_stats *stats;
		RIG(rig);
		struct script s = begin(&rig, i, NULL, false);

		RUN(&rig, &s, {0, ADD}, {1, ADD});
		assert_visible(&rig, s.a, 2);
		stats = emu_statistics(rig.machine);
		assert_int_equal(stats->l1_owned, 2);
		assert_int_equal(stats->l1_upgraded + stats->l1_downgraded, 0);
	}
}

/*
 * A barrier writes the line back wherever its dirty bytes are: here, in an owner that others read, or handed
 * down to the L2.
 */
TEST(a_persist_barrier_finds_what_its_cu_has_stored)
{
	static const struct step scripts[][3] = {
		{{0, WRITE}, {0, PERSIST}, {3, READ}},
		{{0, WRITE}, {1, READ}, {0, PERSIST}},
		{{0, WRITE}, {1, ADD}, {0, PERSIST}},
	};

	NVW_FOR(i, 3 * KINDS) {
		RIG(rig);
		struct script s = begin(&rig, i / 3, NULL, true);

		run(&rig, &s, scripts[i % 3], 3);
		assert_durable(&rig, s.a, 100);
	}
}

TEST(persistence_takes_no_ownership_away)
{
	NVW_FOR(i, KINDS) {
		RIG(rig);
		struct script s = begin(&rig, i, NULL, true);

		RUN(&rig, &s, {0, WRITE}, {0, PERSIST});
		expect_states(&rig, &s, "E I X");
		RUN(&rig, &s, {0, WRITE}, {0, PERSIST});
		assert_durable(&rig, s.a, 100);
		assert_counted(&rig, l1_owned, 1);
		assert_counted(&rig, l1_upgraded, 0);
	}
}

/* Stores to three lines, and an L2 of one set of two lines. */
KERNEL_ON(three_lines, const struct script, s)
{
	if (nvw_group_id() == 0) {
		NVW_FOR(i, 3) {
			nvw_store(&s->a[8 * i], 7 + i);
		}
	}
}

static struct emu_stats store_three_lines(
	struct rig *rig, struct script *s, const char *protocol, const char *directory)
{
	rig_begin_set(
		rig, 0, protocol, directory, "directory.ways=2", "l2.size=128B", "l2.ways=2", "l2.banks=1");
	*s = (struct script){.a = nvw_alloc(rig->machine, 192)};
	rig_launch(rig, three_lines, &s, CUS, 1);
	NVW_FOR(n, 3) {
		assert_visible(rig, &s->a[8 * n], 7 + n);
	}
	assert_string_equal(state_at(rig, &s->a[16], 0), "M");
	return *emu_statistics(rig->machine);
}

/*
 * The third line takes the first from its owner: out of the L2's tags, or out of a directory of its own of
 * two entries.
 */
TEST(the_directory_recalls_a_line_for_room)
{
	NVW_FOR(i, KINDS) {
		struct emu_stats stats;
		struct script s;
		RIG(rig);

		stats = store_three_lines(&rig, &s, i % 2 ? "protocol=mttop-wb" : "protocol=rfo",
			i < 2 ? "directory.lines=0" : "directory.lines=2");
		assert_null(line_of(&rig, s.a, 0));
		assert_null(line_of(&rig, s.a, -1));
		assert_null(entry_of(&rig, s.a));
		assert_int_equal(stats.l1_recalls, 1);
		assert_int_equal(stats.directory_evictions, i / 2);
	}
}

/* hechtman14 4.2: the directory includes L1s and L2, not the L2 the L1s. */
TEST(an_l2_beside_a_directory_replaces_a_line_for_itself)
{
	NVW_FOR(i, 2) {
		struct emu_stats stats;
		struct script s;
		RIG(rig);

		stats = store_three_lines(
			&rig, &s, i ? "protocol=mttop-wb" : "protocol=rfo", "directory.lines=64");
		assert_null(line_of(&rig, s.a, -1));
		assert_string_equal(state_at(&rig, s.a, 0), "M");
		assert_int_equal(stats.l1_recalls, 0);
		assert_int_equal(stats.directory_requests, 3);
	}
}

/*
 * CU 0 and then CU 1 read line 0, other lines push it out of the L2; then CU 2 wants it, and CU 3 to write
 * it.
 */
TEST(what_the_l2_does_not_have_comes_from_an_l1_that_has_it)
{
	NVW_FOR(i, 2) {
		const struct emu_stats *stats;
		struct script s;

		RIG_BEGUN(rig, 0, i ? "protocol=mttop-wb" : "protocol=rfo", "directory.lines=64",
			"l2.size=128B", "l2.ways=2", "l2.banks=1");
		s = (struct script){.a = nvw_alloc(rig.machine, 512)};
		RUN(&rig, &s, {0, WRITE}, {1, READ}, {LINE, READ}, {2 * LINE, READ}, {3 * LINE, READ});
		assert_null(line_of(&rig, s.a, -1));
		stats = emu_statistics(rig.machine);
		assert_int_equal(stats->l2_load_misses, 4);
		RUN(&rig, &s, {2, READ});
		assert_int_equal(s.last, 100);
		assert_int_equal(stats->l2_load_misses, 4);
		RUN(&rig, &s, {3, ADD});
		assert_visible(&rig, s.a, 101);
		assert_int_equal(stats->l2_load_misses, 4);
	}
}

/*
 * The messages of a store by CU 1 to a line that CU 0 and CU 2 have read. In between CU 0, whose L1 has one
 * line, may read another one.
 */
static uint64_t messages_of_a_store(unsigned kind, bool is_replaced)
{
	struct script s;
	uint64_t before;

	RIG_UNDER(rig, protocols[kind],
		kind < 2 || kind == KINDS ? "directory.lines=0" : "directory.lines=64", "l1.size=64B",
		"l1.ways=1");
	s = (struct script){.a = nvw_alloc(rig.machine, 512)};
	RUN(&rig, &s, {0, READ}, {2, READ}, {is_replaced ? LINE : 0, READ});
	assert_int_equal(line_of(&rig, s.a, 0) == NULL, is_replaced);
	assert_int_equal(entry_of(&rig, s.a)->sharers[0], is_replaced ? 4 : 5);
	before = emu_statistics(rig.machine)->net_messages;
	RUN(&rig, &s, {1, WRITE});
	before = emu_statistics(rig.machine)->net_messages - before;
	return before;
}

TEST(an_l1_that_has_replaced_the_line_is_not_asked)
{
	NVW_FOR(i, KINDS_AND_SKELETON) {
		assert_int_equal(messages_of_a_store(i, false) - messages_of_a_store(i, true), 2);
	}
}

static uint64_t time_of_a_store(const char *latency)
{
	RIG(rig);
	struct script s = begin(&rig, 2, latency, false);

	RUN(&rig, &s, {0, WRITE});
	return emu_statistics(rig.machine)->sim_time_ps;
}

TEST(a_directory_s_look_up_takes_its_latency)
{
	assert_int_equal(time_of_a_store("directory.latency=104ns"),
		time_of_a_store("directory.latency=4ns") + 100000);
}

KERNEL_ON(read_a_line_each, const struct script, s)
{
	(void)nvw_load(&s->a[8 * nvw_group_id()]);
}

static uint64_t time_with_mshrs(const char *mshrs)
{
	RIG(rig);
	struct script s = begin(&rig, 2, mshrs, false);

	rig_launch_on(&rig, read_a_line_each, &s, CUS, 1);
	return emu_statistics(rig.machine)->sim_time_ps;
}

/*
 * Table 4.1: 1024 of them. With one, the second request begins when the first is answered, and so on: four
 * reads of memory.
 */
TEST(a_request_waits_for_an_mshr)
{
	const uint64_t many = time_with_mshrs("directory.mshrs=1024");

	assert_int_equal(time_with_mshrs("directory.mshrs=4"), many);
	assert_true(time_with_mshrs("directory.mshrs=1") > many + 3 * UINT64_C(25000));
}

/* hechtman14 figure 4.3. */
TEST(hits_in_what_the_l1_has_written_are_counted)
{
	NVW_FOR(i, KINDS) {
		const struct emu_stats *stats;
		RIG(rig);
		struct script s = begin(&rig, i, NULL, false);

		RUN(&rig, &s, {0, READ}, {0, READ}, {0, WRITE}, {0, READ}, {0, ADD}, {1, READ}, {1, READ});
		stats = emu_statistics(rig.machine);
		assert_int_equal(stats->l1_load_hits, 4);
		assert_int_equal(stats->l1_modified_hits, 2);
	}
}

/* Table 4.1: S-FIFOs are QuickRelease's. */
TEST(an_l3_keeps_what_owners_have_stored)
{
	const struct emu_stats *stats;
	struct script s;

	RIG_UNDER(rig, "rfo", "directory.lines=64", "l1.size=128B", "l1.ways=2", "l2.size=128B", "l2.ways=2",
		"l2.banks=1", "l3.size=4KiB", "l3.sfifo=1");
	s = (struct script){.a = nvw_alloc(rig.machine, 512)};
	RUN(&rig, &s, {0, WRITE}, {LINE, WRITE}, {2 * LINE, WRITE}, {3 * LINE, WRITE}, {4 * LINE, WRITE},
		{5 * LINE, WRITE}, {6 * LINE, WRITE});
	stats = emu_statistics(rig.machine);
	assert_true(stats->l3_writes > 2);
	assert_int_equal(stats->l3_writeback_sfifo, 0);
	assert_visible(&rig, s.a, 100);
}

/* LdAcq and StRel are performed in the L1 (hechtman14 4.5.1): a line that is there needs no message. */
KERNEL_ON(acquire_and_release_here, const struct script, s)
{
	if (nvw_group_id() == 0) {
		NVW_FOR(i, 5) {
			nvw_atomic_store(s->a, i, NVW_RELEASE, NVW_SCOPE_SYSTEM);
			(void)nvw_atomic_load(s->a, NVW_ACQUIRE, NVW_SCOPE_SYSTEM);
		}
	}
}

TEST(synchronization_stays_in_the_l1)
{
	NVW_FOR(i, KINDS) {
		const struct emu_stats *stats;
		RIG(rig);
		struct script s = begin(&rig, i, NULL, false);

		rig_launch_on(&rig, acquire_and_release_here, &s, CUS, 1);
		stats = emu_statistics(rig.machine);
		assert_int_equal(stats->l1_owned, 1);
		assert_int_equal(stats->sync_l1, 10);
		assert_int_equal(stats->invalidations_acquire + stats->flushes_release, 0);
		assert_int_equal(stats->l1_load_misses, 0);
	}
}

/* ---- Consistency models -------------------------------------------------------------------- */

/* Loads of lines of their own, issued together; then stores to others. */
KERNEL_ON(load_then_store, const struct script, s)
{
	struct nvw_issued values[4];
	uint64_t sum = 0;

	NVW_FOR(i, 4) {
		values[i] = nvw_load_issue(&s->a[8 * i]);
	}
	NVW_EACH(value, values, 4) {
		sum += nvw_load_use(*value, uint64_t);
	}
	NVW_FOR(i, 4) {
		nvw_store(&s->a[8 * (4 + i)], sum + i);
	}
}

static struct emu_stats run_under(const char *consistency)
{
	char setting[48];
	RIG(rig);

	snprintf(setting, sizeof setting, "gpu.consistency=%s", consistency);
	struct script s = begin(&rig, 1, setting, false);

	s.a = nvw_alloc(rig.machine, 8 * 64);
	rig_launch_on(&rig, load_then_store, &s, 1, 1);
	NVW_FOR(i, 4) {
		assert_visible(&rig, &s.a[8 * (4 + i)], i);
	}
	return *emu_statistics(rig.machine);
}

TEST(loads_go_on_under_rmo_only_and_stores_wait_for_ownership_under_sc_simple_only)
{
	const struct emu_stats simple = run_under("sc-simple"), buffered = run_under("sc-wb"),
			       tso = run_under("tso"), rmo = run_under("rmo");

	assert_int_equal(simple.buffered_stores, 0);
	assert_int_equal(buffered.buffered_stores, 4);
	assert_int_equal(simple.use_ps + buffered.use_ps + tso.use_ps, 0);
	assert_true(rmo.use_ps > 0);
	assert_true(rmo.sim_time_ps < tso.sim_time_ps);
	assert_true(tso.sim_time_ps <= buffered.sim_time_ps);
}
