/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stack switch of work-items.
 *
 * x86-64 switches by hand, in 17 instructions; elsewhere (and with -Dfiber=ucontext) swapcontext() does it,
 * correctly but ten times slower, because it makes a system call.
 */
#ifndef EMU_FIBER_H
#define EMU_FIBER_H

/* struct emu_fiber, found by its number times its size, and where emu_fiber_limit() is: for assembly. */
#define EMU_FIBER_SHIFT 6
#define EMU_FIBER_SP    48
#define EMU_FIBER_IP    56
#define EMU_FIBER_LIMIT 0x70

#ifndef __ASSEMBLER__

#include <limits.h> /* __GLIBC__ */
#include <stddef.h>
#include <stdint.h>

/*
 * A context: its registers, which fill a line of the host's caches. Those of many fibers are in an array,
 * since stacks are far apart: each is in a page of its own, and a switch that leaves them alone does not wait
 * for the host's memory.
 */
struct emu_fiber {
	void *rbx, *rbp, *r12, *r13, *r14, *r15;
	void *sp, *ip; /* as after the return from the switch; with ucontext the context, and nothing */
};

/* Saves the running context in *save and continues with *to. */
void emu_fiber_switch(struct emu_fiber *save, const struct emu_fiber *to);
/* The same, faster where mostly the other context was saved by the same call in the source. */
void emu_fiber_switch_alike(struct emu_fiber *save, const struct emu_fiber *to);

/* An address at the end of the running stack, or a few words before it. */
static inline const char *emu_fiber_here(void)
{
#if defined(__x86_64__) && !defined(EMU_FIBER_UCONTEXT)
	const char *here;

	__asm__ volatile("mov %%rsp, %0" : "=r"(here)); /* __builtin_frame_address() would push a frame */
	return here;
#else
	return __builtin_frame_address(0);
#endif
}

/*
 * Sets how deep the running stack may become: compiled code may ask before it makes a frame. The word is the
 * thread's, where split stacks of gcc and clang look for it; only nvwave-nvcc's kernels do so (host/cuda).
 */
static inline void emu_fiber_limit(uintptr_t lowest)
{
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(EMU_FIBER_UCONTEXT)
	__asm__ volatile("movq %0, %%fs:%c1" : : "r"(lowest), "i"(EMU_FIBER_LIMIT));
#endif
}

/* A context that will run entry() on a stack that ends at top (16-byte aligned). entry never returns. */
struct emu_fiber emu_fiber_prepare(char *bottom, char *top, void (*entry)(void));

/* Address sanitizer must be informed of every switch: announce it before, arrive first thing after. Lanes
 * have no fake stacks (detect_stack_use_after_return stays off, its default). */
#if defined(__SANITIZE_ADDRESS__)
#define EMU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMU_ASAN 1
#endif
#endif

/* Thread sanitizer needs no annotation: all contexts are one thread, and it keeps no stack (meson.build). Its
 * run time works on a lane's stack, which must be larger. */
#include "core/tsan.h"

#ifdef EMU_ASAN
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/asan_interface.h>
#define emu_fiber_announce(bottom, size) __sanitizer_start_switch_fiber(NULL, (bottom), (size))
#define emu_fiber_arrive(bottom, size)   __sanitizer_finish_switch_fiber(NULL, (bottom), (size))
#define emu_fiber_clean(bottom, size)    __asan_unpoison_memory_region((bottom), (size))
#else
#define emu_fiber_announce(bottom, size) ((void)0)
#define emu_fiber_arrive(bottom, size)   ((void)0)
#define emu_fiber_clean(bottom, size)    ((void)0)
#endif

#endif

#endif
