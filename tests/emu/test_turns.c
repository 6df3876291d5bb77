/* SPDX-License-Identifier: BSD-3-Clause */
/* Spatiotemporal coherence: Table 1, the rules, the four ways to take turns, queues, and machine stc. */
#include "common/rig.h"

#include <string.h>

#include <nvw/host.h>

#include "machine.h"
#include "protocol/turns.h"

static const char *const variants[] = {"stc-nv", "stc-es", "stc-ab", "stc-mb"};
enum { VARIANTS = 4, PAGE = 4096 / 8 };

struct task {
	uint64_t *a;
	uint64_t *flag; /* of the host */
	const struct emu_stats *stats;
	unsigned n;
};

/* So many pages behind one that may have an epoch already. */
static uint64_t *pages_of(const struct rig *rig, unsigned n)
{
	return (uint64_t *)nvw_alloc(rig->machine, (uint64_t)(n + 1) * 4096) + PAGE;
}

static void launch(struct rig *rig, nvw_kernel kernel, const struct task *t, unsigned groups)
{
	rig_launch(rig, kernel, t, groups, 1);
}

/* ---- Table 1 ----------------------------------------------------------------------------------- */

/*
 * stc Table 1, typed from the paper: what becomes of a line in an L1. Empty: it does not happen, or nothing
 * changes.
 */
static const struct {
	const char *state, *store, *load, *load_u, *data, *data_e, *wa;
} table_1[] = {
	{"I", "I / PW++", "I_V", "I_I", "", "", "PW--"},
	{"V", "I / PW++", "hit", "I_I", "", "", "PW--"},
	{"I_V", "", "", "", "V / LD", "I / LD", "PW--"},
	{"I_I", "", "", "", "I / LD", "I / LD", "PW--"},
};

static unsigned row_of(const char *state)
{
	unsigned i = 0;

	while (strcmp(table_1[i].state, state)) {
		i++;
	}
	return i;
}

/*
 * The stable state in which the table leaves the line, from a stable one; transactions pass the transient
 * ones at once.
 */
static char settled(unsigned from, const char *entry)
{
	if (!strcmp(entry, "hit")) {
		return table_1[from].state[0];
	}
	return entry[1] == '_' ? table_1[row_of(entry)].data[0] : entry[0];
}

KERNEL(load_once, const struct task, t)
{
	(void)nvw_load(t->a);
}

KERNEL(store_once, const struct task, t)
{
	nvw_store(t->a, 7);
}

KERNEL(add_once, const struct task, t)
{
	(void)nvw_atomic_add(t->a, 1, NVW_RELAXED, NVW_SCOPE_AGENT);
}

/* The state of the line in the first L1, if the line were met now. */
static char state_of(const struct rig *rig, const uint64_t *address)
{
	struct emu_cu *const cu = &rig->machine->cus[0];
	const struct emu_line *const line = coh_l1_find(rig->machine, cu, &cu->l1, rig_line(rig, address));

	return line && line->state ? 'V' : 'I';
}

static unsigned band_of(const struct rig *rig, const uint64_t *address)
{
	return coh_band(rig->machine->turns, rig_line(rig, address));
}

/* Runs one instruction on a line of the first L1 that is in the state; in an epoch of its band, or not. */
static char after(const char *state, nvw_kernel instruction, bool in_epoch)
{
	RIG_UNDER(rig, "stc-es", "gpu.cus=1");
	const struct task t = {.a = nvw_alloc(rig.machine, 3 * 4096)}, other = {.a = t.a + PAGE};

	launch(&rig, store_once, in_epoch && state[0] == 'I' ? &t : &other, 1);
	if (state[0] == 'V') {
		launch(&rig, load_once, &t, 1);
	}
	assert_int_equal(state_of(&rig, t.a), state[0]);
	launch(&rig, instruction, &t, 1);
	assert_int_equal(rig.machine->turns->cu[0].pending, 0); /* each PW++ has its PW-- */
	return state_of(&rig, t.a);
}

TEST(a_line_goes_from_state_to_state_as_in_table_1)
{
	NVW_FOR(i, 2) {
		assert_int_equal(after(table_1[i].state, store_once, false), settled(i, table_1[i].store));
		assert_int_equal(after(table_1[i].state, add_once, false), settled(i, table_1[i].store));
		assert_int_equal(after(table_1[i].state, load_once, false), settled(i, table_1[i].load));
	}
	assert_int_equal(after("I", load_once, true), settled(0, table_1[0].load_u));
}

