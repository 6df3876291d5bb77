/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a work-item's request to the next work-item (issue.h): what next_context() and emu_fiber_switch() do, without the stack of either.
 */
#ifdef __x86_64__

#include "issue.h"

	.text

	/*
	 * nvw__issue_at: a jump from the middle of a kernel's function, which goes on at rcx. Like a call it may change any register that calls
	 * may change. The function may use the 128 bytes below its stack pointer, and need not have aligned that.
	 */
	.p2align 4
	.globl nvw__issue_at
	.type nvw__issue_at, @function
nvw__issue_at:
	.cfi_startproc
	.cfi_undefined %rip
#ifdef EMU_ISSUE_BY_JUMP
	.hidden emu_now
	cmpq	emu_now + EMU_NOW_FLOOR(%rip), %rsp
	jb	3f

	/* Goes on at rcx, with the stack pointer as it is. Mostly the next lane is the neighbour, and all that is the lane's moves on by one. */
1:	movq	emu_now + EMU_NOW_FIBER(%rip), %rdi
	movq	%rbx, (%rdi)
	movq	%rbp, 8(%rdi)
	movq	%r12, 16(%rdi)
	movq	%r13, 24(%rdi)
	movq	%r14, 32(%rdi)
	movq	%r15, 40(%rdi)
	movq	%rsp, EMU_FIBER_SP(%rdi)
	movq	%rcx, EMU_FIBER_IP(%rdi)
	movq	emu_now + EMU_NOW_STACK_BYTES(%rip), %rsi
	movq	nvw__self@GOTPCREL(%rip), %rax
	shrq	emu_now + EMU_NOW_TO_RUN(%rip)
	jnc	4f
	incq	emu_now + EMU_NOW_LANE(%rip)
	addq	$8, (%rax)
	addq	$1 << EMU_FIBER_SHIFT, %rdi
5:	addq	%rsi, emu_now + EMU_NOW_FLOOR(%rip)
	addq	%rsi, %fs:EMU_FIBER_LIMIT
	movq	%rdi, emu_now + EMU_NOW_FIBER(%rip)
	cmpb	$0, emu_now + EMU_NOW_COLD(%rip)
	je	2f
	movq	(EMU_STACKS_AHEAD << EMU_FIBER_SHIFT) + EMU_FIBER_SP(%rdi), %rsi
	prefetcht0 (%rsi)
	prefetcht0 64(%rsi)
2:	movq	(%rdi), %rbx
	movq	8(%rdi), %rbp
	movq	16(%rdi), %r12
	movq	24(%rdi), %r13
	movq	32(%rdi), %r14
	movq	40(%rdi), %r15
	movq	EMU_FIBER_SP(%rdi), %rsp
	jmpq	*EMU_FIBER_IP(%rdi)

	/* The neighbour does not run in this turn: the next lane that does, or the engine. */
4:	movq	emu_now + EMU_NOW_TO_RUN(%rip), %rdx
	leaq	emu_now + EMU_NOW_ENGINE(%rip), %rdi
	bsfq	%rdx, %rcx
	jz	2b			/* the turn is over */
	shrq	%cl, %rdx
	shrq	%rdx
	movq	%rdx, emu_now + EMU_NOW_TO_RUN(%rip)
	addq	$2, %rcx
	addq	%rcx, emu_now + EMU_NOW_LANE(%rip)
	imulq	%rcx, %rsi
	leaq	(, %rcx, 8), %rdx
	addq	%rdx, (%rax)
	shlq	$EMU_FIBER_SHIFT, %rcx
	movq	emu_now + EMU_NOW_FIBER(%rip), %rdi
	addq	%rcx, %rdi
	jmp	5b
#endif

	/* As a call of the function in C, with a stack that it may use. */
3:	movq	%rsp, %rdx
	subq	$128, %rsp
	andq	$-16, %rsp
	pushq	%rdx
	pushq	%rcx
#ifdef EMU_ISSUE_BY_JUMP
	call	*emu_now + EMU_NOW_BY_CALL(%rip)
#else
	call	nvw__issue@PLT
#endif
	popq	%rcx
	popq	%rsp
	jmpq	*%rcx
	.cfi_endproc
	.size nvw__issue_at, . - nvw__issue_at

#ifdef EMU_ISSUE_BY_JUMP
	.globl emu_issue
	.hidden emu_issue
	.type emu_issue, @function
emu_issue:
	.cfi_startproc
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rcx
	jmp	1b
	.cfi_endproc
	.size emu_issue, . - emu_issue
#endif

#endif

	.section .note.GNU-stack,"",@progbits
