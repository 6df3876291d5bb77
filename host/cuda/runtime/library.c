/* SPDX-License-Identifier: BSD-3-Clause */
/* What else compiled kernels call: who they are, clocks, the device's heap, traps. */
#include <time.h>

#include "runtime.h"

struct extent nvw_cuda_thread_idx(void)
{
	return nvw_cuda_now->thread;
}

struct extent nvw_cuda_block_idx(void)
{
	return nvw_cuda_now->group->block;
}

struct extent nvw_cuda_block_dim(void)
{
	return nvw_cuda_launch.block;
}

struct extent nvw_cuda_grid_dim(void)
{
	return nvw_cuda_launch.grid;
}

/* Grows with every look at it, so that loops that wait for a time end. */
long long nvw_cuda_clock(void)
{
	static long long clock;

	nvw_cuda_yield();
	return nvw_cuda_machine ? (long long)nvw_cuda_machine->clock() : (clock += 16);
}

unsigned long long nvw_cuda_nanoseconds(void)
{
	struct timespec now;

	nvw_cuda_yield();
	if (nvw_cuda_machine) {
		return nvw_cuda_machine->time_ps() / 1000;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}

void nvw_cuda_sleep_at(unsigned ns, const void *place)
{
	if (nvw_cuda_machine && nvw_cuda_now) {
		nvw_cuda_settle();
		nvw_cuda_machine_sleep(ns, place);
	} else {
		nvw_cuda_yield();
	}
}

void nvw_cuda_sleep(unsigned ns)
{
	nvw_cuda_sleep_at(ns, __builtin_return_address(0));
}

_Noreturn void nvw_cuda_trap_at(const void *place)
{
	nvw_cuda_report(place, "traps");
	nvw_cuda_end_kernel(cudaErrorLaunchFailure);
}

_Noreturn void nvw_cuda_trap(void)
{
	nvw_cuda_trap_at(__builtin_return_address(0));
}

_Noreturn void nvw_cuda_assert_failed(
	const char *expression, const char *file, unsigned line, const char *function)
{
	const struct extent *const b = &nvw_cuda_now->group->block, *const t = &nvw_cuda_now->thread;

	fflush(stdout);
	fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file,
		line, function, b->x, b->y, b->z, t->x, t->y, t->z, expression);
	nvw_cuda_end_kernel(cudaErrorAssert);
}

/* The device's heap is the program's: what a kernel allocates the next one may free. */
void *nvw_cuda_malloc(size_t bytes)
{
	return malloc(bytes);
}

void nvw_cuda_free(void *p)
{
	free(p);
}
