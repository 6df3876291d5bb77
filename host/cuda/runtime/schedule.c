/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work-items of a kernel as fibers.
 *
 * Work-groups that have begun are resident: a ring, at most RESIDENT_ITEMS work-items of them (all of a
 * cooperative launch). One work-group runs at a time, its runnable work-items in turn, for SLICE turns; so
 * most groups run from beginning to end without a change, and yet groups and lanes that spin on each other's
 * stores make progress. A group whose work-items all wait, or whose slice is over, gives way to the next of
 * the ring, or to one that begins, while there is room.
 *
 * When no work-item of a resident group can run and none can begin, the kernel is stuck: that ends it with a
 * report of where they wait.
 */

#include "runtime.h"

enum { RESIDENT_ITEMS = 4096, COOPERATIVE_ITEMS = 32768, SLICE = 4096 };

/* ---- Work-items and work-groups ----------------------------------------------------------------- */

/* What work-items that still run may wait for comes about. */
static void leave(void)
{
	struct item *const me = nvw_cuda_now;
	struct group *const g = me->group;

	NVW_DEEP_INVARIANT(g->live > 0 && me->warp->live >> me->lane & 1); /* nobody leaves twice */
	if (nvw_cuda_pending.n) {
		nvw_cuda_settle();
	}
	g->live--;
	me->warp->live &= ~(1u << me->lane);
	nvw_cuda_works();
	if (me->warp->meetings) {
		nvw_cuda_lane_left(me->warp);
	}
	if (g->waiting || nvw_cuda_running.at_grid_barrier) {
		nvw_cuda_item_left(g);
	}
	nvw_cuda_pass_on();
}

static void work_item(void)
{
	nvw_cuda_enter_kernel(nvw_cuda_launch.kernel, nvw_cuda_launch.image);
	leave();
}

static void into_ring(struct group *g)
{
	NVW_INVARIANT(g != nvw_cuda_running.ring);
	if (nvw_cuda_running.ring) {
		g->next = nvw_cuda_running.ring->next;
		nvw_cuda_running.ring->next = g;
	} else {
		g->next = g;
	}
	nvw_cuda_running.ring = g;
}

static struct group *start_group(void)
{
	struct group *const g = nvw_cuda_begin_group(nvw_cuda_running.started);

	if (!g) {
		nvw_cuda_running.error = cudaErrorMemoryAllocation;
		return NULL;
	}
	NVW_INVARIANT(g->size == g->live && nvw_cuda_running.started < nvw_cuda_launch.groups);
	nvw_cuda_running.started++;
	nvw_cuda_running.resident += g->size;
	into_ring(g);
	return g;
}

static void finish_group(struct group *g)
{
	struct group *before = g;

	NVW_INVARIANT(nvw_cuda_running.ring && nvw_cuda_running.resident >= g->size);
	while (before->next != g) {
		before = before->next;
	}
	before->next = g->next;
	nvw_cuda_running.ring = before;
	if (before == g) {
		nvw_cuda_running.ring = NULL;
	}
	nvw_cuda_running.resident -= g->size;
	nvw_cuda_running.done++;
	nvw_cuda_end_group(g);
}

/* ---- The engine --------------------------------------------------------------------------------- */

static bool can_start(void)
{
	const unsigned room = nvw_cuda_launch.cooperative ? COOPERATIVE_ITEMS : RESIDENT_ITEMS;

	return nvw_cuda_running.started < nvw_cuda_launch.groups &&
	       (!nvw_cuda_running.ring || nvw_cuda_running.resident + nvw_cuda_launch.group_size <= room);
}

/* The next group that can run, after the one that ran last. */
static struct group *next_group(void)
{
	struct group *g = nvw_cuda_running.ring;

	if (can_start()) {
		return start_group();
	}
	if (g) {
		do {
			g = g->next;
			if (nvw_cuda_can_run(g)) {
				return g;
			}
		} while (g != nvw_cuda_running.ring);
	}
	return NULL;
}

static void run_group(struct group *g)
{
	NVW_INVARIANT(nvw_cuda_can_run(g) && !nvw_cuda_now);
	nvw_cuda_running.ring = g;
	nvw_cuda_running.slice = SLICE;
	nvw_cuda_now = nvw_cuda_take(g);
	if (nvw_cuda_now) {
		emu_fiber_switch(&nvw_cuda_running.engine, &nvw_cuda_now->fiber);
	}
	nvw_cuda_now = NULL;
	if (!g->live && !nvw_cuda_running.error) {
		finish_group(g);
	}
}

static const char *waits_for(enum state state)
{
	static const char *const barriers[] = {[AT_BARRIER] = "the barrier of its block",
		[AT_GRID_BARRIER] = "the barrier of the grid",
		[MEETING] = "other lanes of its warp"};

	NVW_INVARIANT(state < NVW_COUNT(barriers) && barriers[state]);
	return barriers[state];
}

static void report_stuck(void)
{
	struct group *g = nvw_cuda_running.ring;

	NVW_EACH(item, g->items, g->size) {
		if (item->state != RUNNABLE) {
			nvw_cuda_now = item;
			nvw_cuda_report(item->place, "waits for %s, which never come: the kernel is stuck",
				waits_for(item->state));
			nvw_cuda_now = NULL;
			return;
		}
	}
}

/* Forgets the groups of a kernel that was ended. */
static void forget_groups(void)
{
	while (nvw_cuda_running.ring) {
		finish_group(nvw_cuda_running.ring);
	}
}

cudaError_t nvw_cuda_run(const struct launch *launch)
{
	if (nvw_cuda_failed()) {
		return nvw_cuda_failed();
	}
	if (launch->cooperative && launch->groups * launch->group_size > COOPERATIVE_ITEMS) {
		return cudaErrorCooperativeLaunchTooLarge;
	}
	NVW_INVARIANT(launch->groups > 0 && launch->group_size <= BLOCK_MAX); /* is_possible() */
	memset(&nvw_cuda_running, 0, sizeof nvw_cuda_running);
	nvw_cuda_begin_waits();
	nvw_cuda_pending.n = 0; /* of a kernel that was ended */
	nvw_cuda_launch = *launch;
	nvw_cuda_open_memory();
	if (nvw_cuda_machine) {
		nvw_cuda_running.error = nvw_cuda_emulate();
		nvw_cuda_close_memory();
		return nvw_cuda_running.error;
	}
	nvw_cuda_catch_faults();
	nvw_cuda_running.leave = leave;
	nvw_cuda_running.work_item = work_item;
	while (nvw_cuda_running.done < launch->groups && !nvw_cuda_running.error) {
		struct group *const g = next_group();

		if (g) {
			run_group(g);
		} else if (!nvw_cuda_running.error) {
			report_stuck();
			nvw_cuda_running.error = cudaErrorLaunchFailure;
		}
	}
	forget_groups();
	nvw_cuda_close_memory();
	return nvw_cuda_running.error;
}