/* Load_U of a line that is in V: its epoch has come since. */
TEST(a_line_in_v_is_not_hit_in_an_epoch_of_its_band)
{
	RIG_UNDER(rig, "stc-es", "gpu.cus=1");
	const struct task t = {.a = nvw_alloc(rig.machine, 4096)}, beside = {.a = t.a + 64};

	rig.machine->turns->granted = UINT32_C(1) << ((band_of(&rig, t.a) + 1) % 16);
	launch(&rig, load_once, &t, 1);
	assert_int_equal(state_of(&rig, t.a), 'V');
	launch(&rig, store_once, &beside, 1);
	launch(&rig, load_once, &t, 1);
	assert_counted(&rig, stc_uncached, 1);
	assert_counted(&rig, l1_load_hits, 0);
	assert_int_equal(state_of(&rig, t.a), settled(1, table_1[1].load_u));
}

/* ---- What it is for ------------------------------------------------------------------------------ */

KERNEL(read_all, const struct task, t)
{
	NVW_FOR(i, t->n) {
		(void)nvw_load(t->a + (size_t)8 * i);
	}
}

TEST(data_are_found_again_by_the_next_kernel)
{
	for (unsigned v = 1; v < VARIANTS; v++) {
		RIG_UNDER(rig, variants[v], "l1.size=64KiB", "l1.ways=64");
		const struct task t = {.a = pages_of(&rig, 1), .n = 32};

		launch(&rig, read_all, &t, 1);
		launch(&rig, read_all, &t, 1);
		assert_counted(&rig, l1_load_misses, 32);
		assert_counted(&rig, l1_load_hits, 32);
	}
}

TEST(memory_that_the_host_takes_back_is_forgotten)
{
	NVW_EACH(variant, variants, VARIANTS) {
		RIG_UNDER(rig, *variant, "gpu.cus=2");
		const uint64_t mark = nvw_mark(rig.machine);
		struct task t = {.a = pages_of(&rig, 1), .n = 16};

		launch(&rig, store_once, &t, 1);
		launch(&rig, read_all, &t, 1);
		nvw_release(rig.machine, mark);
		t.a = pages_of(&rig, 1);
		launch(&rig, read_all, &t, 1);
		assert_visible(&rig, t.a, 0);
		assert_null(emu_cache_peek(&rig.machine->cus[1].l1, rig_line(&rig, t.a)));
	}
}

/* ---- Turns --------------------------------------------------------------------------------------- */

/* Work-item i stores to page i. */
KERNEL(store_to_own_page, const struct task, t)
{
	nvw_store(t->a + nvw_global_id() * PAGE, 1);
}

static struct emu_stats pages_stored(const char *protocol, const char *setting, unsigned pages)
{
	RIG_UNDER(rig, protocol, setting ? setting : "gpu.cus=2");
	const struct task t = {.a = pages_of(&rig, pages)};

	launch(&rig, store_to_own_page, &t, pages);
	NVW_FOR(i, pages) {
		assert_visible(&rig, t.a + (size_t)i * PAGE, 1);
	}
	return *emu_statistics(rig.machine);
}

TEST(epochs_that_nobody_wants_are_skipped)
{
	assert_int_equal(pages_stored("stc-es", NULL, 1).stc_changes, 1);
	assert_int_equal(pages_stored("stc-es", NULL, 6).stc_changes, 6);
	/* In each epoch the CUs demand what still waits: 6 bands, then 5 ... */
	assert_int_equal(pages_stored("stc-es", NULL, 6).stc_demands, 21);
	assert_true(pages_stored("stc-nv", NULL, 1).stc_demands == 0);
}

TEST(several_bands_have_their_epoch_at_once)
{
	assert_int_equal(pages_stored("stc-mb", NULL, 8).stc_changes, 2);
	assert_int_equal(pages_stored("stc-mb", "stc.at_once=8", 8).stc_changes, 1);
	assert_int_equal(pages_stored("stc-ab", NULL, 8).stc_changes, 8);
	assert_true(
		pages_stored("stc-mb", NULL, 8).sim_time_ps < pages_stored("stc-es", NULL, 8).sim_time_ps);
}

/*
 * Two work-items demand the first two pages in turn, each the one that the other has just left; the third one
 * wants page 9.
 */
KERNEL(store_by_turns, const struct task, t)
{
	const unsigned i = (unsigned)nvw_global_id();

	if (i == 2) {
		nvw_store(t->a + 9 * PAGE, 1);
		*t->flag = t->stats->stc_changes;
		return;
	}
	NVW_FOR(k, t->n) {
		nvw_store(t->a + (i + k) % 2 * PAGE, k);
	}
}

TEST(no_band_is_passed_over_while_others_are_written_again_and_again)
{
	for (unsigned v = 1; v < VARIANTS; v++) {
		RIG_UNDER(rig, variants[v], "gpu.cus=4", "stc.at_once=1");
		uint64_t changes;
		const struct task t = {pages_of(&rig, 11), &changes, emu_statistics(rig.machine), 100};

		launch(&rig, store_by_turns, &t, 3);
		assert_true(changes <= 4);
		assert_true(t.stats->stc_changes >= 20);
	}
}

