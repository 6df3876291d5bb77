/* SPDX-License-Identifier: BSD-3-Clause */
/* See zeroed.h. */
#include "zeroed.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Address sanitizer guards the ends of what malloc() gives. */
#if defined(__SANITIZE_ADDRESS__)
#define FROM_THE_SYSTEM SIZE_MAX
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FROM_THE_SYSTEM SIZE_MAX
#endif
#endif
#ifndef FROM_THE_SYSTEM
#define FROM_THE_SYSTEM ((size_t)64 << 10)
#endif

void *nvw__zeroed(size_t bytes)
{
	if (bytes >= FROM_THE_SYSTEM) {
		void *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (memory == MAP_FAILED) {
			return NULL;
		}
		return memory;
	}
	return calloc(1, bytes);
}

void nvw__zeroed_free(void *memory, size_t bytes)
{
	if (memory && bytes >= FROM_THE_SYSTEM) {
		munmap(memory, bytes);
	} else {
		free(memory);
	}
}
