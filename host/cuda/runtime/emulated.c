/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A kernel on the emulated machine: the machine has the fibers, or the frames of coroutines, and decides who
 * runs; blocks, warps and shared variables are ours.
 */

#include "runtime.h"

static struct group **groups; /* by number; NULL: has not begun, or has ended */

/* The machine waits for the return of its work-item. */
static void leave(void)
{
	nvw_cuda_leave(nvw_cuda_now->sp);
}

static struct item *begin_item(uint64_t number, unsigned local)
{
	NVW_DEEP_INVARIANT(number < nvw_cuda_launch.groups && local < nvw_cuda_launch.group_size);
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

	NVW_DEEP_INVARIANT(groups[g->number] == g && g->live > 0 && me->warp->live >> me->lane & 1);
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

/* ---- Without stacks: a kernel as a coroutine ---------------------------------------------------- */

static void begin_coroutine(void *frame, uint64_t number, unsigned local)
{
	begin_item(number, local);
	NVW_DEEP_INVARIANT((uintptr_t)frame % 16 == 0); /* build_begin() says so to LLVM */
	nvw_cuda_lane_frame = frame;
	nvw_cuda_enter(nvw_cuda_launch.coroutine, nvw_cuda_launch.image);
}

void nvw_cuda_lane_returns(void)
{
	nvw_cuda_settle();
	end_item();
	nvw_cuda_machine->returned();
}

static void leave_coroutine(void)
{
	nvw_cuda_lane_returns();
	nvw_cuda_machine->leave();
}

/* 0: this launch needs stacks. */
static size_t frame_bytes(void)
{
	struct nvw_cuda_description machine;

	if (!nvw_cuda_launch.coroutine || nvw_cuda_launch.cooperative || nvw_cuda_launch.image->objects ||
		getenv(NVW_CUDA_STACKS_VARIABLE)) {
		return 0;
	}
	nvw_cuda_lanes = (struct nvw_cuda_lanes){.span = nvw_cuda_machine->short_way->span,
		.turn = nvw_cuda_machine->short_way->turn,
		.shared = __start_nvw_shared,
		.shared_bytes = nvw_cuda_shared_bytes(),
		.dynamic = nvw_cuda_dynamic_shared,
		.dynamic_end = nvw_cuda_dynamic_shared + nvw_cuda_launch.dynamic};
	nvw_cuda_lane_self = nvw_cuda_machine->short_way->self;
	nvw_cuda_lane_frame = NULL;
	emu_fiber_limit(0); /* the thread's own stack */
	nvw_cuda_enter(nvw_cuda_launch.coroutine, nvw_cuda_launch.image);
	nvw_cuda_machine->describe(&machine);
	return nvw_cuda_lane_frame_bytes < machine.stack_bytes ? nvw_cuda_lane_frame_bytes : 0;
}

/* ---- With stacks -------------------------------------------------------------------------------- */

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

/* ---- The launch --------------------------------------------------------------------------------- */

static void forget_groups(void)
{
	NVW_EACH(g, groups, nvw_cuda_launch.groups) {
		if (*g) {
			nvw_cuda_end_group(*g);
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
		.work_item = work_item,
		.frame_bytes = frame_bytes(),
		.begin = begin_coroutine};
	struct nvw_cuda_range *const ranges = nvw_cuda_ranges(&job.range_count);

	NVW_INVARIANT(!nvw_cuda_now); /* one kernel at a time */
	groups = calloc(nvw_cuda_launch.groups, sizeof *groups);
	if (!groups || !ranges) {
		free(groups);
		free(ranges);
		return cudaErrorMemoryAllocation;
	}
	job.ranges = ranges;
	nvw_cuda_running.leave = job.frame_bytes ? leave_coroutine : leave;
	const bool done = nvw_cuda_machine->run(&job);

	nvw_cuda_now = NULL;
	forget_groups();
	free(ranges);
	if (nvw_cuda_running.error) { /* told already */
		return nvw_cuda_running.error;
	}
	if (done) {
		return cudaSuccess;
	}
	fprintf(stderr, "nvwave: kernel %s: %s\n", nvw_cuda_launch.name, nvw_cuda_machine->message());
	return cudaErrorLaunchFailure;
}
