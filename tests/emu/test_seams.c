/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What protocols may decide for themselves: the skeletons of docs/protocols.md decide it differently from the
 * shipped ones.
 */
#include "words.h"

#include <stdio.h>
#include <string.h>

#include <nvw/kernel.h>

#include "memory/device_memory.h"
#include "protocol/protocol.h"

KERNEL(store_on_cu_0, const struct words, w)
{
	if (nvw_group_id() == 0) {
		nvw_store(w->a, 9);
	}
}

/* ---- The classifier ------------------------------------------------------------------------ */

KERNEL(store_then_load_at_the_l2, const struct words, w)
{
	nvw_atomic_store(w->a, 5, NVW_RELAXED, NVW_SCOPE_AGENT);
	(void)nvw_atomic_load(w->a, NVW_RELAXED, NVW_SCOPE_AGENT);
}

static struct emu_stats loaded_under(const char *protocol)
{
	RIG_UNDER(rig, protocol);
	const struct words w = words_of(&rig, 64, 0);

	rig_launch(&rig, store_then_load_at_the_l2, &w, 1, 1);
	assert_visible(&rig, w.a, 5);
	return *emu_statistics(rig.machine);
}

/* gd hits the bytes that were stored. The skeleton wants the whole line. */
TEST(the_classifier_decides_whether_a_read_hits)
{
	const struct emu_stats gd = loaded_under("gd"), skeleton = loaded_under("skeleton");

	assert_int_equal(gd.l2_load_hits, 1);
	assert_int_equal(gd.l2_load_misses, 0);
	assert_int_equal(skeleton.l2_load_hits, 0);
	assert_int_equal(skeleton.l2_load_misses, 1);
}

/* ---- Actions that answer "not yet" --------------------------------------------------------- */

struct release {
	struct nvw_machine *m;
	uint64_t *data, *flag;
	uint64_t scope;
	uint64_t in_memory; /* what memory has of the data when the release has returned */
};

KERNEL_ON(store_and_release, struct release, r)
{
	nvw_store(r->data, 5);
	nvw_atomic_store(r->flag, 1, NVW_RELEASE, (enum nvw_scope)r->scope);
	r->in_memory = rig_in_memory(r->m, r->data);
}

static struct emu_stats released(enum nvw_scope scope, const char *without, struct release *r)
{
	RIG_UNDER(rig, "skeleton");
	const struct words w = words_of(&rig, 64, 0);

	if (without) {
		rig_ok(emu_plant_fault(rig.machine, without));
	}
	*r = (struct release){rig.machine, w.a, nvw_alloc(rig.machine, 64), scope, 0};
	rig_launch(&rig, store_and_release, &r, 1, 1);
	return *emu_statistics(rig.machine);
}

TEST(a_release_waits_until_its_marker_has_gone_through_the_s_fifos)
{
	struct release r;
	struct emu_stats stats = released(NVW_SCOPE_SYSTEM, NULL, &r);

	assert_int_equal(r.in_memory, 5);
	assert_int_equal(stats.waits_marker, 1);
	assert_true(stats.wait_marker_ps > 0);
	assert_true(stats.release_ps >= stats.wait_marker_ps);
	assert_true(stats.atomic_ps > stats.wait_marker_ps);
	assert_int_equal(stats.l2_writeback_release, 1);
	stats = released(NVW_SCOPE_AGENT, NULL, &r);
	assert_int_equal(r.in_memory, 0);
	assert_int_equal(stats.waits_marker, 0);
	released(NVW_SCOPE_SYSTEM, "marker through the S-FIFOs", &r);
	assert_int_equal(r.in_memory, 0);
	released(NVW_SCOPE_SYSTEM, "append to the S-FIFO", &r);
	assert_int_equal(r.in_memory, 0);
}

/* Work-items of two work-groups count their releases; each comes once, whatever waits meanwhile. */
KERNEL(release_often, const struct words, w)
{
	NVW_FOR(i, 5) {
		nvw_store(&w->a[8 * (2 + nvw_global_id())], i);
		nvw_atomic_add(
			&w->a[8 * (i % 2)], 1, NVW_ACQ_REL, i < 4 ? NVW_SCOPE_SYSTEM : NVW_SCOPE_AGENT);
	}
}

