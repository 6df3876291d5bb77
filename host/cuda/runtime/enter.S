/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvw_cuda_enter(function, image): calls function with the registers and stack words of a struct image (runtime.h). The stack
 * words are copied for every call, since a function may change its arguments.
 */
	.text
	.p2align 4
	.globl nvw_cuda_enter
	.type nvw_cuda_enter, @function
nvw_cuda_enter:
	.cfi_startproc
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	mov	%rdi, %r11
	mov	%rsi, %r10
	mov	112(%r10), %rcx		/* stack_words */
	lea	0(,%rcx,8), %rax
	sub	%rax, %rsp
	and	$-128, %rsp		/* structures may be aligned by more than 16 */
	lea	128(%r10), %rsi
	mov	%rsp, %rdi
	mov	%rsp, 120(%r10)
	test	%rcx, %rcx		/* mostly there are none, and a repeated move has a price of its own */
	jz	1f
	cld
	rep movsq
1:
	movq	48(%r10), %xmm0
	movq	56(%r10), %xmm1
	movq	64(%r10), %xmm2
	movq	72(%r10), %xmm3
	movq	80(%r10), %xmm4
	movq	88(%r10), %xmm5
	movq	96(%r10), %xmm6
	movq	104(%r10), %xmm7
	mov	0(%r10), %rdi
	mov	8(%r10), %rsi
	mov	16(%r10), %rdx
	mov	24(%r10), %rcx
	mov	32(%r10), %r8
	mov	40(%r10), %r9
	mov	$8, %eax
	call	*%r11
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size nvw_cuda_enter, . - nvw_cuda_enter

	.section .note.GNU-stack,"",@progbits
