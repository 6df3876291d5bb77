/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared variables: one address in the program, a place per work-group. nvwave-nvcc gathers the static ones
 * in a section; the dynamic ones, which all begin at one address, are in it, too.
 */
#include "runtime.h"

enum { ALIGNED = 128 };

char nvw_cuda_dynamic_shared[DYNAMIC_MAX] __attribute__((section("nvw_shared"), aligned(ALIGNED)));

/* Before the first one, so that everything is aligned as in the program. */
static uintptr_t begin(void)
{
	return (uintptr_t)__start_nvw_shared / ALIGNED * ALIGNED;
}

size_t nvw_cuda_shared_bytes(void)
{
	return (size_t)((uintptr_t)__stop_nvw_shared - begin());
}

uintptr_t nvw_cuda_shared_places(const char *shared)
{
	NVW_INVARIANT((uintptr_t)shared % ALIGNED == 0);
	return (uintptr_t)shared - begin();
}

static void check_dynamic(const char *address, size_t n)
{
	const size_t at = (size_t)(address - nvw_cuda_dynamic_shared);

	if (at < DYNAMIC_MAX && at + n > nvw_cuda_launch.dynamic) {
		nvw_cuda_report(NULL,
			"accesses byte %zu of its dynamic shared memory; the launch gave it %zu bytes",
			at + n - 1, nvw_cuda_launch.dynamic);
		nvw_cuda_end_kernel(cudaErrorIllegalAddress);
	}
}

int nvw_cuda_is_shared(const void *address)
{
	return nvw_cuda_is_in_shared(address);
}

void *nvw_cuda_translate_shared(void *address, size_t n)
{
	if (!nvw_cuda_now) {
		return address;
	}
	NVW_DEEP_INVARIANT(nvw_cuda_is_in_shared(address));
	check_dynamic(address, n);
	return (char *)(nvw_cuda_now->group->places + (uintptr_t)address);
}
