/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persist barriers: what is durable when, at every scope, domain and model; and the checker, which must find
 * the faults that are planted here.
 */
#include "common/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvw/host.h>

#include "persist/persist.h"
#include "record.h"

struct words {
	uint64_t *a;
	enum nvw_group group;
	unsigned rounds;
};

/* ---- Power cuts: what an epoch model promises, looked at from outside ---------------------- */

/* Round r stores r to the work-item's two lines, a barrier between them. */
static void ladder(const void *args)
{
	const struct words *const w = args;
	uint64_t *const mine = w->a + 16 * nvw_global_id();

	for (unsigned round = 1; round <= w->rounds; round++) {
		nvw_store(&mine[0], round);
		nvw_p_barrier(w->group);
		nvw_store(&mine[8], round);
		nvw_p_barrier(w->group);
		nvw_ack(nvw_global_id() * w->rounds + round - 1);
	}
}

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
	w.a = (uint64_t *)(void *)rig.nvram;
	emu_set_power_cut(rig.machine, &power);
	if (setjmp(cut.out) == 0) {
		rig_ok(nvw_launch(rig.machine, "ladder", ladder, &w, ITEMS, GROUP));
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
		for (uint64_t i = 0; i < 40; i++) {
			cut_at(i, 50000 + i * i * 3000, (enum nvw_group)group, settings);
		}
	}
}

static void no_power_cut_shows_a_store_without_those_before_its_barrier_device(void **state)
{
	cut_everywhere(NULL);
}

static void no_power_cut_shows_a_store_without_those_before_its_barrier_adr(void **state)
{
	static const char *const settings[] = {"nvram.domain=adr", NULL};

	cut_everywhere(settings);
}

static void no_power_cut_shows_a_store_without_those_before_its_barrier_eadr(void **state)
{
	static const char *const settings[] = {"nvram.domain=eadr", NULL};

	cut_everywhere(settings);
}

static void no_power_cut_shows_a_store_without_those_before_its_barrier_buffered(void **state)
{
	static const char *const settings[] = {"persist.model=buffered-epoch", NULL};

	cut_everywhere(settings);
}

static void no_power_cut_shows_a_store_without_those_before_its_barrier_strict(void **state)
{
	static const char *const settings[] = {"persist.model=strict", "nvram.write=50ns", NULL};

	cut_everywhere(settings);
}

static void no_power_cut_shows_a_store_without_those_before_its_barrier_tiny_caches(void **state)
{
	static const char *const settings[] = {"l1.size=512B", "l1.ways=2", "l2.size=2KiB", "l2.ways=2",
		"l1.nvw_fifo=1", "l2.nvw_fifo=2", "nvram.channels=3", NULL};

	cut_everywhere(settings);
}

/* ---- Steps of the barrier ------------------------------------------------------------------ */

static void store_and_wait(const void *args)
{
	const struct words *const w = args;

	nvw_store(&w->a[8 * nvw_global_id()], 1);
	nvw_p_barrier(w->group);
}

static uint64_t time_of(const char *const *settings, enum nvw_group group, uint64_t items)
{
	struct rig rig;
	struct words w = {.group = group};
	uint64_t time;

	rig_begin(&rig, 0, settings);
	w.a = (uint64_t *)(void *)rig.nvram;
	rig_ok(nvw_launch(rig.machine, "wait", store_and_wait, &w, items, (unsigned)items));
	time = nvw_time_ps(rig.machine);
	rig_end(&rig);
	return time;
}

static void a_barrier_waits_for_the_device_and_not_with_adr_or_eadr(void **state)
{
	static const char *const slow[] = {"nvram.write=10us", NULL},
				 *const adr[] = {"nvram.write=10us", "nvram.domain=adr", NULL},
				 *const eadr[] = {"nvram.write=10us", "nvram.domain=eadr", NULL};

	assert_true(time_of(slow, NVW_WORKITEM, 1) > 10000000);
	assert_true(time_of(adr, NVW_WORKITEM, 1) < 1000000);
	assert_true(time_of(eadr, NVW_WORKITEM, 1) < 1000000);
}

