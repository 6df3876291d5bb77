/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A kernel on the emulated machine: the machine has the fibers and decides who runs; blocks, warps and shared variables are ours.
 *
 * The machine's barriers want every work-item of a block, and CUDA's do not count those that have returned. So one that has returned
 * lingers: it takes part in the barriers of the others until all linger.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime.h"

static struct group **groups; /* by number; NULL: has not begun, or has ended */

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
static struct group *make_group(uint64_t number)
{
	const struct extent *const grid = &nvw_cuda_launch.grid;
	const unsigned size = nvw_cuda_launch.group_size;
	struct group *const g = calloc(1, sizeof *g);

	if (!g) {
		return NULL;
	}
	g->number = number;
	g->size = g->live = size;
	g->block = (struct extent){(unsigned)(number % grid->x), (unsigned)(number / grid->x % grid->y),
		(unsigned)(number / grid->x / grid->y)};
	g->items = calloc(size, sizeof *g->items);
	g->warps = calloc((size + WARP - 1) / WARP, sizeof *g->warps);
	g->shared = mmap(NULL, nvw_cuda_shared_bytes(), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!g->items || !g->warps || g->shared == MAP_FAILED) {
		free_group(g);
		return NULL;
	}
	for (unsigned i = 0; i < size; i++) {
		nvw_cuda_set_item(g, i);
	}
	return g;
}

static void linger(struct item *me)
{
	struct group *const g = me->group;

	while (!g->closed) {
		g->lingering++;
		nvw_cuda_machine_barrier_with(g, 0, NULL);
	}
	if (++g->left == g->size) {
		groups[g->number] = NULL;
		free_group(g);
	}
}

static void work_item(uint64_t number, unsigned local)
{
	if (!groups[number] && !(groups[number] = make_group(number))) {
		fprintf(stderr, "nvwave: kernel %s: no memory for a block of %u work-items\n",
			nvw_cuda_launch.name, nvw_cuda_launch.group_size);
		nvw_cuda_end_kernel(cudaErrorMemoryAllocation);
	}
	struct item *const me = &groups[number]->items[local];

	nvw_cuda_now = me;
	nvw_cuda_enter(nvw_cuda_launch.kernel, nvw_cuda_launch.image);
	nvw_cuda_settle();
	me->state = DONE;
	me->group->live--;
	me->warp->live &= ~(1u << me->lane);
	nvw_cuda_lane_left(me->warp);
	linger(me);
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
