/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvw_cuda_enter(function, image): calls function with the registers and stack words of a struct image (runtime.h). The stack
 * words are copied for every call, since a function may change its arguments.
 *
 * nvw_cuda_begin(function, top): calls a function that does not return, on an empty stack.
 *
 * nvw_cuda_run_item(way_out, end, function, image): a work-item on the machine, up to its end. Others run in between, so it has no returns but the
 * kernel's, for the reason that hooks.S gives.
 */
	.text

	/* r10: the image; rbp: the frame. */
	.macro CALL_WITH_IMAGE function
	mov	112(%r10), %rcx		/* stack_words */
	test	%rcx, %rcx		/* mostly there are none, and a repeated move has a price of its own */
	jz	1f
	lea	0(,%rcx,8), %rax
	sub	%rax, %rsp
	and	$-128, %rsp		/* structures may be aligned by more than 16 */
	lea	128(%r10), %rsi
	mov	%rsp, %rdi
	cld
	rep movsq
1:	mov	%rsp, 120(%r10)
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
	call	*\function
	.endm

	.macro FRAME
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	.endm

	.p2align 4
	.globl nvw_cuda_begin
	.type nvw_cuda_begin, @function
nvw_cuda_begin:
	.cfi_startproc
	.cfi_undefined %rip
	mov	%rsi, %rsp
	push	$0	/* as a call's return address: the end of the stack */
	jmp	*%rdi
	.cfi_endproc
	.size nvw_cuda_begin, . - nvw_cuda_begin

	.p2align 4
	.globl nvw_cuda_enter
	.type nvw_cuda_enter, @function
nvw_cuda_enter:
	.cfi_startproc
	FRAME
	mov	%rdi, %r11
	mov	%rsi, %r10
	CALL_WITH_IMAGE %r11
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size nvw_cuda_enter, . - nvw_cuda_enter

	.p2align 4
	.globl nvw_cuda_run_item
	.type nvw_cuda_run_item, @function
nvw_cuda_run_item:
	.cfi_startproc
	FRAME
	push	%rbx
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	push	%rsi
	.cfi_offset %rbx, -24
	.cfi_offset %r12, -32
	.cfi_offset %r13, -40
	.cfi_offset %r14, -48
	.cfi_offset %r15, -56
	mov	%rsp, (%rdi)
	mov	%rcx, %r10
	mov	%rdx, %r11
	CALL_WITH_IMAGE %r11
	lea	-48(%rbp), %rsp
left:	call	nvw_cuda_settle
	call	*(%rsp)
	add	$8, %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	pop	%rbp
	.cfi_def_cfa %rsp, 8
	pop	%rcx
	.cfi_def_cfa_offset 0
	.cfi_register %rip, %rcx
	jmp	*%rcx
	.cfi_endproc
	.size nvw_cuda_run_item, . - nvw_cuda_run_item

	/* Ends the kernel of a work-item, however deep it is, by its way out. */
	.globl nvw_cuda_leave
	.type nvw_cuda_leave, @function
nvw_cuda_leave:
	mov	%rdi, %rsp
	lea	48(%rsp), %rbp
	jmp	left
	.size nvw_cuda_leave, . - nvw_cuda_leave
	.globl nvw_cuda_enter_ends
nvw_cuda_enter_ends:

	.section .note.GNU-stack,"",@progbits
