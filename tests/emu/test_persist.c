/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persist barriers: what is durable when, at every scope, domain and model; how long a barrier takes, and
 * what a watcher and a log see of it.
 */
#include "epochs.h"

#include <string.h>

#include "core/each.h"

/* ---- Power cuts: what an epoch model promises, looked at from outside ---------------------------- */

struct cut {
	jmp_buf out;
	uint64_t acked[512]; /* rounds, by work-item */
	unsigned rounds;
};

static void on_cut(void *context)
{
	longjmp(((struct cut *)context)->out, 1);
}

static void on_ack(void *context, uint64_t first, uint64_t count)
{
	struct cut *const cut = context;

	for (uint64_t op = first; op < first + count; op++) {
		const uint64_t round = op % cut->rounds + 1, item = op / cut->rounds;

		cut->acked[item] = round > cut->acked[item] ? round : cut->acked[item];
	}
}

/* Cuts the power at time and compares the medium with the promise: the second line never runs ahead of the
 * first, and what was acknowledged is there. Under scopes wider than the work-item, across the group. */
static void cut_at(uint64_t seed, uint64_t time_ps, enum nvw_group group, const char *const *settings)
{
	enum { ITEMS = 128, GROUP = 32 };
	static struct rig rig;
	static struct cut cut;
	struct words w = {.group = group, .rounds = 3};
	struct emu_power_cut power = {
		.time_ps = time_ps, .seed = seed, .die = on_cut, .acknowledged = on_ack, .context = &cut};

	rig_begin(&rig, seed, settings);
	memset(&cut, 0, sizeof cut);
	cut.rounds = w.rounds;
	w.a = rig.nvram;
	emu_set_power_cut(rig.machine, &power);
	if (setjmp(cut.out) == 0) {
		rig_launch(&rig, ladder, &w, ITEMS, GROUP);
	}
	for (unsigned item = 0; item < ITEMS; item++) {
		const uint64_t second = rig_durable(&rig, &w.a[16 * item + 8]);
		const unsigned from = group == NVW_WORKITEM  ? item :
				      group == NVW_WORKGROUP ? item / GROUP * GROUP :
							       0;
		const unsigned to = group == NVW_WORKITEM  ? item + 1 :
				    group == NVW_WORKGROUP ? from + GROUP :
							     ITEMS;

		assert_true(second >= cut.acked[item]);
		for (unsigned other = from; other < to; other++) {
			assert_true(rig_durable(&rig, &w.a[16 * other]) >= second);
		}
	}
	rig_end(&rig);
}

static void cut_everywhere(const char *const *settings)
{
	for (unsigned group = NVW_WORKITEM; group <= NVW_KERNEL; group++) {
		NVW_FOR(i, 40) {
			cut_at(i, 50000 + i * i * 3000, (enum nvw_group)group, settings);
		}
	}
}

TEST(no_power_cut_shows_a_store_without_those_before_its_barrier_device)
{
	cut_everywhere(NULL);
}

TEST(no_power_cut_shows_a_store_without_those_before_its_barrier_adr)
{
	cut_everywhere(SETTINGS("nvram.domain=adr"));
}

TEST(no_power_cut_shows_a_store_without_those_before_its_barrier_eadr)
{
	cut_everywhere(SETTINGS("nvram.domain=eadr"));
}

TEST(no_power_cut_shows_a_store_without_those_before_its_barrier_buffered)
{
	cut_everywhere(SETTINGS("persist.model=buffered-epoch"));
}

TEST(no_power_cut_shows_a_store_without_those_before_its_barrier_strict)
{
	cut_everywhere(SETTINGS("persist.model=strict", "nvram.write=50ns"));
}

TEST(no_power_cut_shows_a_store_without_those_before_its_barrier_tiny_caches)
{
	cut_everywhere(SETTINGS("l1.size=512B", "l1.ways=2", "l2.size=2KiB", "l2.ways=2", "l1.nvw_fifo=1",
		"l2.nvw_fifo=2", "nvram.channels=3"));
}

/* ---- Steps of the barrier ------------------------------------------------------------------------ */

KERNEL(store_and_wait, const struct words, w)
{
	nvw_store(&w->a[8 * nvw_global_id()], 1);
	nvw_p_barrier(w->group);
}

/* How long a work-item takes to persist a word. */
static uint64_t time_of(const char *setting, const char *another)
{
	RIG_BEGUN(rig, 0, setting, another);
	struct words w = {.group = NVW_WORKITEM, .a = rig.nvram};

	rig_launch(&rig, store_and_wait, &w, 1, 1);
	return nvw_time_ps(rig.machine);
}

