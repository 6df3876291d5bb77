/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work-items of a kernel as fibers.
 *
 * Work-groups that have begun are resident: a ring, at most RESIDENT_ITEMS work-items of them (all of a cooperative launch). One
 * work-group runs at a time, its runnable work-items in turn, for SLICE turns; so most groups run from beginning to end without a
 * change, and yet groups and lanes that spin on each other's stores make progress. A group whose work-items all wait, or whose
 * slice is over, gives way to the next of the ring, or to one that begins, while there is room.
 *
 * When no work-item of a resident group can run and none can begin, the kernel is stuck: that ends it with a report of where they
 * wait.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../../emu/fiber.h"
#include "runtime.h"

enum { RESIDENT_ITEMS = 4096, COOPERATIVE_ITEMS = 32768, SLICE = 4096 };

/* ---- Stacks: mapped once, with memory below that nothing can touch ----------------------------------- */

static char **stacks;
static size_t stack_count, stacks_free;

static char *map_stack(void)
{
	char *const base = mmap(NULL, STACK_BYTES + STACK_GUARD, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED || mprotect(base, STACK_GUARD, PROT_NONE)) {
		return NULL;
	}
	return base;
}

static char *take_stack(void)
{
	if (stacks_free) {
		return stacks[--stacks_free];
	}
	char *const stack = map_stack();
	char **const more = stack ? realloc(stacks, (stack_count + 1) * sizeof *stacks) : NULL;

	if (!more) {
		return NULL;
	}
	stacks = more;
	stack_count++;
	return stack;
}

/* ---- Work-items and work-groups --------------------------------------------------------------------------- */

static void leave(void)
{
	struct item *const me = nvw_cuda_now;
	struct group *const g = me->group;

	nvw_cuda_settle();
	me->state = DONE;
	g->live--;
	me->warp->live &= ~(1u << me->lane);
	nvw_cuda_lane_left(me->warp);
	nvw_cuda_item_left(g);
	nvw_cuda_next();
	__builtin_unreachable();
}

static void work_item(void)
{
	nvw_cuda_enter_kernel(nvw_cuda_launch.kernel, nvw_cuda_launch.image);
	leave();
}

static struct group *make_group(void)
{
	const unsigned size = nvw_cuda_launch.group_size;
	struct group *const g = calloc(1, sizeof *g);

	if (!g) {
		return NULL;
	}
	g->size = size;
	g->items = nvw_cuda_new_items(size);
	g->warps = calloc((size + WARP - 1) / WARP, sizeof *g->warps);
	g->shared = mmap(NULL, nvw_cuda_shared_bytes(), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (unsigned i = 0; g->items && i < size; i++) {
		g->items[i].stack = take_stack();
		if (!g->items[i].stack) {
			return NULL;
		}
	}
	return g->items && g->warps && g->shared != MAP_FAILED ? g : NULL;
}

static void free_group(struct group *g)
{
	for (unsigned i = 0; i < g->size; i++) {
		stacks[stacks_free++] = g->items[i].stack;
		nvw_cuda_record_forget(&g->items[i]);
	}
	munmap(g->shared, nvw_cuda_shared_bytes());
	free(g->items);
	free(g->warps);
	free(g);
}

static void start_item(struct group *g, unsigned i)
{
	struct item *const item = &g->items[i];
	char *const top =
		item->stack + STACK_GUARD + STACK_BYTES - 64 * (i * 7 % 32); /* staggered over cache sets */

	nvw_cuda_set_item(g, i);
	item->lines.count = 0;
	item->sp = emu_fiber_prepare(item->stack + STACK_GUARD, top, work_item);
	nvw_cuda_wake(item);
}

static void into_ring(struct group *g)
{
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
	const struct extent *const grid = &nvw_cuda_launch.grid;
	const uint64_t n = nvw_cuda_running.started;
	struct group *g = nvw_cuda_running.unused;

	if (g) {
		nvw_cuda_running.unused = g->next;
	} else if (!(g = make_group())) {
		nvw_cuda_running.error = cudaErrorMemoryAllocation;
		return NULL;
	}
	g->number = n;
	g->block = (struct extent){(unsigned)(n % grid->x), (unsigned)(n / grid->x % grid->y),
		(unsigned)(n / grid->x / grid->y)};
	g->live = g->size;
	g->waiting = 0;
	g->counts = 0;
	g->first = NULL;
	memset(g->warps, 0, (g->size + WARP - 1) / WARP * sizeof *g->warps);
	for (unsigned i = 0; i < g->size; i++) {
		start_item(g, i);
	}
	nvw_cuda_running.started++;
	nvw_cuda_running.resident += g->size;
	into_ring(g);
	return g;
}

static void finish_group(struct group *g)
{
	struct group *before = g;

	while (before->next != g) {
		before = before->next;
	}
	before->next = g->next;
	nvw_cuda_running.ring = before == g ? NULL : before;
	g->next = nvw_cuda_running.unused;
	nvw_cuda_running.unused = g;
	nvw_cuda_running.resident -= g->size;
	nvw_cuda_running.done++;
}

/* ---- The engine --------------------------------------------------------------------------------------------- */

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
			if (g->first) {
				return g;
			}
		} while (g != nvw_cuda_running.ring);
	}
	return NULL;
}

static void run_group(struct group *g)
{
	nvw_cuda_running.ring = g;
	nvw_cuda_running.slice = SLICE;
	nvw_cuda_now = nvw_cuda_take(g);
	emu_fiber_switch(&nvw_cuda_running.engine, nvw_cuda_now->sp);
	nvw_cuda_now = NULL;
	if (!g->live && !nvw_cuda_running.error) {
		finish_group(g);
	}
}

static const char *waits_for(enum state state)
{
	return state == AT_BARRIER      ? "the barrier of its block" :
	       state == AT_GRID_BARRIER ? "the barrier of the grid" :
					  "other lanes of its warp";
}

static void report_stuck(void)
{
	struct group *g = nvw_cuda_running.ring;

	for (unsigned i = 0; i < g->size; i++) {
		if (g->items[i].state != DONE) {
			nvw_cuda_now = &g->items[i];
			nvw_cuda_report(g->items[i].place,
				"waits for %s, which never come: the kernel is stuck",
				waits_for(g->items[i].state));
			nvw_cuda_now = NULL;
			return;
		}
	}
}

static void forget_groups(void)
{
	while (nvw_cuda_running.ring) {
		finish_group(nvw_cuda_running.ring);
	}
	while (nvw_cuda_running.unused) {
		struct group *const g = nvw_cuda_running.unused;

		nvw_cuda_running.unused = g->next;
		free_group(g);
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
