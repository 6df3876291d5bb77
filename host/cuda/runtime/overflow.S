/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What compiled kernels call where a frame would go deeper than emu_fiber_limit() allows: device code is compiled for split stacks
 * (nvwave-nvcc), whose functions compare before they touch the frame, however large it is. Here no stack is continued elsewhere: the
 * kernel ends. The work-item's stack is full, so the report has another; one kernel runs at a time.
 */
	.text
	.globl __morestack
	.type __morestack, @function
	.globl __morestack_allocate_stack_space /* for an array whose size is a variable */
	.type __morestack_allocate_stack_space, @function
__morestack: /* the caller, where a function begins, has no line of its own; where it was called has */
	addq	$8, %rsp
__morestack_allocate_stack_space:
	movq	(%rsp), %rdi
	leaq	top(%rip), %rsp
	xorl	%ebp, %ebp
	call	nvw_cuda_overflow
	.size __morestack, . - __morestack
	.size __morestack_allocate_stack_space, . - __morestack_allocate_stack_space

	.bss
	.p2align 6
	.skip	65536
top:
	.skip	64

	.section .note.GNU-stack,"",@progbits
