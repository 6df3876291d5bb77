/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program that nvwave-cc has built and the library that "nvwave exec" preloads agree on. Every executable and
 * shared object has a copy of the runtime (runtime.c, thunk.S), which asks for the hooks when it is loaded; without the
 * library there are none, and each place where one would be called is a branch.
 *
 * All hooks are called *before* what they announce happens. place is the address behind the call of the hook: the
 * source line of the instruction.
 */
#ifndef HOST_CC_HOOKS_H
#define HOST_CC_HOOKS_H

/* What the assembler stage (as.c) pushes for the thunk: what comes, and of how many bytes. */
#define NVWAVE_CC_FLUSH         1 /* clwb, clflushopt */
#define NVWAVE_CC_FLUSH_ORDERED 2 /* clflush: no later store overtakes it */
#define NVWAVE_CC_STREAM        3 /* a store past the caches: stored and flushed */
#define NVWAVE_CC_STORE         4 /* a store by inline assembly */
#define NVWAVE_CC_FENCE         5 /* sfence, mfence */
#define NVWAVE_CC_ATOMIC        6 /* a locked instruction: fences, then stores */
#define NVWAVE_CC_BYTES_SHIFT   8

#ifndef __ASSEMBLER__
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvwave_cc_hooks {
	/* A store; NULL unless stores are recorded. None but between these two is, which change. */
	void (*store)(void *address, size_t n, void *place);
	const uintptr_t *lowest, *highest;
	/* A store that fences what the thread has flushed before. True: it goes to a recorded mapping, and until
	 * end() everybody else waits, so that exactly what it changes is its own. */
	bool (*begin)(void *address, size_t n, bool fences, void *place);
	void (*end)(void);
	void (*fence)(void *place);
	/* Any of the above, for the thunk: keeps all registers but the general ones. */
	void (*instruction)(unsigned what, void *address, void *place);
};

#define NVWAVE_CC_HOOKS "nvwave_cc_hooks_1"
/* The library's function of that name; NULL outside of nvwave exec. */
typedef const struct nvwave_cc_hooks *nvwave_cc_find_hooks(void);
#endif

#endif
