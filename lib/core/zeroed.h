/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory full of zeros of which only a part may be used. What is large comes from the system, page by page
 * when it is first written to, also in a process that has given such memory back: calloc() would clear that
 * again, all of it.
 */
#ifndef CORE_ZEROED_H
#define CORE_ZEROED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

/* NULL without memory. Aligned as by malloc(). */
void *nvw__zeroed(size_t bytes);
/* Gives it back, with the same size. It does nothing if memory is NULL. */
void nvw__zeroed_free(void *memory, size_t bytes);

/* Gives mapped memory back, if there is some: NULL is none. */
static inline void nvw__unmap(const void *at, size_t bytes)
{
	if (at) {
		munmap((void *)(uintptr_t)at, bytes);
	}
}

#endif