TEST(a_barrier_waits_for_the_device_and_not_with_adr_or_eadr)
{
	assert_true(time_of("nvram.write=10us", NULL) > 10000000);
	assert_true(time_of("nvram.write=10us", "nvram.domain=adr") < 1000000);
	assert_true(time_of("nvram.write=10us", "nvram.domain=eadr") < 1000000);
}

TEST(one_line_takes_exactly_the_latencies_on_its_way)
{
	/* Acquire at kernel begin 1, issue 0, store 1, FIFO entry through the L1's port 1, network 1 + 1,
	 * bank, device 250 ns, marker and acknowledgement by network ...: nothing is counted twice, nothing
	 * forgotten. */
	const uint64_t short_ps = time_of(NULL, NULL);

	assert_int_equal(time_of("nvram.write=350ns", NULL) - short_ps, 100000);
	assert_in_range(short_ps, 250001, 349999);
}

/* A row of four CUs; the only bank of the L2, and the command processor, are at its left end. */
static const char *const row_of_four[] = {"network.topology=mesh", "network.columns=4",
	"network.banks=beside", "network.hop=1us", "l2.banks=1", "gpu.cus=4", NULL};

struct place {
	uint64_t *word;
	enum nvw_group group;
	uint64_t cu;
};

KERNEL(store_on_one_cu, const struct place, p)
{
	if (nvw_group_id() == p->cu) {
		nvw_store(p->word, 1);
		nvw_p_barrier(p->group);
	} else if (p->group == NVW_KERNEL) {
		nvw_p_barrier(NVW_KERNEL);
	}
}

/* How long work-items of a CU wait at a persist barrier after a store. */
static uint64_t stall_on(uint64_t cu, enum nvw_group group)
{
	RIG(rig);
	struct place p = {.group = group, .cu = cu};

	rig_begin(&rig, 0, row_of_four);
	p.word = rig.nvram;
	rig_launch(&rig, store_on_one_cu, &p, 4, 1);
	return emu_statistics(rig.machine)->p_barrier_stall_ps;
}

TEST(an_acknowledgement_goes_to_the_cu_that_issued_the_barrier)
{
	enum { HOP_PS = 1000000 };

	for (unsigned group = NVW_WORKITEM; group <= NVW_WORKGROUP; group++) {
		const uint64_t at_l2 = stall_on(0, (enum nvw_group)group);

		/* The line's write-back, the marker and the acknowledgement each travel the distance. */
		for (uint64_t cu = 1; cu < 4; cu++) {
			assert_int_equal(stall_on(cu, (enum nvw_group)group) - at_l2, 3 * cu * HOP_PS);
		}
	}
}

TEST(a_kernels_acknowledgement_goes_by_every_l1_to_the_command_processor)
{
	/*
	 * The marker from the farthest L1, the acknowledgement to it, and from it to the command processor.
	 */
	assert_in_range(stall_on(0, NVW_KERNEL), 9000000, 9999999);
}

/* ---- Strict -------------------------------------------------------------------------------------- */

/* The log's stores become durable one at a time, in the order in which they became visible. */
TEST(under_strict_persistency_each_store_is_durable_before_the_next_is_sent)
{
	static const char *const protocols[] = {"protocol=vi", "protocol=dd", "protocol=hlrc"};

	NVW_EACH(protocol, protocols, 3) {
		static nvw_off stored[4096];
		struct nvw_log_record r;
		unsigned stores = 0, issued = 0, done = 0;

		RIG_LOGGED(rig, 0, "persist.model=strict", "nvram.channels=3", *protocol);
		struct words w = {.rounds = 3, .a = rig.nvram};

		rig_launch(&rig, update_in_epochs, &w, 256, 64);
		while (rig_next_record(&rig, &r)) {
			if (r.kind == NVW_LOG_STORE) {
				stored[stores++] = r.store.off;
			} else if (r.kind == NVW_LOG_ISSUE) {
				assert_int_equal(issued, done);
				assert_true(issued < stores);
				assert_int_equal(r.issue.off + (unsigned)__builtin_ctzll(r.issue.mask),
					stored[issued++]);
			} else if (r.kind == NVW_LOG_DONE) {
				assert_int_equal(++done, issued);
			}
		}
		assert_int_equal(stores, 256 * 3);
		assert_int_equal(done, stores);
	}
}

/* ---- Volatile ------------------------------------------------------------------------------------ */

TEST(a_dram_only_machine_keeps_values_and_writes_no_nvram)
{
	struct words w = {.group = NVW_KERNEL, .rounds = 2};

	RIG_BEGUN(rig, 0);
	nvw_machine_set_volatile(rig.machine);
	w.a = rig.nvram;
	rig_launch(&rig, ladder, &w, 64, 32);
	assert_visible(&rig, &w.a[16 * 63 + 8], 2);
	assert_counted(&rig, nvram_writes, 0);
}