TEST(naive_turns_go_round_whether_stores_wait_or_not)
{
	struct emu_stats last = pages_stored("stc-nv", "stc.wakeup=1000cycles", 15);

	/* One round of 16 epochs and no more than two of a thousand cycles each. */
	assert_in_range(last.stc_changes, 14, 32);
	assert_in_range(last.sim_time_ps, 14u * 1000000, 32u * 1000000);
}

/* Two kernels, each of which the host starts 100 us before it begins: a thousand epochs. */
TEST(naive_turns_go_on_between_kernels)
{
	RIG_UNDER(rig, "stc-nv", "gpu.launch=100us", "stc.wakeup=100cycles");
	const struct task t = {.a = nvw_alloc(rig.machine, 4096)};
	const struct emu_stats *const stats = emu_statistics(rig.machine);

	launch(&rig, store_once, &t, 1);
	launch(&rig, store_once, &t, 1);
	assert_in_range(stats->stc_idle, 950, 1050);
	assert_in_range(stats->stc_change_ps / (stats->stc_changes - stats->stc_idle), 1, 400000);
}

/* One store of the first work-item is on its way while the second one waits for another band. */
TEST(a_change_waits_for_the_acknowledgements_of_writes)
{
	const struct emu_stats near = pages_stored("stc-nv", "l2.latency=20cycles", 15),
			       far = pages_stored("stc-nv", "l2.latency=2000cycles", 15);

	/* Each of 15 epochs has a write, which takes 1980 cycles longer. */
	assert_true(far.stc_change_ps > near.stc_change_ps + 10u * 1980000);
}

TEST(a_store_does_not_leave_when_its_epoch_ends)
{
	RIG_UNDER(rig, "stc-es", "gpu.cus=1");
	const struct task t = {.a = nvw_alloc(rig.machine, 4096)};

	rig.machine->turns->granted = UINT32_C(1) << band_of(&rig, t.a);
	rig.machine->turns->cu[0].stops = 0; /* PrepareEpochChange has come */
	launch(&rig, store_once, &t, 1);
	assert_counted(&rig, waits_turn, 1);
	assert_counted(&rig, stc_changes, 1);
}

TEST(a_full_queue_holds_its_cu_up)
{
	const struct emu_stats full = pages_stored("stc-es", "stc.bsq=1", 8),
			       roomy = pages_stored("stc-es", NULL, 8);

	assert_true(full.waits_bsq > 0 && roomy.waits_bsq == 0);
	assert_int_equal(full.stc_bsq_most, 1);
	assert_true(roomy.stc_bsq_most > 1);
	assert_true(full.sim_time_ps >= roomy.sim_time_ps);
}

/* One work-item reads the first page of 16, one writes the first of the next 16: one band at SEB 12. */
KERNEL(read_and_write_apart, const struct task, t)
{
	NVW_FOR(i, t->n) {
		if (nvw_global_id() == 1) {
			nvw_store(t->a + (size_t)16 * PAGE + (size_t)8 * i, 1);
		} else {
			(void)nvw_load(t->a + (size_t)8 * (i % 16));
		}
	}
}

static struct emu_stats apart(const char *protocol)
{
	RIG_UNDER(rig, protocol, "gpu.cus=1", "store_buffer.entries=4");
	const struct task t = {.a = pages_of(&rig, 63), .n = 400};

	launch(&rig, read_and_write_apart, &t, 2);
	return *emu_statistics(rig.machine);
}

TEST(bands_move_until_what_is_read_and_what_is_written_are_apart)
{
	const struct emu_stats fixed = apart("stc-es"), moving = apart("stc-ab");

	assert_int_equal(fixed.stc_moves, 0);
	assert_true(moving.stc_moves >= 1 && moving.stc_conflicts >= 1);
	assert_true(moving.l1_load_hits >= fixed.l1_load_hits);
}

/* ---- The rules as invariants ----------------------------------------------------------------------- */

/* Work-item 0 stores to all pages, the others read them. */
KERNEL(store_and_read_pages, const struct task, t)
{
	NVW_FOR(i, t->n) {
		if (nvw_global_id() == 0) {
			nvw_store(t->a + (size_t)i * PAGE, 1);
		} else {
			(void)nvw_load(t->a + (size_t)i * PAGE + 8);
		}
	}
}

TEST(reads_never_wait_for_an_epoch)
{
	NVW_EACH(variant, variants, VARIANTS) {
		RIG_UNDER(rig, *variant, "gpu.cus=2");
		const struct task t = {.a = nvw_alloc(rig.machine, 20 * 4096), .n = 20};

		launch(&rig, store_and_read_pages, &t, 5);
		assert_in_range(emu_statistics(rig.machine)->waits_turn, 1, 20);
		assert_counted(&rig, waits_bsq, 0);
	}
}

