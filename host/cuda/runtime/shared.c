/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared variables: one address in the program, a place per work-group. */
#include "runtime.h"

/* The static ones, which nvwave-nvcc gathers in a section, and the dynamic ones, which all begin at one address. */
char nvw_cuda_dynamic_shared[DYNAMIC_MAX] __attribute__((aligned(128)));

enum { ALIGNED = 128 };

static size_t static_bytes(void)
{
	/* With the offset of the first one in its 128 bytes, so that everything is aligned as in the program. */
	const uintptr_t from = (uintptr_t)__start_nvw_shared / ALIGNED * ALIGNED;

	return __start_nvw_shared ? ((uintptr_t)__stop_nvw_shared - from + ALIGNED - 1) / ALIGNED * ALIGNED :
				    0;
}

size_t nvw_cuda_shared_bytes(void)
{
	return static_bytes() + DYNAMIC_MAX;
}

static void *dynamic_place(char *address, size_t n)
{
	const size_t at = (size_t)(address - nvw_cuda_dynamic_shared);

	if (at + n > nvw_cuda_launch.dynamic) {
		nvw_cuda_report(NULL,
			"accesses byte %zu of its dynamic shared memory; the launch gave it %zu bytes",
			at + n - 1, nvw_cuda_launch.dynamic);
		nvw_cuda_end_kernel(cudaErrorIllegalAddress);
	}
	return nvw_cuda_now->group->shared + static_bytes() + at;
}

int nvw_cuda_is_shared(const void *address);

int nvw_cuda_is_shared(const void *address)
{
	return nvw_cuda_is_static_shared(address) || nvw_cuda_is_dynamic_shared(address);
}

void *nvw_cuda_translate_shared(void *address, size_t n)
{
	if (!nvw_cuda_now) {
		return address;
	}
	if (nvw_cuda_is_static_shared(address)) {
		return nvw_cuda_now->group->shared + (uintptr_t)address -
		       (uintptr_t)__start_nvw_shared / ALIGNED * ALIGNED;
	}
	return dynamic_place(address, n);
}