/* ---- Watched ------------------------------------------------------------------------------------- */

struct sights {
	struct emu_sight seen[16];
	unsigned count;
};

static void note_barriers(void *context, const struct emu_sight *sight)
{
	struct sights *const s = context;

	if ((sight->kind == EMU_SIGHT_BARRIER || sight->kind == EMU_SIGHT_PART) && s->count < 16) {
		s->seen[s->count++] = *sight;
	}
}

/* Two wavefronts, of which the first comes late. */
KERNEL(store_and_meet, const struct words, w)
{
	for (unsigned i = 0; nvw_local_id() == 0 && i < 4; i++) {
		nvw_store(&w->a[8 * i], 1);
	}
	nvw_p_barrier_wg();
}

TEST(the_parts_of_a_watched_barrier_follow_each_other_to_its_end)
{
	static const char *const waits_for[] = {"the work-items to meet", "the L1's lines to reach the L2",
		"the writes in flight to NVRAM", "the acknowledgement"};
	struct sights s = {.count = 0};
	uint64_t at;

	RIG_BEGUN(rig, 0);
	struct words w = {.a = rig.nvram};

	rig_ok(emu_watch(rig.machine, note_barriers, &s));
	rig_launch(&rig, store_and_meet, &w, 128, 128);
	assert_int_equal(s.count, 5);
	assert_int_equal(s.seen[0].kind, EMU_SIGHT_BARRIER);
	at = s.seen[0].from;
	for (unsigned i = 1; i < 5; i++) {
		assert_int_equal(s.seen[i].kind, EMU_SIGHT_PART);
		assert_string_equal(s.seen[i].what, waits_for[i - 1]);
		assert_ptr_equal(s.seen[i].site, s.seen[0].site);
		assert_int_equal(s.seen[i].unit, NVW_WORKGROUP);
		assert_int_equal(s.seen[i].from, at);
		assert_true(s.seen[i].to > at);
		at = s.seen[i].to;
	}
	assert_int_equal(at, s.seen[0].to);
}

/* ---- Logged -------------------------------------------------------------------------------------- */

/* Two work-groups of two wavefronts. */
KERNEL(meet_in_every_scope, const struct words, w)
{
	for (unsigned scope = NVW_WORKITEM; scope <= NVW_KERNEL; scope++) {
		nvw_store(&w->a[nvw_global_id()], scope);
		nvw_p_barrier((enum nvw_group)scope);
	}
}

static bool is_end_of(const struct nvw_log_record *end, const struct nvw_log_record *barrier)
{
	return end->barrier.scope == barrier->barrier.scope && end->barrier.group == barrier->barrier.group &&
	       end->barrier.work_item == barrier->barrier.work_item &&
	       end->barrier.work_items == barrier->barrier.work_items &&
	       end->barrier.epoch == barrier->barrier.epoch && end->barrier.lanes == barrier->barrier.lanes &&
	       end->time_ps >= barrier->time_ps;
}

/* The epoch that a barrier ends is the number of those before it that order the same stores. */
TEST(a_log_has_every_barrier_when_all_have_arrived_and_when_it_is_over)
{
	static const char *const settings[] = {NULL, "nvram.domain=eadr", "persist.model=strict"};
	static const uint32_t work_items[] = {64, 128, 256};

	for_each(setting, settings) {
		struct nvw_log_record r, met[7];
		unsigned begun[3] = {0}, ended = 0, count = 0;

		RIG_LOGGED(rig, 0, *setting);
		struct words w = {.a = rig.nvram};

		rig_launch(&rig, meet_in_every_scope, &w, 256, 128);
		while (rig_next_record(&rig, &r)) {
			if (r.kind == NVW_LOG_BARRIER) {
				assert_in_range(r.barrier.scope, NVW_WORKITEM, NVW_KERNEL);
				assert_true(count < 7);
				begun[r.barrier.scope]++;
				assert_int_equal(r.barrier.work_items, work_items[r.barrier.scope]);
				assert_int_equal(r.barrier.epoch, 0);
				met[count++] = r;
			} else if (r.kind == NVW_LOG_PERSISTED) {
				bool found = false;

				NVW_EACH(one, met, count) {
					found = found || is_end_of(&r, one);
				}
				assert_true(found);
				ended++;
			}
		}
		assert_int_equal(begun[NVW_WORKITEM], 4);
		assert_int_equal(begun[NVW_WORKGROUP], 2);
		assert_int_equal(begun[NVW_KERNEL], 1);
		assert_int_equal(ended, 7);
	}
}
