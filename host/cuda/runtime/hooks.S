/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hooks of plain accesses, as kernels call them, and the short way of such an access to the machine (short_way.h). What is rare goes on to
 * the functions in C (hooks.c): the end of a turn, a store that is recorded, an access that does not fit a span.
 *
 * On the machine the lanes of a warp take turns in the middle of a hook, and one that resumes was called from elsewhere than the one that
 * ran before. So each return on the way would be predicted wrongly, and while the processor finds that out, it does not fetch the next
 * lanes' stacks. Hence the short way has no return, but jumps, which are predicted by where the lane before went; and it keeps no more than a
 * line of the lane's stack.
 */
#include "short_way.inc"

	.text

	/*
	 * The access is to rdi, called from rsi; rax is nvw_cuda_machine. It goes to \otherwise unless it may
	 * go the short way. Else rax is the short way, r8 the source line, r9 the place in the machine, r10
	 * the work-item, and the line is touched.
	 */
	.macro FIND_WAY n, otherwise
	movq	(%rax), %rax
	movq	%rdi, %rdx
	shrq	$NVW_CUDA_SPAN_SHIFT, %rdx
	andl	$NVW_CUDA_SPAN_MASK, %edx
	addq	%rax, %rdx
	movq	%rdi, %rcx
	subq	NVW_CUDA_SPAN_START(%rdx), %rcx
	leaq	\n - 1(%rcx), %r11
	cmpq	NVW_CUDA_SPAN_BYTES(%rdx), %r11
	jae	\otherwise	/* not in this span, or over its end; what is over its beginning is not aligned */
	movq	NVW_CUDA_SPAN_AT(%rdx), %r9
	addq	%rcx, %r9
	.if \n > 1
	testb	$(\n - 1), %r9b
	jnz	\otherwise
	.endif
	movq	nvw_cuda_now(%rip), %r10
	testq	%r10, %r10
	jz	\otherwise
	movzbl	%sil, %r11d
	shll	$4, %r11d
	cmpq	%rsi, nvw_cuda_known_sites(%r11)
	jne	\otherwise	/* the first access there */
	movq	nvw_cuda_known_sites + 8(%r11), %r8
	movq	NVW_CUDA_SPAN_TOUCHED(%rdx), %rdx
	shrq	$NVW_CUDA_LINE_SHIFT, %rcx
	movb	$1, (%rdx, %rcx)
	.endm

	/* A store that was announced comes first; rdi is kept, rax is nvw_cuda_machine again. */
	.macro SETTLE back
	PUSH	%rdi
	leaq	9f(%rip), %rcx
	PUSH	%rcx
	jmp	nvw_cuda_settle
	.cfi_adjust_cfa_offset -8
9:	POP	%rdi
	movq	nvw_cuda_machine(%rip), %rax
	jmp	\back
	.endm

	/*
	 * What the compiler takes for aligned has to be, as on a GPU. It makes accesses of 16 bytes of two of 8, so these
	 * need 8.
	 */
	.macro BEGIN name, aligned
	.p2align 4
	.globl nvw_tsan_\name, nvw_tsan_unaligned_\name
	.type nvw_tsan_\name, @function
	.type nvw_tsan_unaligned_\name, @function
nvw_tsan_\name:
	.cfi_startproc
	.if \aligned > 1
	testb	$(\aligned - 1), %dil
	jnz	nvw_cuda_misaligned
	.endif
nvw_tsan_unaligned_\name:
	cmpq	$0, nvw_cuda_pending + NVW_CUDA_PENDING_N(%rip)
	jne	2f
1:	movq	nvw_cuda_machine(%rip), %rax
	testq	%rax, %rax
	jz	4f
	movq	(%rsp), %rsi
	.endm

	/* Goes on behind it if rdi is no address of a shared variable; mostly it is above all of the program. */
	.macro SHARED_OR otherwise
	cmpq	$__stop_nvw_shared, %rdi
	jae	\otherwise
	cmpq	$__start_nvw_shared, %rdi
	jb	\otherwise
	.endm

	/* rdx is the block's place of a shared variable. */
	.macro SHARED_PLACE n, otherwise
	movq	nvw_cuda_now(%rip), %rdx
	testq	%rdx, %rdx
	jz	\otherwise
	movq	%rdi, %rcx
	subq	$nvw_cuda_dynamic_shared, %rcx
	cmpq	$NVW_CUDA_DYNAMIC_MAX, %rcx
	jae	8f
	addq	$\n, %rcx
	cmpq	nvw_cuda_launch + NVW_CUDA_LAUNCH_DYNAMIC(%rip), %rcx
	ja	\otherwise	/* over the end */
