/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface between a program built by nvwave-cc and the library that "nvwave exec" preloads. Every
 * executable and shared object has a copy of the runtime (runtime.c, thunk.S), which asks for the hooks when
 * it is loaded; without the library there are none, and each call of a hook is only a branch.
 *
 * All hooks are called *before* the announced access. place is the return address of the hook's call: the
 * source line of the instruction.
 */
#ifndef HOST_CC_HOOKS_H
#define HOST_CC_HOOKS_H

/* The kinds that the assembler stage (as.c) pushes for the thunk, with the number of bytes. */
#define NVWAVE_CC_FLUSH         1 /* clwb, clflushopt */
#define NVWAVE_CC_FLUSH_ORDERED 2 /* clflush: ordered with later stores */
#define NVWAVE_CC_STREAM        3 /* a store past the caches: stored and flushed */
#define NVWAVE_CC_STORE         4 /* a store by inline assembly */
#define NVWAVE_CC_FENCE         5 /* sfence, mfence */
#define NVWAVE_CC_ATOMIC        6 /* a locked instruction: fences, then stores */
#define NVWAVE_CC_STRING        7 /* a repeated string instruction: the fourth argument counts stores */
#define NVWAVE_CC_BYTES_SHIFT   8

/* What the assembler stage writes into each object file, and the linker stage looks for. */
#define NVWAVE_CC_WATCHED   "nvwave-cc: every store is announced"
#define NVWAVE_CC_UNWATCHED "nvwave-cc: not every store is announced"

/* The kinds of sites in the section that the assembler stage writes for the debugger's eyes alone: for
 * each site two addresses and a byte. The first is that which is marked when the site is executed (marks
 * below), or a counter that then is 1; the second that by which the recorder knows it, 0: none. A branch
 * has two counters: it jumped; it went on. */
#define NVWAVE_CC_SITES       ".debug_nvwave"
#define NVWAVE_CC_SITE_BYTES  17
#define NVWAVE_CC_SITE_STORE  1
#define NVWAVE_CC_SITE_FLUSH  2 /* or a fence, or both */
#define NVWAVE_CC_SITE_BRANCH 3

/* The counters of an executable or shared object: whole pages, which the recording library replaces. */
#define NVWAVE_CC_COUNTERS "nvwave_cc_counters"
#define NVWAVE_CC_PAGE     4096

#ifndef __ASSEMBLER__
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvwave_cc_hooks {
	/* A store; NULL unless stores are recorded. Only this and the two below change. */
	void (*store)(void *address, size_t n, void *place);
	const uintptr_t *lowest, *highest;
	/* A store that first fences the thread's earlier flushes. True: it goes to a recorded mapping, and
	 * until end() all other threads wait, so that exactly its changes are attributed to it. */
	bool (*begin)(void *address, size_t n, bool fences, void *place);
	void (*end)(void);
	void (*fence)(void *place);
	/* Any of the above, for the thunk: preserves all registers except the general ones. times: of a
	 * string. */
	void (*instruction)(unsigned what, void *address, void *place, size_t times);
	/* A load; an atomic, before it (NVWAVE_CC_RELEASES) and after it (the other two). Both NULL unless
	 * loads are looked at. */
	void (*load)(const void *address, size_t n, void *place);
	void (*atomic)(const void *address, size_t n, unsigned how, void *place);
};

#define NVWAVE_CC_RELEASES 0 /* it is about to store */
#define NVWAVE_CC_LOADED   1
#define NVWAVE_CC_STORED   2

#define NVWAVE_CC_HOOKS "nvwave_cc_hooks_3"
/* The library's function of that name; NULL outside of nvwave exec. code: of the executable or shared object
 * that asks; watched: the linker stage found that all of it was built by nvwave-cc. */
typedef const struct nvwave_cc_hooks *nvwave_cc_find_hooks(const void *code, bool watched);

#define NVWAVE_CC_MARKS "nvwave_cc_marks_2"
/* Likewise: adding an address of that code to the result gives a byte, which counts how often the code
 * there is executed, up to 255. 0: nobody asks. The counters are those of the object, bytes 0: they are
 * not on pages of their own. */
typedef uintptr_t nvwave_cc_find_marks(const void *code, void *counters, size_t bytes);
#endif

#endif
