/* SPDX-License-Identifier: BSD-3-Clause */
/* The stack switch. See fiber.h. */
#include "fiber.h"

#include <stdint.h>

#if defined(__x86_64__) && !defined(EMU_FIBER_UCONTEXT)

/*
 * The System V ABI requires rbx, rbp and r12 to r15 to be preserved. The floating-point control words are the
 * same in all fibers, because kernels do not change them.
 *
 * A processor predicts that a return goes behind the last call. So the switch ends with a jump, whose target
 * it takes for that of the jump before, and so for where the neighbouring lane went on; the switch between
 * two calls of the same function ends with a return, and then the returns behind it are predicted, too.
 */
#define SWITCH(name, last)                               \
	__asm__(".text\n"                                \
		".globl " name "\n"                      \
		".hidden " name "\n"                     \
		".type " name ", @function\n" name ":\n" \
		"	movq %rbx, (%rdi)\n"                   \
		"	movq %rbp, 8(%rdi)\n"                  \
		"	movq %r12, 16(%rdi)\n"                 \
		"	movq %r13, 24(%rdi)\n"                 \
		"	movq %r14, 32(%rdi)\n"                 \
		"	movq %r15, 40(%rdi)\n"                 \
		"	popq %rcx\n"                           \
		"	movq %rsp, 48(%rdi)\n"                 \
		"	movq %rcx, 56(%rdi)\n"                 \
		"	movq (%rsi), %rbx\n"                   \
		"	movq 8(%rsi), %rbp\n"                  \
		"	movq 16(%rsi), %r12\n"                 \
		"	movq 24(%rsi), %r13\n"                 \
		"	movq 32(%rsi), %r14\n"                 \
		"	movq 40(%rsi), %r15\n"                 \
		"	movq 48(%rsi), %rsp\n" last ".size " name ", . - " name "\n")
SWITCH("emu_fiber_switch", "	jmpq *56(%rsi)\n");
SWITCH("emu_fiber_switch_alike", "	pushq 56(%rsi)\n	ret\n");

struct emu_fiber emu_fiber_prepare(char *bottom, char *top, void (*entry)(void))
{
	void **const sp = (void **)(void *)top;

	/* At its entry, the function expects the stack as after a call: 16-byte aligned except for the return
	 * address. */
	sp[-1] = NULL;
	return (struct emu_fiber){.sp = &sp[-1], .ip = (void *)(uintptr_t)entry};
}

#else

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

/* A context's ucontext_t is at the bottom of its stack; the engine's is static. The address of the ucontext_t
 * identifies the context. */
static ucontext_t engine_context;
static ucontext_t *running = &engine_context;

void emu_fiber_switch(struct emu_fiber *save, const struct emu_fiber *to)
{
	ucontext_t *const from = running;

	save->sp = from;
	running = to->sp;
	swapcontext(from, running);
}

void emu_fiber_switch_alike(struct emu_fiber *save, const struct emu_fiber *to)
{
	emu_fiber_switch(save, to);
}

struct emu_fiber emu_fiber_prepare(char *bottom, char *top, void (*entry)(void))
{
	ucontext_t *const context = (ucontext_t *)(void *)bottom;

	getcontext(context);
	context->uc_stack.ss_sp = bottom + sizeof *context;
	context->uc_stack.ss_size = (size_t)(top - bottom) - sizeof *context;
	context->uc_link = NULL;
	makecontext(context, entry, 0);
	return (struct emu_fiber){.sp = context};
}

#endif