static void one_line_takes_exactly_the_latencies_on_its_way(void **state)
{
	/* Acquire at kernel begin 1, issue 0, store 1, FIFO entry through the L1's port 1, network 1 + 1,
	 * bank, device 250 ns, marker and acknowledgement by network ...: nothing is counted twice, nothing
	 * forgotten. */
	const uint64_t short_ps = time_of(NULL, NVW_WORKITEM, 1);
	static const char *const longer[] = {"nvram.write=350ns", NULL};

	assert_int_equal(time_of(longer, NVW_WORKITEM, 1) - short_ps, 100000);
	if (short_ps <= 250000 || short_ps >= 350000) {
		fail_msg("%llu ps", (unsigned long long)short_ps);
	}
}

/* A row of four CUs; the only bank of the L2, and the command processor, are at its left end. */
static const char *const row_of_four[] = {"network.topology=mesh", "network.columns=4",
	"network.banks=beside", "network.hop=1us", "l2.banks=1", "gpu.cus=4", NULL};

struct place {
	uint64_t *word;
	enum nvw_group group;
	uint64_t cu;
};

static void store_on_one_cu(const void *args)
{
	const struct place *const p = args;

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
	struct rig rig;
	struct place p = {.group = group, .cu = cu};
	uint64_t stall;

	rig_begin(&rig, 0, row_of_four);
	p.word = (uint64_t *)(void *)rig.nvram;
	rig_ok(nvw_launch(rig.machine, "place", store_on_one_cu, &p, 4, 1));
	stall = emu_statistics(rig.machine)->p_barrier_stall_ps;
	rig_end(&rig);
	return stall;
}

static void an_acknowledgement_goes_to_the_cu_that_issued_the_barrier(void **state)
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

static void a_kernels_acknowledgement_goes_by_every_l1_to_the_command_processor(void **state)
{
	/*
	 * The marker from the farthest L1, the acknowledgement to it, and from it to the command processor.
	 */
	const uint64_t stall = stall_on(0, NVW_KERNEL);

	if (stall < 9000000 || stall >= 10000000) {
		fail_msg("%llu ps", (unsigned long long)stall);
	}
}

/* ---- The checker finds planted faults ------------------------------------------------------ */

/* Work-item 0 of a small kernel as the test drives it: stores recorded by hand on lines of its own. */
struct hand {
	struct rig rig;
	struct emu_wavefront *wf;
	struct emu_line line[2];
	struct emu_group group;
};

static const struct nvw_site planted = {.file = "planted.c", .function = "planted", .line = 7};

static void hand_begin(struct hand *h)
{
	memset(h, 0, sizeof *h);
	rig_begin(&h->rig, 0, NULL);
	h->wf = calloc(1, sizeof *h->wf);
	h->wf->group = &h->group;
	h->wf->requests.site[0] = h->wf->requests.site[1] = &planted;
}

static void hand_end(struct hand *h)
{
	free(h->wf);
	rig_end(&h->rig);
}

static void hand_issue(struct hand *h, struct emu_line *line, uint64_t number)
{
	const struct emu_nvram_write write = {.line = h->rig.machine->device[EMU_NVRAM].first + 100,
		.number = number,
		.mask = 255,
		.stores = line->stores};

	record_issue(h->rig.machine, &write);
}

static void the_checker_finds_a_later_epoch_that_overtakes(void **state)
{
	for (unsigned scope = 0; scope < 3; scope++) {
		struct hand h;
		const unsigned lane = scope ? 1 : 0; /* another work-item, but for the first equation */

		hand_begin(&h);
		record_store(h.rig.machine, h.wf, 0, &h.line[0], 6400, 8, 1);
		h.wf->epoch_wi[lane]++;
		h.wf->epoch_wg[lane] += scope == 1;
		h.wf->epoch_kr[lane] += scope == 2;
		record_store(h.rig.machine, h.wf, lane, &h.line[1], 6464, 8, 2);
		hand_issue(&h, &h.line[1], 1);
		assert_int_equal(h.rig.machine->error, NVW_E_MODEL);
		assert_non_null(strstr(nvw_error_message(), "planted.c:7"));
		hand_end(&h);
	}
}

