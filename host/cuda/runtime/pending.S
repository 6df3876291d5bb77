/* SPDX-License-Identifier: BSD-3-Clause */
/* A store that was announced, once it has been executed (pending.c): the short way to the machine, without returns (hooks.S). */
#include "short_way.inc"

	.text

	/* Others run before the value has been stored, so it is taken out of the window at once, and poison is left there. */
	.macro TAKE n, register, poison
4\n:	mov	(%rdi), \register
	mov	\poison, (%rdi)
	jmp	5f
	.endm

	.macro PLACE n, register
	cmpl	$\n, %ecx
	jne	9f
	MOVE_\n (%rdi), (%r9), \register
	movq	$0, NVW_CUDA_PENDING_N(%r10)
	.cfi_remember_state
	GO_BACK
	.cfi_restore_state
9:
	.endm

	.p2align 4
	.globl nvw_cuda_settle
	.type nvw_cuda_settle, @function
nvw_cuda_settle:
	.cfi_startproc
	cmpq	$0, nvw_cuda_pending + NVW_CUDA_PENDING_N(%rip)
	jne	1f
	ret
1:	leaq	nvw_cuda_pending(%rip), %r10
	movq	NVW_CUDA_PENDING_AT(%r10), %r9
	testq	%r9, %r9
	jz	6f
	movq	NVW_CUDA_PENDING_ADDRESS(%r10), %rdi
	movq	NVW_CUDA_PENDING_N(%r10), %rcx
	movq	$0, NVW_CUDA_PENDING_N(%r10)
	movabsq	$NVW_CUDA_POISON_WORD, %rsi
	xorl	%edx, %edx
	cmpl	$4, %ecx
	je	44f
	ja	7f
	cmpl	$1, %ecx
	je	41f
	TAKE	2, %dx, %si
	TAKE	1, %dl, %sil
7:	cmpl	$8, %ecx
	jne	8f
	TAKE	8, %rdx, %rsi
	TAKE	4, %edx, %esi
5:	movq	nvw_cuda_machine(%rip), %rax
	movq	(%rax), %rax
	movq	NVW_CUDA_PENDING_SITE(%r10), %r8
	movl	NVW_CUDA_PENDING_OP(%r10), %esi
	POST	%rdx, %rsi
	PUSH	nvw_cuda_now(%rip)
	ISSUE	%rax
	POP	nvw_cuda_now(%rip)
	.cfi_remember_state
	GO_BACK
	.cfi_restore_state

	/* 16 bytes, in two pieces. */
8:	movq	8(%rdi), %rcx
	movq	%rsi, 8(%rdi)
	movq	(%rdi), %rdx
	movq	%rsi, (%rdi)
	movq	nvw_cuda_machine(%rip), %rax
	movq	(%rax), %rax
	movq	NVW_CUDA_PENDING_SITE(%r10), %r8
	POST	%rdx, $(NVW_CUDA_OP_STORE + (3 << 8))
	PUSH	nvw_cuda_now(%rip)
	PUSH	%r8
	PUSH	%r9
	PUSH	%rcx
	PUSH	%rcx
	ISSUE	%rax
	POP	%rdx
	POP	%rdx
	POP	%r9
	POP	%r8
	addq	$8, %r9
	movq	nvw_cuda_machine(%rip), %rax
	movq	(%rax), %rax
	POST	%rdx, $(NVW_CUDA_OP_STORE + (3 << 8))
	ISSUE	%rax
	POP	nvw_cuda_now(%rip)
	.cfi_remember_state
	GO_BACK
	.cfi_restore_state

	/* To a block's place of a shared variable. */
6:	movq	NVW_CUDA_PENDING_PLACE(%r10), %r9
	testq	%r9, %r9
	jz	nvw_cuda_settle_rarely
	movq	NVW_CUDA_PENDING_ADDRESS(%r10), %rdi
	movq	NVW_CUDA_PENDING_N(%r10), %rcx
	PLACE	4, %edx
	PLACE	8, %rdx
	PLACE	1, %dl
	PLACE	16, %xmm0
	PLACE	2, %dx
	jmp	nvw_cuda_settle_rarely
	.cfi_endproc
	.size nvw_cuda_settle, . - nvw_cuda_settle

	.section .note.GNU-stack,"",@progbits
