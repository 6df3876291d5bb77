/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A kernel on the emulated machine: the machine has the fibers and decides who runs; blocks, warps and shared variables are ours.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime.h"

static struct group **groups; /* by number; NULL: has not begun, or has ended */
static struct group *unused;  /* of this kernel, to be used again */

static void free_group(struct group *g)
{
	if (g->shared != MAP_FAILED) {
		munmap(g->shared, nvw_cuda_shared_bytes());
	}
	free(g->items);
	free(g->warps);
	free(g);
}

/* NULL: no memory. */
static struct group *new_group(void)
{
	const unsigned size = nvw_cuda_launch.group_size;
	struct group *const g = calloc(1, sizeof *g);

	if (!g) {
		return NULL;
	}
	g->size = size;
	g->items = calloc(size, sizeof *g->items);
	g->warps = calloc((size + WARP - 1) / WARP, sizeof *g->warps);
	g->shared = mmap(NULL, nvw_cuda_shared_bytes(), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!g->items || !g->warps || g->shared == MAP_FAILED) {
		free_group(g);
		return NULL;
	}
	return g;
}

/* NULL: no memory. */
static struct group *begin_group(uint64_t number)
{
	const struct extent *const grid = &nvw_cuda_launch.grid;
	struct group *const g = unused ? unused : new_group();

	if (!g) {
		return NULL;
	}
	if (g == unused) {
		unused = g->next;
	}
	g->number = number;
	g->live = g->size;
	g->block = (struct extent){(unsigned)(number % grid->x), (unsigned)(number / grid->x % grid->y),
		(unsigned)(number / grid->x / grid->y)};
	for (unsigned i = 0; i < g->size; i++) {
		nvw_cuda_set_item(g, i);
		g->items[i].state = RUNNABLE;
		g->items[i].fenced = false;
		g->items[i].seen = NULL;
	}
	return g;
}

/* The machine waits for the return of its work-item. */
static void leave(void)
{
	_longjmp(*(jmp_buf *)nvw_cuda_now->way_out, 1);
}

static void enter_kernel(struct item *me)
{
	jmp_buf way_out;

	me->way_out = &way_out;
	if (_setjmp(way_out) == 0) {
		nvw_cuda_enter_kernel(nvw_cuda_launch.kernel, nvw_cuda_launch.image);
	}
}

static void work_item(uint64_t number, unsigned local)
{
	if (!groups[number] && !(groups[number] = begin_group(number))) {
		fprintf(stderr, "nvwave: kernel %s: no memory for a block of %u work-items\n",
			nvw_cuda_launch.name, nvw_cuda_launch.group_size);
		nvw_cuda_end_kernel(cudaErrorMemoryAllocation);
	}
	struct group *const g = groups[number];
	struct item *const me = &g->items[local];

	nvw_cuda_now = me;
	if (!g->number && !local) {
		nvw_cuda_catch_faults(); /* the machine, which may be new, has a handler of its own */
	}
	enter_kernel(me);
	nvw_cuda_settle();
	me->state = DONE;
	g->live--;
	me->warp->live &= ~(1u << me->lane);
	nvw_cuda_lane_left(me->warp);
	nvw_cuda_item_left_machine(g);
	if (!g->live) {
		groups[number] = NULL;
		g->next = unused;
		unused = g;
	}
}

static void forget_groups(void)
{
	for (uint64_t i = 0; i < nvw_cuda_launch.groups; i++) {
		if (groups[i]) {
			free_group(groups[i]);
		}
	}
	free(groups);
	groups = NULL;
	while (unused) {
		struct group *const g = unused;

		unused = g->next;
		free_group(g);
	}
}

cudaError_t nvw_cuda_emulate(void)
{
	struct nvw_cuda_job job = {.name = nvw_cuda_launch.name,
		.place = nvw_cuda_launch.place,
		.groups = nvw_cuda_launch.groups,
		.group_size = nvw_cuda_launch.group_size,
		.work_item = work_item};
	struct nvw_cuda_range *const ranges = nvw_cuda_ranges(&job.range_count);
	bool done;

	groups = calloc(nvw_cuda_launch.groups, sizeof *groups);
	if (!groups || !ranges) {
		free(groups);
		free(ranges);
		return cudaErrorMemoryAllocation;
	}
	job.ranges = ranges;
	nvw_cuda_running.leave = leave;
	done = nvw_cuda_machine->run(&job);
	nvw_cuda_now = NULL;
	forget_groups();
	free(ranges);
	if (nvw_cuda_running.error) { /* told already */
		return nvw_cuda_running.error;
	}
	if (!done) {
		fprintf(stderr, "nvwave: kernel %s: %s\n", nvw_cuda_launch.name, nvw_cuda_machine->message());
	}
	return done ? cudaSuccess : cudaErrorLaunchFailure;
}