static void the_checker_finds_a_store_that_comes_after_a_later_epoch_went_out(void **state)
{
	struct hand h;

	hand_begin(&h);
	h.wf->epoch_wg[0] = 1;
	record_store(h.rig.machine, h.wf, 0, &h.line[0], 6400, 8, 1);
	hand_issue(&h, &h.line[0], 1);
	assert_int_equal(h.rig.machine->error, 0);
	record_store(h.rig.machine, h.wf, 1, &h.line[1], 6464, 8, 2);
	assert_int_equal(h.rig.machine->error, NVW_E_MODEL);
	hand_end(&h);
}

static void a_line_that_is_split_parts_with_the_records_of_what_leaves(void **state)
{
	struct emu_line leaving = {0};
	struct hand h;

	hand_begin(&h);
	record_store(h.rig.machine, h.wf, 0, &h.line[0], 6400, 8, 1);
	record_store(h.rig.machine, h.wf, 1, &h.line[0], 6408, 8, 2);
	const uint32_t first = h.line[0].stores, second = h.line[0].stores_tail;

	assert_int_not_equal(first, second);
	record_split(h.rig.machine, &leaving, &h.line[0], 0xff);
	assert_int_equal(leaving.stores, first);
	assert_int_equal(leaving.stores_tail, first);
	assert_int_equal(h.line[0].stores, second);
	assert_int_equal(h.line[0].stores_tail, second);
	hand_end(&h);
}

static void the_checker_accepts_what_the_equations_allow(void **state)
{
	struct hand h;

	/* Another work-item's work-item barriers order nothing of this one. */
	hand_begin(&h);
	record_store(h.rig.machine, h.wf, 0, &h.line[0], 6400, 8, 1);
	h.wf->epoch_wi[1] = 5;
	record_store(h.rig.machine, h.wf, 1, &h.line[1], 6464, 8, 2);
	hand_issue(&h, &h.line[1], 1);
	hand_issue(&h, &h.line[0], 2);
	assert_int_equal(h.rig.machine->error, 0);
	hand_end(&h);
}

/* A line's bytes go on to the next level with the records of their stores: behind what is there, too. */
static void the_checker_follows_stores_from_cache_to_cache(void **state)
{
	for (unsigned both = 0; both < 2; both++) {
		struct hand h;
		struct emu_line l2 = {0};

		/*
		 * A line goes from the L1 to the L2, where it stays; another one of a later epoch overtakes
		 * it.
		 */
		hand_begin(&h);
		if (both) {
			record_store(h.rig.machine, h.wf, 2, &l2, 6408, 8, 1);
		}
		record_store(h.rig.machine, h.wf, 0, &h.line[0], 6400, 8, 1);
		record_move(h.rig.machine, &l2, &h.line[0]);
		assert_int_equal(h.line[0].stores, 0);
		h.wf->epoch_wi[0]++;
		record_store(h.rig.machine, h.wf, 0, &h.line[1], 6464, 8, 2);
		hand_issue(&h, &h.line[1], 1);
		assert_int_equal(h.rig.machine->error, NVW_E_MODEL);
		hand_end(&h);

		/* The line that moved is itself the one that overtakes. */
		hand_begin(&h);
		l2 = (struct emu_line){0};
		if (both) {
			record_store(h.rig.machine, h.wf, 2, &l2, 6408, 8, 1);
		}
		record_store(h.rig.machine, h.wf, 0, &h.line[0], 6464, 8, 1);
		h.wf->epoch_wi[0]++;
		record_store(h.rig.machine, h.wf, 0, &h.line[1], 6400, 8, 2);
		record_move(h.rig.machine, &l2, &h.line[1]);
		hand_issue(&h, &l2, 1);
		assert_int_equal(h.rig.machine->error, NVW_E_MODEL);
		hand_end(&h);
	}
}

