/* SPDX-License-Identifier: BSD-3-Clause */
/* The stack switch. See fiber.h. */
#include "fiber.h"

#include <stdint.h>

#if defined(__x86_64__) && !defined(EMU_FIBER_UCONTEXT)

/*
 * The System V ABI requires rbx, rbp and r12 to r15 to be preserved. The floating-point control words are the
 * same in all fibers, because kernels do not change them.
 *
 * It ends with a jump: a processor predicts that a return goes behind the last call, and that was another fiber's, elsewhere in the
 * kernel; the target of a jump it takes for that of the jump before, and so for where the neighbouring lane went on.
 */
__asm__(".text\n"
	".globl emu_fiber_switch\n"
	".hidden emu_fiber_switch\n"
	".type emu_fiber_switch, @function\n"
	"emu_fiber_switch:\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	popq %rcx\n"
	"	jmpq *%rcx\n"
	".size emu_fiber_switch, . - emu_fiber_switch\n");

void *emu_fiber_prepare(char *bottom, char *top, void (*entry)(void))
{
	void **sp = (void **)(void *)top;

	/* At its entry, the function expects the stack as after a call: 16-byte aligned except for the return
	 * address. */
	*--sp = NULL;
	*--sp = (void *)(uintptr_t)entry;
	for (unsigned i = 0; i < 6; i++) {
		*--sp = NULL;
	}
	return sp;
}

#else

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

/* A context's ucontext_t is at the bottom of its stack; the engine's is static. The address of the ucontext_t
 * identifies the context. */
static ucontext_t engine;
static ucontext_t *running = &engine;

void emu_fiber_switch(void **save, void *to)
{
	ucontext_t *const from = running;

	*save = from;
	running = to;
	swapcontext(from, running);
}

void *emu_fiber_prepare(char *bottom, char *top, void (*entry)(void))
{
	ucontext_t *const context = (ucontext_t *)(void *)bottom;

	getcontext(context);
	context->uc_stack.ss_sp = bottom + sizeof *context;
	context->uc_stack.ss_size = (size_t)(top - bottom) - sizeof *context;
	context->uc_link = NULL;
	makecontext(context, entry, 0);
	return context;
}

#endif