TEST(an_instruction_that_was_put_off_is_carried_out_once)
{
	RIG_UNDER(rig, "skeleton");
	const struct words w = words_of(&rig, 64 * (2 + 128), 0);

	rig_launch(&rig, release_often, &w, 128, 64);
	assert_visible(&rig, &w.a[0], 3 * 128);
	assert_visible(&rig, &w.a[8], 2 * 128);
	assert_counted(&rig, waits_marker, 4 * 2);
}

/*
 * DeNovoSync0's queue (sinclair15 3) puts off, too: several CUs add to what one of them has just asked for.
 */
KERNEL(add, const struct words, w)
{
	nvw_atomic_add(w->a, 1, NVW_ACQ_REL, NVW_SCOPE_AGENT);
}

TEST(requests_that_wait_for_another_l1_say_so)
{
	RIG_UNDER(rig, "dd");
	const struct words w = words_of(&rig, 64, 0);

	rig_launch(&rig, add, &w, 4 * 64, 64);
	assert_visible(&rig, w.a, 4 * 64);
	assert_true(emu_statistics(rig.machine)->waits_owner > 0);
	assert_true(emu_statistics(rig.machine)->wait_owner_ps > 0);
	assert_counted(&rig, waits_marker, 0);
}

TEST(waiting_is_counted_by_place_and_cause)
{
	RIG_UNDER(rig, "skeleton");
	const struct words w = words_of(&rig, 64 * (2 + 128), 0);
	const struct emu_waited *rows;
	const struct emu_stats *const stats = emu_statistics(rig.machine);
	unsigned count;

	rig_launch(&rig, release_often, &w, 128, 64);
	rows = emu_waited(rig.machine, &count);
	assert_int_equal(count, 1);
	assert_int_equal(rows[0].cause, EMU_CAUSE_marker);
	assert_string_equal(emu_cause_name(rows[0].cause), "marker");
	assert_string_equal(rows[0].site->function, "release_often_of");
	assert_int_equal(rows[0].times, stats->waits_marker);
	assert_int_equal(rows[0].ps, stats->wait_marker_ps);
	nvw_begin_measurement(rig.machine);
	emu_waited(rig.machine, &count);
	assert_int_equal(count, 0);
}

/* An action that forgets to say who wakes its request. */
static emu_time put_off_for_ever(const struct coh_request *r, emu_time t)
{
	return coh_put_off(r, EMU_CAUSE_marker, t) ? COH_NOT_YET : t;
}

TEST(what_nobody_wakes_is_named_with_line_action_and_waker)
{
	static const struct coh_action_info action = {put_off_for_ever, "wait for nobody", COH_PART_ACCESS};
	static const struct coh_row row = {.steps = {&action}};
	RIG_UNDER(rig, "skeleton");
	const struct words w = words_of(&rig, 64, 0);
	const emu_line_id id = rig_line(&rig, w.a);
	char line[64];

	NVW_FOR(scope, COH_SCOPES) {
		rig.machine->rows[COH_STORE][COH_RELAXED][scope][COH_PLACE_L2] = &row;
	}
	assert_int_equal(nvw_launch(rig.machine, "store", store_on_cu_0, &w, 2, 1), NVW_E_DEADLOCK);
	snprintf(line, sizeof line, "of line %#x (dram offset %#llx) was put off at", id,
		(unsigned long long)emu_line_off(rig.machine, id));
	assert_error_has(line);
	assert_error_has("1 work-items of work-group 0, the first is 0, wait at");
	assert_error_has(": \"wait for nobody\" of line");
	assert_error_has("to be woken by the acknowledgement of its marker");
}

/* A kernel's beginning is no instruction that could wait. */
TEST(an_action_that_waits_where_no_instruction_is_ends_the_run)
{
	const coh_action steps[COH_STEPS_MAX] = {&coh_mark_sfifos};
	RIG_UNDER(rig, "skeleton");

	coh_run_steps(rig.machine, &rig.machine->cus[0], steps, 0);
	assert_int_equal(rig.machine->error, NVW_E_MODEL);
	assert_error_has("an action waits at the beginning or end of a kernel");
	rig.machine->error = 0;
}