/* Breaks a rule by hand in a machine that keeps all of them, and looks again. */
static void expect_broken(const char *rule, void (*breaks)(struct coh_turns *, emu_line_id))
{
	const char *broken;
	RIG_UNDER(rig, "stc-es", "gpu.cus=2");
	const struct task t = {.a = pages_of(&rig, 1)};

	launch(&rig, load_once, &t, 1);
	assert_null(coh_turns_broken(rig.machine, rig_line(&rig, t.a)));
	breaks(rig.machine->turns, rig_line(&rig, t.a));
	broken = coh_turns_broken(rig.machine, rig_line(&rig, t.a));
	if (!broken || !strstr(broken, rule)) {
		fail_msg("%s is broken, found: %s", rule, broken ? broken : "nothing");
	}
	rig.machine->turns->cu[1].blocked = rig.machine->turns->cu[1].outside = NULL;
}

static struct coh_wait waiting;

/*
 * One request of this kind waits in the list, demanded and with the EMU awake, so that only its being there
 * is wrong.
 */
static struct coh_wait *wait_of(struct coh_turns *turns, emu_line_id id, unsigned kind)
{
	waiting = (struct coh_wait){.request = {.kind = kind, .line = id}};
	turns->emu = TURNS_WAKING;
	turns->cu[1].demanded = UINT32_MAX;
	return &waiting;
}

static void write_band(struct coh_turns *turns, emu_line_id id)
{
	turns->granted = UINT32_C(1) << coh_band(turns, id);
}

static void write_out_of_turn(struct coh_turns *turns, emu_line_id id)
{
	turns->broken = "a band is written out of its epoch (rule ER2)";
}

static void leave_one_behind(struct coh_turns *turns, emu_line_id id)
{
	turns->changes++;
}

static void block_a_load(struct coh_turns *turns, emu_line_id id)
{
	turns->cu[1].blocked = wait_of(turns, id, NVW__LOAD);
}

static void block_an_atomic_load(struct coh_turns *turns, emu_line_id id)
{
	turns->cu[1].blocked = wait_of(turns, id, NVW__ATOMIC_LOAD);
}

static void keep_a_load_outside(struct coh_turns *turns, emu_line_id id)
{
	turns->cu[1].outside = wait_of(turns, id, NVW__LOAD);
}

static void grant_no_band(struct coh_turns *turns, emu_line_id id)
{
	turns->granted = UINT32_C(1) << turns->bands;
}

static void oversleep(struct coh_turns *turns, emu_line_id id)
{
	turns->cu[1].blocked = wait_of(turns, id, NVW__STORE);
	turns->emu = TURNS_ASLEEP;
}

static void forget_a_demand(struct coh_turns *turns, emu_line_id id)
{
	turns->cu[1].blocked = wait_of(turns, id, NVW__STORE);
	turns->cu[1].demanded = 0;
}

static void pass_a_band_over(struct coh_turns *turns, emu_line_id id)
{
	turns->erv[coh_band(turns, id)].passed = turns->bands;
}

TEST(each_rule_is_checked)
{
	expect_broken("ER1", write_band);
	expect_broken("ER2", write_out_of_turn);
	expect_broken("ER3", leave_one_behind);
	expect_broken("ER4", block_a_load);
	expect_broken("ER4", block_an_atomic_load);
	expect_broken("ER4", keep_a_load_outside);
	expect_broken("DAR1", grant_no_band);
	expect_broken("DAR2", oversleep);
	expect_broken("DAR3", forget_a_demand);
	expect_broken("DAR3", pass_a_band_over);
}

/* ---- Machine stc --------------------------------------------------------------------------------- */

static double load_cycles(struct nvw_machine *m, const struct task *t)
{
	nvw_begin_measurement(m);
	rig_ok(nvw_launch(m, "load", load_once, t, 1, 1));
	return (double)emu_statistics(m)->load_ps / 1000;
}

TEST(round_trips_of_machine_stc_are_those_of_its_table_3)
{
	struct nvw_machine *m;

	rig_ok(rig_alone("stc", NULL, &m));
	const struct task t = {.a = nvw_alloc(m, 2 * 4096)};

	m->turns->granted = UINT32_C(1) << 15 & ~(UINT32_C(1) << coh_band(m->turns, 0));
	assert_float_equal(load_cycles(m, &t), 260, 3);
	NVW_FOR(i, m->cus[0].l1.sets * m->cus[0].l1.ways) {
		emu_cache_assign(&m->cus[0].l1, &m->cus[0].l1.lines[i], EMU_NO_LINE);
	}
	assert_float_equal(load_cycles(m, &t), 160, 3);
	emu_destroy(m);
}
