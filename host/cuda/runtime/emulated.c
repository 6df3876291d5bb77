/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A kernel on the emulated machine: the machine has the fibers and decides who runs; blocks, warps and shared variables are ours.
 */
#include <stdio.h>
#include <stdlib.h>

#include "runtime.h"

static struct group **groups; /* by number; NULL: has not begun, or has ended */

/* The machine waits for the return of its work-item. */
static void leave(void)
{
	nvw_cuda_leave(nvw_cuda_now->sp);
}

static struct item *begin_item(uint64_t number, unsigned local)
{
	if (!groups[number] && !(groups[number] = nvw_cuda_begin_group(number))) {
		fprintf(stderr, "nvwave: kernel %s: no memory for a block of %u work-items\n",
			nvw_cuda_launch.name, nvw_cuda_launch.group_size);
		nvw_cuda_end_kernel(cudaErrorMemoryAllocation);
	}
	if (!number && !local) {
		nvw_cuda_catch_faults(); /* the machine, which may be new, has a handler of its own */
	}
	return nvw_cuda_now = &groups[number]->items[local];
}

static void end_item(void)
{
	struct item *const me = nvw_cuda_now;
	struct group *const g = me->group;

	me->fenced = false; /* for the next block in this memory */
	me->seen = NULL;
	g->live--;
	me->warp->live &= ~(1u << me->lane);
	nvw_cuda_lane_left(me->warp);
	nvw_cuda_item_left_machine(g);
	if (!g->live) {
		groups[g->number] = NULL;
		nvw_cuda_end_group(g);
	}
}

static void kernel_with_objects(void)
{
	nvw_cuda_enter_kernel(nvw_cuda_launch.kernel, nvw_cuda_launch.image);
}

/* The last call is a jump: nothing of this function is on the stack while the kernel runs. */
static void work_item(uint64_t number, unsigned local)
{
	static struct image no_arguments;
	void **const way_out = &begin_item(number, local)->sp;

	if (nvw_cuda_launch.image->objects) {
		nvw_cuda_run_item(way_out, end_item, kernel_with_objects, &no_arguments);
	} else {
		nvw_cuda_run_item(way_out, end_item, nvw_cuda_launch.kernel, nvw_cuda_launch.image);
	}
}

static void forget_groups(void)
{
	for (uint64_t i = 0; i < nvw_cuda_launch.groups; i++) {
		if (groups[i]) {
			nvw_cuda_end_group(groups[i]);
		}
	}
	free(groups);
	groups = NULL;
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
