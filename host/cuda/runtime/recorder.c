/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorder's hooks (record.c), and what host code copies and fills. */
#include <dlfcn.h>

#include "../../cc/hooks.h"
#include "runtime.h"

const struct nvwave_cc_hooks *nvw_cuda_hooks;
bool nvw_cuda_is_recording;

static __attribute__((constructor)) void find_hooks(void)
{
	union {
		void *address;
		nvwave_cc_find_hooks *find;
	} found = {.address = dlsym(RTLD_DEFAULT, NVWAVE_CC_HOOKS)};

	nvw_cuda_hooks = found.find ? found.find(NULL, false) : NULL;
	nvw_cuda_is_recording = nvw_cuda_hooks && nvw_cuda_hooks->store;
}

bool nvw_cuda_is_in_record(const void *address)
{
	return (uintptr_t)address - *nvw_cuda_hooks->lowest <
	       *nvw_cuda_hooks->highest - *nvw_cuda_hooks->lowest;
}

/* The C library's functions would be recorded in the name of this line. */
void nvw_cuda_host_copy(void *to, const void *from, size_t n, const void *place)
{
	if (!nvw_cuda_is_recorded(to)) {
		memmove(to, from, n);
		return;
	}
	nvw_cuda_hooks->store(to, n, (void *)(uintptr_t)place);
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

void nvw_cuda_host_fill(void *to, int byte, size_t n, const void *place)
{
	if (!nvw_cuda_is_recorded(to)) {
		memset(to, byte, n);
		return;
	}
	nvw_cuda_hooks->store(to, n, (void *)(uintptr_t)place);
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(byte) : "memory");
}