/* No store is forgotten on its way: what has left every cache has left the checker's books. */
static void every_recorded_store_becomes_durable_in_the_checkers_books(void **state)
{
	static const char *const protocols[] = {"protocol=vi", "protocol=dd", "protocol=hlrc"};

	for (unsigned i = 0; emu_model_info(i / 3); i++) {
		char model[64];
		const char *const settings[] = {model, protocols[i % 3], "l1.size=512B", "l1.ways=2", NULL};
		struct rig rig;
		struct words w = {.group = NVW_WORKGROUP, .rounds = 3};

		snprintf(model, sizeof model, "persist.model=%s", emu_model_info(i / 3)->name);
		rig_begin(&rig, 0, settings);
		w.a = (uint64_t *)(void *)rig.nvram;
		rig_ok(nvw_launch(rig.machine, "ladder", ladder, &w, 64, 32));
		assert_true(emu_statistics(rig.machine)->checked_stores >= 64 * 6);
		rig_ok(nvw_persist(rig.machine));
		assert_int_equal(record_outstanding(rig.machine), 0);
		rig_end(&rig);
	}
}

/* ---- Buffered epoch ------------------------------------------------------------------------ */

static void race_across(const void *args)
{
	const struct words *const w = args;

	/* Work-item 0 passes the kernel's barrier and stores; the last one stores to the same word before it.
	 */
	if (nvw_global_id() == 0) {
		nvw_p_barrier_kr();
		nvw_store(&w->a[0], 2);
	} else if (nvw_global_id() == 64) {
		for (unsigned i = 0; i < 64; i++) {
			(void)nvw_load(&w->a[8 * i + 8]);
		}
		nvw_store(&w->a[0], 1);
		nvw_p_barrier_kr();
	} else {
		nvw_p_barrier_kr();
	}
}

static void a_race_that_contradicts_the_barriers_is_reported_and_not_hung(void **state)
{
	static const char *const settings[] = {"persist.model=buffered-epoch", NULL};
	struct rig rig;
	struct words w;
	int r;

	rig_begin(&rig, 0, settings);
	w.a = (uint64_t *)(void *)rig.nvram;
	r = nvw_launch(rig.machine, "race", race_across, &w, 128, 64);
	assert_int_equal(r, NVW_E_KERNEL);
	assert_non_null(strstr(nvw_error_message(), "race across a persist barrier"));
	rig_end(&rig);
}

struct overtaking {
	uint64_t *lines;
	uint64_t *flag; /* DRAM */
};

/*
 * The first wavefront passes the barrier and fills the buffer, which must wait for the second one; that waits
 * for it.
 */