/* ---- Events to other L1s ------------------------------------------------------------------- */

enum { CUS = 4 };

struct turns {
	uint64_t *x, *turn, *seen;
};

/*
 * Every CU loads x; CU 0 stores; the others load again, one after the other. The turns are on a line of their
 * own.
 */
KERNEL(share_write_and_share_again, const struct turns, t)
{
	const uint64_t me = nvw_group_id();

	(void)nvw_load(t->x);
	nvw_atomic_add(&t->turn[0], 1, NVW_ACQ_REL, NVW_SCOPE_AGENT);
	if (me == 0) {
		while (nvw_atomic_load(&t->turn[0], NVW_ACQUIRE, NVW_SCOPE_AGENT) != CUS) {
		}
		nvw_store(t->x, 7);
		nvw_atomic_store(&t->turn[8], 1, NVW_RELEASE, NVW_SCOPE_AGENT);
		return;
	}
	while (nvw_atomic_load(&t->turn[8], NVW_ACQUIRE, NVW_SCOPE_AGENT) != me) {
	}
	nvw_store(&t->seen[8 * me], nvw_load(t->x));
	nvw_atomic_store(&t->turn[8], me + 1, NVW_RELEASE, NVW_SCOPE_AGENT);
}

/* x's value in the L1 of a CU; 0: it is not there. */
static uint64_t held(const struct rig *rig, unsigned cu, const uint64_t *x)
{
	const struct emu_line *const line = emu_cache_peek(&rig->machine->cus[cu].l1, rig_line(rig, x));
	uint64_t value = 0;

	if (line && line->valid) {
		memcpy(&value, line->data + (uintptr_t)x % EMU_LINE, sizeof value);
	}
	return value;
}

static uint64_t right_under_directory(struct emu_stats *ret_stats)
{
	RIG_UNDER(rig, "directory");
	struct turns t = {.x = nvw_alloc(rig.machine, 64)};
	uint64_t right = 0;

	t.turn = nvw_alloc(rig.machine, 128);
	t.seen = nvw_alloc(rig.machine, 64 * CUS);
	rig_write(&rig, t.x, 3);
	rig_launch(&rig, share_write_and_share_again, &t, CUS, 1);
	for (unsigned cu = 1; cu < CUS; cu++) {
		right += rig_visible(&rig, &t.seen[8 * cu]) == 7 && held(&rig, cu, t.x) == 7;
	}
	*ret_stats = *emu_statistics(rig.machine);
	return right;
}

TEST(a_write_invalidates_the_sharers_elsewhere_and_a_read_downgrades_the_owner)
{
	struct emu_stats stats;

	assert_int_equal(right_under_directory(&stats), CUS - 1);
	assert_true(stats.l1_invalidated >= CUS - 1);
	assert_true(stats.l1_downgraded >= 1);
	assert_true(stats.l1_flush_revoke >= 1);
	assert_int_equal(stats.invalidations_acquire, 0);
	assert_int_equal(stats.flushes_release, 0);
}

/* One writer, sharers without turns: each message finds its line, and a planted fault is seen. */
KERNEL(load_once, const struct words, w)
{
	(void)nvw_load(w->a);
}

static void load_then_store_on_cu_0(const void *args)
{
	load_once(args);
	nvw_barrier(NVW_KERNEL);
	store_on_cu_0(args);
}

/* With a planted fault, the invariants of a debug build end the run: then every copy counts as stale. */
static unsigned stale_copies(const char *without, uint64_t *ret_invalidated)
{
	unsigned stale = 0;
	RIG_UNDER(rig, "directory");
	const struct words w = words_of(&rig, 64, 0);
	int r;

	if (without) {
		rig_ok(emu_plant_fault(rig.machine, without));
	}
	rig_write(&rig, w.a, 3);
	r = nvw_launch(rig.machine, "load_then_store", load_then_store_on_cu_0, &w, CUS, 1);
	assert_true(r == 0 || (without && r == NVW_E_MODEL));
	for (unsigned cu = 1; cu < CUS; cu++) {
		stale += r < 0 || held(&rig, cu, w.a) == 3;
	}
	*ret_invalidated = emu_statistics(rig.machine)->l1_invalidated;
	rig.machine->error = 0;
	return stale;
}

