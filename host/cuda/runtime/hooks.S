/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hooks of plain accesses, as kernels call them (hooks.c). By itself a kernel goes on to the function in C.
 *
 * On the machine the lanes of a warp take turns in the middle of a hook, and one that resumes was called from elsewhere than the one that
 * ran before. So a return would be predicted wrongly each time; the jump is predicted by where the lane before went.
 */
	.text

	.macro HOOK access, n
	.p2align 4
	.globl nvw_tsan_\access\n, nvw_tsan_unaligned_\access\n
	.type nvw_tsan_\access\n, @function
	.type nvw_tsan_unaligned_\access\n, @function
nvw_tsan_\access\n:
nvw_tsan_unaligned_\access\n:
	.cfi_startproc
	cmpq	$0, nvw_cuda_machine(%rip)
	je	nvw_cuda_\access\n\()_by_itself
	movq	(%rsp), %rsi
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	nvw_cuda_\access\n\()_on_machine
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rcx
	jmpq	*%rcx
	.cfi_endproc
	.size nvw_tsan_\access\n, . - nvw_tsan_\access\n
	.endm

	.irp n, 1, 2, 4, 8, 16
	HOOK read, \n
	HOOK write, \n
	.endr

	.section .note.GNU-stack,"",@progbits