8:	movq	NVW_CUDA_ITEM_GROUP(%rdx), %rdx
	movq	NVW_CUDA_GROUP_PLACES(%rdx), %rdx
	addq	%rdi, %rdx
	.endm

	.macro BRING_SHARED n, register, otherwise
	SHARED_PLACE \n, \otherwise
	MOVE_\n (%rdx), (%rdi), \register
	ret
	.endm

	.macro ANNOUNCE_SHARED n, otherwise
	SHARED_PLACE \n, \otherwise
	leaq	nvw_cuda_pending(%rip), %rcx
	movq	%rdi, NVW_CUDA_PENDING_ADDRESS(%rcx)
	movq	%rdx, NVW_CUDA_PENDING_PLACE(%rcx)
	movq	$\n, NVW_CUDA_PENDING_N(%rcx)
	movq	$0, NVW_CUDA_PENDING_AT(%rcx)
	ret
	.endm

	.macro SPEND otherwise
	cmpl	$1, nvw_cuda_turn(%rip)
	jle	\otherwise
	decl	nvw_cuda_turn(%rip)
	.endm

	/* The function in C has it go the long way. */
	.macro END name
3:	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	nvw_cuda_\name\()_on_machine
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	.cfi_remember_state
	GO_BACK
	.cfi_restore_state
2:	SETTLE	1b
	.cfi_endproc
	.size nvw_tsan_\name, . - nvw_tsan_\name
	.endm

	.macro BEGIN_READ n, register, aligned
	BEGIN	read\n, \aligned
	SHARED_OR 6f
	BRING_SHARED \n, \register, 3f
4:	SPEND	nvw_cuda_read\n\()_by_itself
	SHARED_OR 5f
	BRING_SHARED \n, \register, nvw_cuda_read\n\()_by_itself
5:	ret
6:	FIND_WAY \n, 3f
	.endm

	/* The load has 8 bytes at most. Its value is in the request, which r11 is; rdi and r10 are kept. */
	.macro ISSUE_LOAD log2
	POST	$0, $(NVW_CUDA_OP_LOAD + (\log2 << 8))
	PUSH	%r10
	PUSH	%r11
	PUSH	%rdi
	ISSUE	%rax
	POP	%rdi
	POP	%r11
	POP	%r10
	movq	%r10, nvw_cuda_now(%rip)
	.endm

	/* The machine's value goes to where the load that follows finds it. */
	.macro READ n, log2, register
	BEGIN_READ \n, \register, \n
	ISSUE_LOAD \log2
	mov	NVW_CUDA_REQUEST_VALUE(%r11), \register
	mov	\register, (%rdi)
	.cfi_remember_state
	GO_BACK
	.cfi_restore_state
	END	read\n
	.endm

	READ	1, 0, %al
	READ	2, 1, %ax
	READ	4, 2, %eax
	READ	8, 3, %rax

	/* In two pieces, which come to their place together: others, who may use it, run before each. */
	BEGIN_READ 16, %xmm0, 8
	PUSH	%r8
	PUSH	%r9
	ISSUE_LOAD 3
	POP	%r9
	POP	%r8
	addq	$8, %r9
	movq	nvw_cuda_machine(%rip), %rax
	movq	(%rax), %rax
	PUSH	NVW_CUDA_REQUEST_VALUE(%r11)
	PUSH	%r9
	ISSUE_LOAD 3
	POP	%r9
	POP	(%rdi)
	movq	NVW_CUDA_REQUEST_VALUE(%r11), %rax
	movq	%rax, 8(%rdi)
	.cfi_remember_state
	GO_BACK
	.cfi_restore_state
	END	read16

	/* The store follows: the next hook has the machine take its value. */
	.macro WRITE n, log2, aligned
	BEGIN	write\n, \aligned
	movq	$0, nvw_cuda_looks(%rip)
	SHARED_OR 6f
	ANNOUNCE_SHARED \n, 3f
4:	cmpb	$0, nvw_cuda_is_recording(%rip)
	jne	nvw_cuda_write\n\()_by_itself
	SPEND	nvw_cuda_write\n\()_by_itself
	movq	$0, nvw_cuda_looks(%rip)
	SHARED_OR 5f
	ANNOUNCE_SHARED \n, nvw_cuda_write\n\()_by_itself
5:	ret
6:	FIND_WAY \n, 3f
	leaq	nvw_cuda_pending(%rip), %rdx
	movq	%rdi, NVW_CUDA_PENDING_ADDRESS(%rdx)
	movq	$0, NVW_CUDA_PENDING_PLACE(%rdx)
	movq	$\n, NVW_CUDA_PENDING_N(%rdx)
	movq	$0, NVW_CUDA_PENDING_VOLATILE(%rdx)
	movq	%rsi, NVW_CUDA_PENDING_FROM(%rdx)
	movq	%r9, NVW_CUDA_PENDING_AT(%rdx)
	movq	%r8, NVW_CUDA_PENDING_SITE(%rdx)
	movl	$(NVW_CUDA_OP_STORE + (\log2 << 8)), NVW_CUDA_PENDING_OP(%rdx)
	ret
	END	write\n
	.endm

	WRITE	1, 0, 1
	WRITE	2, 1, 2
	WRITE	4, 2, 4
	WRITE	8, 3, 8
	WRITE	16, 3, 8	/* two of 8 */

	.section .note.GNU-stack,"",@progbits