static void overtake(const void *args)
{
	const struct overtaking *const o = args;

	if (nvw_local_id() == 0) {
		nvw_p_barrier_wg();
		for (unsigned i = 0; i < 200; i++) {
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

static void a_full_buffer_waits_for_no_work_item_to_reach_its_barrier(void **state)
{
	static const char *const settings[] = {
		"persist.model=buffered-epoch", "persist.buffer=1", "l1.nvw_fifo=1", "l2.nvw_fifo=1", NULL};
	struct rig rig;
	struct overtaking o;

	rig_begin(&rig, 0, settings);
	o.lines = (uint64_t *)(void *)rig.nvram;
	o.flag = nvw_alloc(rig.machine, 64);
	rig_ok(nvw_launch(rig.machine, "overtake", overtake, &o, 128, 128));
	assert_int_equal(rig_durable(&rig, &o.lines[8 * 199]), 199);
	assert_true(emu_statistics(rig.machine)->buffer_stalls > 0);
	rig_end(&rig);
}

/* Each round's store must wait for the one before. */
static void store_in_rounds(const void *args)
{
	const struct words *const w = args;

	for (unsigned round = 0; round < w->rounds; round++) {
		nvw_store(&w->a[8 * (round * 64 + nvw_global_id())], round);
		nvw_p_barrier_wi();
	}
}

static struct emu_stats stats_with_buffer(const char *buffer)
{
	const char *const settings[] = {"persist.model=buffered-epoch", "nvram.write=10us", buffer, NULL};
	struct rig rig;
	struct words w = {.rounds = 20};
	struct emu_stats stats;

	rig_begin(&rig, 0, settings);
	w.a = (uint64_t *)(void *)rig.nvram;
	rig_ok(nvw_launch(rig.machine, "rounds", store_in_rounds, &w, 64, 64));
	assert_int_equal(rig_durable(&rig, &w.a[8 * (19 * 64 + 63)]), 19);
	stats = *emu_statistics(rig.machine);
	rig_end(&rig);
	return stats;
}

static void a_full_buffer_stalls_until_the_device_has_made_room(void **state)
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
static void store_overlapping(const void *args)
{
	const struct overlap *const o = args;

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

static void write_backs_that_overlap_in_part_keep_coherence_order(void **state)
{
	static const char *const settings[] = {"persist.model=buffered-epoch", NULL};

	for (unsigned i = 0; i < 8 * 8; i++) {
		const unsigned first = i % 8, count = 1 + i / 8;
		struct rig rig;
		struct overlap o = {.first = first, .count = count};

		if (first + count > 8) {
			continue;
		}
		rig_begin(&rig, 0, settings);
		o.x = (uint64_t *)(void *)rig.nvram;
		o.y = o.x + 8;
		o.flag = nvw_alloc(rig.machine, 64);
		rig_ok(nvw_launch(rig.machine, "overlap", store_overlapping, &o, 128, 64));
		assert_true(emu_statistics(rig.machine)->epoch_conflicts > 0);
		for (unsigned word = 0; word < 8; word++) {
			const bool second = word >= first && word < first + count;

			assert_int_equal(rig_durable(&rig, &o.x[word]), second                ? 20 + word :
									word >= 2 && word < 6 ? 10 + word :
												0);
		}
		rig_end(&rig);
	}
}

static void ordering_alone_is_faster_than_waiting(void **state)
{
	static const char *const buffered[] = {"persist.model=buffered-epoch", NULL};
	struct rig rig;
	uint64_t time[2];

	for (unsigned i = 0; i < 2; i++) {
		struct words w = {.group = NVW_WORKGROUP, .rounds = 4};

		rig_begin(&rig, 0, i ? buffered : NULL);
		w.a = (uint64_t *)(void *)rig.nvram;
		rig_ok(nvw_launch(rig.machine, "ladder", ladder, &w, 64, 32));
		time[i] = nvw_time_ps(rig.machine);
		rig_end(&rig);
	}
	assert_true(time[1] < time[0]);
}

/* ---- Persisting costs ---------------------------------------------------------------------- */

/*
 * Programs whose work does not depend on time: no work-item waits for another, none reads what another
 * writes.
 */

enum { ITEMS_OF_PROGRAM = 512 };

static void stream(const void *args)
{
	const struct words *const w = args;

	for (unsigned round = 0; round < w->rounds; round++) {
		nvw_store(&w->a[8 * (round * ITEMS_OF_PROGRAM + nvw_global_id())], round);
	}
}

static void stream_in_epochs(const void *args)
{
	const struct words *const w = args;

	for (unsigned round = 0; round < w->rounds; round++) {
		nvw_store(&w->a[8 * (round * ITEMS_OF_PROGRAM + nvw_global_id())], round);
		nvw_p_barrier(w->group);
	}
}

static void update_in_epochs(const void *args)
{
	const struct words *const w = args;
	uint64_t *const mine = w->a + 8 * nvw_global_id();

	for (unsigned round = 0; round < w->rounds; round++) {
		nvw_store(mine, nvw_load(mine) + 1);
		nvw_p_barrier(w->group);
	}
}

static void scatter_in_epochs(const void *args)
{
	const struct words *const w = args;
	uint64_t x = nvw_global_id();

	for (unsigned round = 0; round < w->rounds; round++) {
		x = (x * 2654435761u + round) % (64 * ITEMS_OF_PROGRAM);
		nvw_store(&w->a[x / ITEMS_OF_PROGRAM * 8 * ITEMS_OF_PROGRAM + 8 * nvw_global_id()], x);
		nvw_p_barrier(w->group);
	}
}

static void add_in_epochs(const void *args)
{
	const struct words *const w = args;

	for (unsigned round = 0; round < w->rounds; round++) {
		nvw_atomic_add(&w->a[8 * (round % 4 * ITEMS_OF_PROGRAM + nvw_global_id())], 1, NVW_RELAXED,
			NVW_SCOPE_AGENT);
		nvw_p_barrier(w->group);
	}
}

static const struct program {
	const char *name;
	nvw_kernel kernel;
} programs[] = {{"stream", stream}, {"stream in epochs", stream_in_epochs},
	{"update in epochs", update_in_epochs}, {"scatter in epochs", scatter_in_epochs},
	{"add in epochs", add_in_epochs}};

static uint64_t time_of_program(
	const struct program *program, enum nvw_group group, const char *const *settings, bool is_volatile)
{
	struct rig rig;
	struct words w = {.group = group, .rounds = 8};
	uint64_t time;

	rig_begin(&rig, 0, settings);
	if (is_volatile) {
		nvw_machine_set_volatile(rig.machine);
	}
	w.a = (uint64_t *)(void *)rig.nvram;
	rig_ok(nvw_launch(rig.machine, program->name, program->kernel, &w, ITEMS_OF_PROGRAM, 128));
	rig_ok(nvw_persist(rig.machine));
	time = nvw_time_ps(rig.machine);
	rig_end(&rig);
	return time;
}

/* NVRAM as gope18 has it, and NVRAM that is as fast as DRAM: what is left is what persisting itself costs. */
static const char *const latencies[][2] = {
	{"nvram.read=75ns", "nvram.write=250ns"}, {"nvram.read=25ns", "nvram.write=25ns"}};

static void compare_with_not_persisting(
	const struct program *program, enum nvw_group group, const char *const *latency)
{
	static const char *const domains[] = {"nvram.domain=device", "nvram.domain=adr", "nvram.domain=eadr"};
	/* What the controller has accepted is not waited for at the end: a short queue makes that little. */
	const char *settings[] = {latency[0], latency[1], "nvram.queue=1", NULL, NULL, NULL};
	const uint64_t off = time_of_program(program, group, settings, true);

	for (unsigned i = 0; emu_model_info(i / 3); i++) {
		char model[64];
		uint64_t on;

		snprintf(model, sizeof model, "persist.model=%s", emu_model_info(i / 3)->name);
		settings[3] = model;
		settings[4] = domains[i % 3];
		on = time_of_program(program, group, settings, false);
		if (on < off) {
			fail_msg("%s, scope %u, %s, %s, %s: %llu ps, and %llu without persisting",
				program->name, (unsigned)group, settings[1], settings[3], settings[4],
				(unsigned long long)on, (unsigned long long)off);
		}
	}
}

static void no_model_or_domain_is_faster_than_not_persisting(void **state)
{
	for (unsigned i = 0; i < sizeof programs / sizeof *programs; i++) {
		for (unsigned group = NVW_WORKITEM; group <= NVW_KERNEL; group++) {
			compare_with_not_persisting(&programs[i], (enum nvw_group)group, latencies[0]);
			compare_with_not_persisting(&programs[i], (enum nvw_group)group, latencies[1]);
		}
	}
}

static uint64_t store_latency(const char *model)
{
	const char *const settings[] = {model, "nvram.queue=1", "nvram.bandwidth=1GB/s", NULL};
	struct rig rig;
	struct words w = {.rounds = 8};
	uint64_t ps;

	rig_begin(&rig, 0, settings);
	w.a = (uint64_t *)(void *)rig.nvram;
	rig_ok(nvw_launch(rig.machine, "stream", stream, &w, ITEMS_OF_PROGRAM, 128));
	ps = emu_statistics(rig.machine)->store_ps;
	rig_end(&rig);
	return ps;
}

static void write_backs_wait_for_the_controller_under_every_model(void **state)
{
	assert_int_equal(store_latency("persist.model=buffered-epoch"), store_latency("persist.model=epoch"));
}

/* ---- Strict -------------------------------------------------------------------------------- */

/* The log's stores become durable one at a time, in the order in which they became visible. */
static void under_strict_persistency_each_store_is_durable_before_the_next_is_sent(void **state)
{
	static const char *const protocols[] = {"protocol=vi", "protocol=dd", "protocol=hlrc"};

	for (unsigned i = 0; i < 3; i++) {
		const char *const settings[] = {
			"persist.model=strict", "nvram.channels=3", protocols[i], NULL};
		static nvw_off stored[4096];
		struct rig rig;
		struct words w = {.rounds = 3};
		struct nvw_log_reader *reader;
		struct nvw_log_record r;
		unsigned stores = 0, issued = 0, done = 0;

		rig_begin_logged(&rig, 0, settings);
		w.a = (uint64_t *)(void *)rig.nvram;
		rig_ok(nvw_launch(rig.machine, "update", update_in_epochs, &w, 256, 64));
		rig_end(&rig);
		rig_ok(nvw_log_open(rig.log_path, &reader));
		while (nvw_log_next(reader, &r) == 1) {
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
		nvw_log_reader_close(reader);
		unlink(rig.log_path);
		assert_int_equal(stores, 256 * 3);
		assert_int_equal(done, stores);
	}
}

/* ---- Volatile ------------------------------------------------------------------------------ */

static void a_dram_only_machine_keeps_values_and_writes_no_nvram(void **state)
{
	struct rig rig;
	struct words w = {.group = NVW_KERNEL, .rounds = 2};

	rig_begin(&rig, 0, NULL);
	nvw_machine_set_volatile(rig.machine);
	w.a = (uint64_t *)(void *)rig.nvram;
	rig_ok(nvw_launch(rig.machine, "ladder", ladder, &w, 64, 32));
	assert_int_equal(rig_visible(&rig, &w.a[16 * 63 + 8]), 2);
	assert_int_equal(emu_statistics(rig.machine)->nvram_writes, 0);
	rig_end(&rig);
}

/* ---- Watched ------------------------------------------------------------------------------- */

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
static void store_and_meet(const void *args)
{
	const struct words *const w = args;

	for (unsigned i = 0; nvw_local_id() == 0 && i < 4; i++) {
		nvw_store(&w->a[8 * i], 1);
	}
	nvw_p_barrier_wg();
}

static void the_parts_of_a_watched_barrier_follow_each_other_to_its_end(void **state)
{
	static const char *const waits_for[] = {"the work-items to meet", "the L1's lines to reach the L2",
		"the writes in flight to NVRAM", "the acknowledgement"};
	struct sights s = {.count = 0};
	struct rig rig;
	struct words w = {.rounds = 0};
	uint64_t at;

	rig_begin(&rig, 0, NULL);
	w.a = (uint64_t *)(void *)rig.nvram;
	rig_ok(emu_watch(rig.machine, note_barriers, &s));
	rig_ok(nvw_launch(rig.machine, "meet", store_and_meet, &w, 128, 128));
	rig_end(&rig);
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

/* ---- Logged -------------------------------------------------------------------------------- */

/* Two work-groups of two wavefronts. */
static void meet_in_every_scope(const void *args)
{
	const struct words *const w = args;

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
static void a_log_has_every_barrier_when_all_have_arrived_and_when_it_is_over(void **state)
{
	static const char *const settings[][2] = {{NULL}, {"nvram.domain=eadr"}, {"persist.model=strict"}};
	static const uint32_t work_items[] = {64, 128, 256};

	for (unsigned i = 0; i < sizeof settings / sizeof *settings; i++) {
		struct nvw_log_record r, met[7];
		struct nvw_log_reader *reader;
		struct rig rig;
		struct words w = {.rounds = 0};
		unsigned begun[3] = {0}, ended = 0, count = 0;

		rig_begin_logged(&rig, 0, settings[i]);
		w.a = (uint64_t *)(void *)rig.nvram;
		rig_ok(nvw_launch(rig.machine, "meet", meet_in_every_scope, &w, 256, 128));
		rig_end(&rig);
		rig_ok(nvw_log_open(rig.log_path, &reader));
		while (nvw_log_next(reader, &r) == 1) {
			if (r.kind == NVW_LOG_BARRIER) {
				assert_in_range(r.barrier.scope, NVW_WORKITEM, NVW_KERNEL);
				assert_true(count < 7);
				begun[r.barrier.scope]++;
				assert_int_equal(r.barrier.work_items, work_items[r.barrier.scope]);
				assert_int_equal(r.barrier.epoch, 0);
				met[count++] = r;
			} else if (r.kind == NVW_LOG_PERSISTED) {
				bool found = false;

				for (unsigned k = 0; k < count; k++) {
					found = found || is_end_of(&r, &met[k]);
				}
				assert_true(found);
				ended++;
			}
		}
		nvw_log_reader_close(reader);
		unlink(rig.log_path);
		assert_int_equal(begun[NVW_WORKITEM], 4);
		assert_int_equal(begun[NVW_WORKGROUP], 2);
		assert_int_equal(begun[NVW_KERNEL], 1);
		assert_int_equal(ended, 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_power_cut_shows_a_store_without_those_before_its_barrier_device),
		cmocka_unit_test(no_power_cut_shows_a_store_without_those_before_its_barrier_adr),
		cmocka_unit_test(no_power_cut_shows_a_store_without_those_before_its_barrier_eadr),
		cmocka_unit_test(no_power_cut_shows_a_store_without_those_before_its_barrier_buffered),
		cmocka_unit_test(no_power_cut_shows_a_store_without_those_before_its_barrier_strict),
		cmocka_unit_test(no_power_cut_shows_a_store_without_those_before_its_barrier_tiny_caches),
		cmocka_unit_test(a_barrier_waits_for_the_device_and_not_with_adr_or_eadr),
		cmocka_unit_test(one_line_takes_exactly_the_latencies_on_its_way),
		cmocka_unit_test(an_acknowledgement_goes_to_the_cu_that_issued_the_barrier),
		cmocka_unit_test(a_kernels_acknowledgement_goes_by_every_l1_to_the_command_processor),
		cmocka_unit_test(the_checker_finds_a_later_epoch_that_overtakes),
		cmocka_unit_test(the_checker_finds_a_store_that_comes_after_a_later_epoch_went_out),
		cmocka_unit_test(a_line_that_is_split_parts_with_the_records_of_what_leaves),
		cmocka_unit_test(the_checker_accepts_what_the_equations_allow),
		cmocka_unit_test(the_checker_follows_stores_from_cache_to_cache),
		cmocka_unit_test(every_recorded_store_becomes_durable_in_the_checkers_books),
		cmocka_unit_test(a_race_that_contradicts_the_barriers_is_reported_and_not_hung),
		cmocka_unit_test(a_full_buffer_waits_for_no_work_item_to_reach_its_barrier),
		cmocka_unit_test(a_full_buffer_stalls_until_the_device_has_made_room),
		cmocka_unit_test(write_backs_that_overlap_in_part_keep_coherence_order),
		cmocka_unit_test(ordering_alone_is_faster_than_waiting),
		cmocka_unit_test(no_model_or_domain_is_faster_than_not_persisting),
		cmocka_unit_test(write_backs_wait_for_the_controller_under_every_model),
		cmocka_unit_test(under_strict_persistency_each_store_is_durable_before_the_next_is_sent),
		cmocka_unit_test(a_dram_only_machine_keeps_values_and_writes_no_nvram),
		cmocka_unit_test(the_parts_of_a_watched_barrier_follow_each_other_to_its_end),
		cmocka_unit_test(a_log_has_every_barrier_when_all_have_arrived_and_when_it_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