TEST(a_store_leaves_no_copy_elsewhere)
{
	uint64_t invalidated;

	assert_int_equal(stale_copies(NULL, &invalidated), 0);
	assert_int_equal(invalidated, CUS - 1);
	assert_int_equal(stale_copies("invalidate sharers elsewhere", &invalidated), CUS - 1);
	assert_int_equal(invalidated, 0);
}

/* ---- Loads that are issued and used later ------------------------------------------------- */

enum { LINES = 8 };

struct loads {
	const uint64_t *a;
	uint64_t *sums;
	bool issued;
};

KERNEL(add_up, const struct loads, l)
{
	struct nvw_issued values[LINES];
	uint64_t sum = 0;

	NVW_FOR(i, LINES) {
		if (l->issued) {
			values[i] = nvw_load_issue(&l->a[8 * i]);
		} else {
			sum += nvw_load(&l->a[8 * i]);
		}
	}
	for (unsigned i = 0; i < LINES && l->issued; i++) {
		sum += nvw_load_use(values[i], uint64_t) + nvw_load_use(values[i], uint8_t);
	}
	nvw_store(&l->sums[nvw_global_id()], sum);
}

static struct emu_stats added_up_with(const char *protocol, bool issued, const char *more)
{
	RIG_UNDER(rig, protocol, more);
	uint64_t *const a = nvw_alloc(rig.machine, 64 * LINES);
	const struct loads l = {a, nvw_alloc(rig.machine, 64 * 8), issued};

	NVW_FOR(i, LINES) {
		rig_write(&rig, &a[8 * i], UINT64_C(0x100) << i);
	}
	nvw_begin_measurement(rig.machine);
	rig_launch(&rig, add_up, &l, 64, 64);
	NVW_EACH(sum, l.sums, 64) {
		assert_visible(&rig, sum, 0xff00);
	}
	return *emu_statistics(rig.machine);
}

static struct emu_stats added_up(const char *protocol, bool issued)
{
	return added_up_with(protocol, issued, NULL);
}

TEST(loads_under_way_overlap_and_are_waited_for_where_they_are_used)
{
	for_each_protocol(p) {
		const struct emu_stats blocking = added_up(p->name, false), issued = added_up(p->name, true);

		assert_int_equal(blocking.use_ps, 0);
		assert_true(issued.use_ps > 0);
		assert_int_equal(issued.loads, blocking.loads);
		assert_int_equal(issued.net_messages, blocking.net_messages);
		/* Where stores wait for their turn, the end may be the same. */
		assert_true(issued.sim_time_ps < blocking.sim_time_ps ||
			    (p->turns && issued.sim_time_ps == blocking.sim_time_ps));
		/* It waits for the slowest at least. */
		assert_true(issued.use_ps > blocking.load_ps / LINES / 2);
	}
}

TEST(loads_in_flight_may_be_bounded)
{
	const struct emu_stats blocking = added_up("vi", false), none = added_up("vi", true),
			       one = added_up_with("vi", true, "gpu.loads=1"),
			       two = added_up_with("vi", true, "gpu.loads=2"),
			       all = added_up_with("vi", true, "gpu.loads=8");

	assert_int_equal(none.waits_loads, 0);
	assert_int_equal(all.waits_loads, 0);
	assert_int_equal(all.sim_time_ps, none.sim_time_ps);
	assert_int_equal(one.waits_loads, LINES - 1);
	assert_int_equal(two.waits_loads, LINES - 2);
	assert_true(two.wait_loads_ps < one.wait_loads_ps);
	assert_true(none.sim_time_ps < two.sim_time_ps && two.sim_time_ps < one.sim_time_ps);
	assert_true(one.sim_time_ps <= blocking.sim_time_ps + 1000 * LINES);
}

