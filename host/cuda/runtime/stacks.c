/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stacks of work-items that run by themselves: mapped once, with memory below that nothing can touch. The
 * one that was given back last is taken first: its memory is in the caches.
 *
 * A guard splits a mapping, and a process may have 65,530 of them. Stacks beyond GUARDED have as much memory
 * below them, which nobody uses: functions of kernels ask for room (overflow.S), and so it is for what they
 * call.
 */
#include <sys/mman.h>

#include "core/array.h"
#include "runtime.h"

enum { GUARDED = 16384 };

static char **stacks; /* unused ones */
static size_t stack_count, stack_room, stacks_free;

static char *map_stack(void)
{
	char *const base = mmap(NULL, STACK_BYTES + STACK_GUARD, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED || (stack_count < GUARDED && mprotect(base, STACK_GUARD, PROT_NONE))) {
		return NULL;
	}
	return base;
}

char *nvw_cuda_take_stack(void)
{
	NVW_DEEP_INVARIANT(stacks_free <= stack_count);
	if (stacks_free) {
		return stacks[--stacks_free];
	}
	char *const stack = map_stack();

	if (!stack || !NVW_ROOM(stacks, stack_room, stack_count + 1)) {
		return NULL;
	}
	stack_count++;
	return stack;
}

void nvw_cuda_give_stack(char *stack)
{
	NVW_DEEP_INVARIANT(stacks_free < stack_count); /* there is room for each that was made */
	stacks[stacks_free++] = stack;
}
