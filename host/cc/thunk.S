/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the assembler stage calls before an instruction that persists something:
 *
 *	lea -128(%rsp), %rsp; push %rax; lea OPERAND, %rax; push $WHAT; call __nvwave_cc_instruction
 *
 * Everything is kept: flags, general registers here, the others by the hook (host/preload/instrumented.c). Without hooks that is a
 * load and jrcxz, which needs no flags.
 *
 * Before calls of functions that store or flush, and before jumps to such:
 *
 *	lea -128(%rsp), %rsp; call __nvwave_cc_passed
 *
 * which marks its place as executed, and changes nothing else but flags.
 */
#include "hooks.h"

	.text
	.p2align 4
	.globl __nvwave_cc_instruction
	.hidden __nvwave_cc_instruction
	.type __nvwave_cc_instruction, @function
__nvwave_cc_instruction:
	push	%rcx
	mov	__nvwave_cc_on_instruction(%rip), %rcx
	jrcxz	1f
	pushfq
	cld
	push	%rdx
	push	%rsi
	push	%rdi
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	push	%rbp
	mov	%rsp, %rbp
	and	$-16, %rsp
	mov	88(%rbp), %edi	/* above ten registers and the return address */
	mov	%rax, %rsi
	mov	80(%rbp), %rdx
	mov	__nvwave_cc_marks(%rip), %rax
	test	%rax, %rax
	jz	2f
	cmpb	$255, (%rax,%rdx)
	je	2f
	incb	(%rax,%rdx)
2:	mov	%rcx, %r11
	mov	72(%rbp), %rcx	/* as it was: how often a string instruction repeats */
	call	*%r11
	mov	%rbp, %rsp
	pop	%rbp
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rdi
	pop	%rsi
	pop	%rdx
	popfq
1:	pop	%rcx
	ret
	.size __nvwave_cc_instruction, . - __nvwave_cc_instruction

	.p2align 4
	.globl __nvwave_cc_passed
	.hidden __nvwave_cc_passed
	.type __nvwave_cc_passed, @function
__nvwave_cc_passed:
	push	%rcx
	mov	__nvwave_cc_marks(%rip), %rcx
	jrcxz	1f
	push	%rdx
	mov	16(%rsp), %rdx
	cmpb	$255, (%rcx,%rdx)
	je	2f
	incb	(%rcx,%rdx)
2:	pop	%rdx
1:	pop	%rcx
	ret
	.size __nvwave_cc_passed, . - __nvwave_cc_passed

	/* The runtime is linked last, so that all counters are before this, on pages of their own. */
	.section nvwave_cc_counters, "aw", @nobits
	.p2align 12
	.globl __nvwave_cc_behind_counters
	.hidden __nvwave_cc_behind_counters
__nvwave_cc_behind_counters:
	.skip	NVWAVE_CC_PAGE

	.section .note.GNU-stack,"",@progbits