/* A load of a line that nobody has, then what synchronizes, or does not. */
struct fenced {
	struct nvw_machine *m;
	uint64_t *a, *flag;
	unsigned order; /* enum nvw_order; past them: a barrier */
	uint64_t took;
};

KERNEL_ON(load_and_synchronize, struct fenced, f)
{
	struct nvw_issued value;
	uint64_t before;

	nvw_atomic_add(f->flag, 1, NVW_RELAXED, NVW_SCOPE_WORKGROUP);
	before = nvw_time_ps(f->m);
	value = nvw_load_issue(f->a);
	if (f->order > NVW_SEQ_CST) {
		nvw_barrier(NVW_WORKGROUP);
	} else {
		nvw_atomic_add(f->flag, 1, (enum nvw_order)f->order, NVW_SCOPE_WORKGROUP);
	}
	f->took = nvw_time_ps(f->m) - before;
	(void)nvw_load_use(value, uint64_t);
}

static uint64_t synchronized_within(unsigned order, const char *bound, uint64_t *ret_waits)
{
	RIG_BEGUN(rig, 0, bound);
	struct fenced f = {.m = rig.machine, .order = order};

	f.a = nvw_alloc(rig.machine, 64);
	f.flag = nvw_alloc(rig.machine, 64);
	rig_launch_on(&rig, load_and_synchronize, &f, 1, 1);
	*ret_waits = emu_statistics(rig.machine)->waits_loads;
	return f.took;
}

TEST(what_synchronizes_completes_the_loads_in_flight_where_they_are_bounded)
{
	uint64_t waits;
	const uint64_t relaxed = synchronized_within(NVW_RELAXED, "gpu.loads=4", &waits);

	assert_int_equal(waits, 0);
	for (unsigned order = NVW_ACQUIRE; order <= NVW_SEQ_CST + 1; order++) {
		const uint64_t without = synchronized_within(order, "gpu.loads=0", &waits);

		assert_int_equal(waits, 0);
		assert_true(synchronized_within(order, "gpu.loads=4", &waits) > without);
		assert_int_equal(waits, 1);
	}
	assert_true(relaxed < synchronized_within(NVW_RELEASE, "gpu.loads=4", &waits));
}

/*
 * The race detector takes a load where it is issued: a release behind it orders it before what the other
 * stores.
 */
KERNEL(load_early_and_tell, const struct turns, t)
{
	struct nvw_issued value;

	if (nvw_group_id() == 0) {
		value = nvw_load_issue(t->x);
		nvw_atomic_store(t->turn, 1, NVW_RELEASE, NVW_SCOPE_AGENT);
		(void)nvw_load_use(value, uint64_t);
		return;
	}
	if (t->seen) {
		while (!nvw_atomic_load(t->turn, NVW_ACQUIRE, NVW_SCOPE_AGENT)) {
		}
	}
	nvw_store(t->x, 1);
}

KERNEL(load_late_and_tell, const struct turns, t)
{
	if (nvw_group_id() == 0) {
		nvw_atomic_store(t->turn, 1, NVW_RELEASE, NVW_SCOPE_AGENT);
		(void)nvw_load_use(nvw_load_issue(t->x), uint64_t);
		return;
	}
	while (!nvw_atomic_load(t->turn, NVW_ACQUIRE, NVW_SCOPE_AGENT)) {
	}
	nvw_store(t->x, 1);
}

static uint64_t races_of(nvw_kernel kernel, bool synchronized)
{
	RIG_BEGUN(rig, 0);
	uint64_t *const x = nvw_alloc(rig.machine, 64), *const turn = nvw_alloc(rig.machine, 64);
	const struct turns t = {x, turn, synchronized ? turn : NULL};

	rig_ok(emu_check_races(rig.machine, EMU_RACES_CLAIMED));
	rig_launch(&rig, kernel, &t, 2, 1);
	return emu_races(rig.machine)->races;
}

TEST(the_race_check_takes_a_load_where_it_is_issued)
{
	assert_int_equal(races_of(load_early_and_tell, true), 0);
	assert_int_equal(races_of(load_early_and_tell, false), 1);
	assert_int_equal(races_of(load_late_and_tell, true), 1);
}
