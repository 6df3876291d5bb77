/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * int registers_survive(void *line, void *before, void *after): all registers, the flags and the red zone, taken before
 * and after instructions of every kind that change none of them.
 */
	.text
	.globl registers_survive
	.type registers_survive, @function
registers_survive:
	.irp r, rbx, rbp, r12, r13, r14, r15
	push	%\r
	.endr
	mov	%rsi, to_before(%rip)
	mov	%rdx, to_after(%rip)
	.set i, 0
	.irp r, rax, rbx, rcx, rdx, rsi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
	movabs	$0x1122334455667700 + i, %\r
	.set i, i + 1
	.endr
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movq	%rax, %xmm\n
	pslldq	$\n / 2, %xmm\n
	.endr
	.irp k, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128
	movq	$\k, -\k(%rsp)
	.endr
	cmp	%rax, %rax
	stc
	std

	mov	%rax, save_rax(%rip)
	mov	to_before(%rip), %rax
	jmp	take_before
taken_before:
	mov	save_rax(%rip), %rax

	clflush	(%rdi)
	mfence
	movnti	%rbx, 8(%rdi)
	movntdq	%xmm5, 16(%rdi); sfence	# two on a line
	lock;	notq 40(%rdi)
	lock
	notl	-64(%rsp)		/* in the red zone, twice */
	lock notl -64(%rsp)
	clflush	-64(%rsp) ; clflush save_rax(%rip)
	xchg	%rbx, 48(%rdi)
	xchg	48(%rdi), %rbx
	.byte	0x66; clflush 32(%rdi)
	.intel_syntax noprefix
	clflush	BYTE PTR [rdi+56]
	lock not QWORD PTR [rsp-64]
	lock not QWORD PTR [rsp-64]
	movnti	[rdi], r15
	.att_syntax

	mov	%rax, save_rax(%rip)
	mov	to_after(%rip), %rax
	jmp	take_after
taken_after:
	cld
	xor	%eax, %eax
	.irp r, r15, r14, r13, r12, rbp, rbx
	pop	%\r
	.endr
	ret

	/* To where %rax points. */
	.irp when, before, after
take_\when:
	.set i, 0
	.irp r, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15
	mov	%\r, 8 * i(%rax)
	.set i, i + 1
	.endr
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movups	%xmm\n, 128 + 16 * \n(%rax)
	.endr
	mov	%rbx, save_rbx(%rip)
	.irp k, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128
	mov	-\k(%rsp), %rbx
	mov	%rbx, 512 + \k(%rax)
	.endr
	mov	save_rax(%rip), %rbx
	mov	%rbx, 768(%rax)
	lea	-128(%rsp), %rsp
	pushfq
	pop	%rbx
	lea	128(%rsp), %rsp
	mov	%rbx, 776(%rax)
	mov	save_rbx(%rip), %rbx
	jmp	taken_\when
	.endr
	.size registers_survive, . - registers_survive

	.lcomm to_before, 8
	.lcomm to_after, 8
	.lcomm save_rax, 8
	.lcomm save_rbx, 8
	.section .note.GNU-stack,"",@progbits
