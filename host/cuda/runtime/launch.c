/* SPDX-License-Identifier: BSD-3-Clause */
/* Launches: the configuration between <<< and >>>, and what is launched. */
#include <dlfcn.h>

#include "../recorded.h"
#include "runtime.h"

struct configuration {
	struct extent grid, block;
	size_t shared;
	void *stream;
	const void *place; /* of the launch */
};
/* Calls of kernels as arguments of calls of kernels nest. */
enum { NESTED = 8 };
static __thread struct configuration configured[NESTED];
static __thread unsigned depth;
static __thread const void *popped; /* the place of the configuration that a stub has just taken */

unsigned __cudaPushCallConfiguration(struct extent grid, struct extent block, size_t shared, void *stream)
{
	if (depth == NESTED) {
		return 1;
	}
	configured[depth++] =
		(struct configuration){grid, block, shared, stream, __builtin_return_address(0)};
	return 0;
}

unsigned __cudaPopCallConfiguration(struct extent *grid, struct extent *block, size_t *shared, void **stream)
{
	struct configuration c = {{1, 1, 1}, {1, 1, 1}, 0, NULL, NULL};

	if (!nvw_cuda_is_asking() && depth) {
		NVW_INVARIANT(depth <= NESTED);
		c = configured[--depth];
	}
	*grid = c.grid;
	*block = c.block;
	*shared = c.shared;
	*stream = c.stream;
	popped = c.place;
	return 0;
}

static bool is_possible(const struct launch *l)
{
	const uint64_t size = (uint64_t)l->block.x * l->block.y * l->block.z;

	return size && size <= BLOCK_MAX && l->block.z <= 64 && l->grid.x && l->grid.y && l->grid.z &&
	       l->grid.x <= INT32_MAX && l->grid.y <= UINT16_MAX && l->grid.z <= UINT16_MAX &&
	       l->dynamic <= DYNAMIC_MAX;
}

/* A session reports how many kernels it has not seen on the machine. */
static void tell_session(void)
{
	static const struct nvwave_kernel_hooks *hooks;
	static bool looked;

	if (!looked) {
		union {
			void *address;
			nvwave_find_kernel_hooks *find;
		} found = {.address = dlsym(RTLD_DEFAULT, NVWAVE_KERNEL_HOOKS)};

		hooks = found.find ? found.find() : NULL;
		looked = true;
	}
	if (hooks) {
		hooks->alone();
	}
}

static cudaError_t launch(const void *stub, struct extent grid, struct extent block, void **args,
	size_t shared, bool cooperative, const void *place)
{
	static struct image image;
	const struct kernel_entry *const kernel = nvw_cuda_kernel_of(stub);
	struct launch l = {.image = &image,
		.grid = grid,
		.block = block,
		.dynamic = shared,
		.cooperative = cooperative,
		.place = place};

	if (!kernel) {
		return nvw_cuda_fail(cudaErrorInvalidDeviceFunction);
	}
	if (!is_possible(&l)) {
		return nvw_cuda_fail(cudaErrorInvalidConfiguration);
	}
	l.kernel = kernel->kernel;
	l.coroutine = kernel->coroutine;
	l.name = nvw_cuda_kernel_name(kernel);
	l.group_size = block.x * block.y * block.z;
	l.groups = (uint64_t)grid.x * grid.y * grid.z;
	nvw_cuda_lock();
	cudaError_t error = cudaErrorLaunchFailure;
	if (nvw_cuda_arguments(kernel, args, &image)) {
		if (!nvw_cuda_machine) {
			tell_session();
		}
		nvw_cuda_in_kernel = true;
		error = nvw_cuda_run(&l);
		nvw_cuda_in_kernel = false;
	}
	nvw_cuda_unlock();
	return nvw_cuda_unless(error, !error);
}

cudaError_t cudaLaunchKernel(
	const void *stub, struct extent grid, struct extent block, void **args, size_t shared, void *stream)
{
	const void *const place = NVW_OR(popped, __builtin_return_address(0));

	popped = NULL;
	if (nvw_cuda_is_asking()) {
		nvw_cuda_answer(args);
		return cudaSuccess;
	}
	if (nvw_cuda_in_kernel) {
		nvw_cuda_report(__builtin_return_address(0),
			"launches a kernel: dynamic parallelism is not supported");
		nvw_cuda_end_kernel(cudaErrorNotSupported);
	}
	return launch(stub, grid, block, args, shared, false, place);
}

cudaError_t cudaLaunchCooperativeKernel(
	const void *stub, struct extent grid, struct extent block, void **args, size_t shared, void *stream)
{
	return launch(stub, grid, block, args, shared, true, __builtin_return_address(0));
}
