/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults: accesses outside of all memory, by kernels and by host code to device memory, stacks that overflow, and divisions by zero. The
 * handler has a stack of its own. A kernel's fault ends the kernel with the error that CUDA has for it; a fault of host code ends the program.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "runtime.h"

enum { SIGNAL_STACK_BYTES = 1 << 18 };

static struct sigaction before, before_division;
static __thread char *signal_stack;

/* ---- The handler ------------------------------------------------------------------------------------------------ */

static const char *verb(const ucontext_t *context)
{
	return context->uc_mcontext.gregs[REG_ERR] & 2 ? "writes to" : "reads from";
}

/* On the machine, whose stacks lie one below the other: the next word to be pushed is out of all of them. */
static bool is_below_all_stacks(const ucontext_t *context)
{
	uint64_t word;
	const struct iovec to = {&word, sizeof word};
	const struct iovec from = {(char *)context->uc_mcontext.gregs[REG_RSP] - sizeof word, sizeof word};

	return nvw_cuda_machine && process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)sizeof word;
}

static void on_kernel_fault(int number, const siginfo_t *info, const ucontext_t *context)
{
	const char *const pc = (const char *)context->uc_mcontext.gregs[REG_RIP];
	char near[256];

	if (number == SIGFPE) {
		nvw_cuda_report(pc + 1, "divides by zero, or the smallest number by -1");
		nvw_cuda_end_kernel(cudaErrorLaunchFailure);
	}
	if (nvw_cuda_is_stack_guard(info->si_addr)) {
		nvw_cuda_report(pc + 1, "its stack of %d bytes has overflowed", STACK_BYTES);
		nvw_cuda_end_kernel(cudaErrorLaunchFailure);
	}
	if (is_below_all_stacks(context)) {
		nvw_cuda_report(pc + 1, "its stack has overflowed; use less stack, or --set host.stack=...");
		nvw_cuda_end_kernel(cudaErrorLaunchFailure);
	}
	nvw_cuda_describe_address(info->si_addr, near, sizeof near);
	nvw_cuda_report(pc + 1, "%s %p: %s", verb(context), info->si_addr, near);
	nvw_cuda_end_kernel(cudaErrorIllegalAddress);
}

static _Noreturn void on_host_fault(const siginfo_t *info, const ucontext_t *context)
{
	const char *const pc = (const char *)context->uc_mcontext.gregs[REG_RIP];
	char line[512], near[256];

	nvw_cuda_place(pc + 1, line, sizeof line);
	if (!line[0]) { /* a copy of the C library's: it begins with no frame of its own, so its caller is on top */
		nvw_cuda_place(*(void *const *)context->uc_mcontext.gregs[REG_RSP], line, sizeof line);
	}
	nvw_cuda_describe_address(info->si_addr, near, sizeof near);
	fprintf(stderr, "nvwave: %s%shost code %s device memory at %p (%s): use cudaMemcpy()\n", line,
		line[0] ? ": " : "", verb(context), info->si_addr, near);
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
	_exit(128 + SIGSEGV);
}

/* In the program: the machine tells of its own faults. */
static bool is_of_program(const ucontext_t *context)
{
	extern const char __executable_start[], etext[];
	const char *const pc = (const char *)context->uc_mcontext.gregs[REG_RIP];

	return pc >= __executable_start && pc < etext;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	if (nvw_cuda_in_kernel && nvw_cuda_now && (!nvw_cuda_machine || is_of_program(context))) {
		on_kernel_fault(number, info, context);
	}
	if (number == SIGSEGV && !nvw_cuda_in_kernel && nvw_cuda_is_device_memory(info->si_addr)) {
		on_host_fault(info, context);
	}
	sigaction(number, number == SIGFPE ? &before_division : &before,
		NULL); /* the instruction faults again */
}

void nvw_cuda_catch_faults(void)
{
	const struct sigaction action = {
		.sa_sigaction = on_fault, .sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_NODEFER)};
	struct sigaction now;

	if (!signal_stack && (signal_stack = malloc(SIGNAL_STACK_BYTES))) {
		const stack_t stack = {.ss_sp = signal_stack, .ss_size = SIGNAL_STACK_BYTES};

		sigaltstack(&stack, NULL);
	}
	if (sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_sigaction != on_fault) {
		sigaction(SIGSEGV, &action, &before);
	}
	if (sigaction(SIGFPE, NULL, &now) == 0 && now.sa_sigaction != on_fault) {
		sigaction(SIGFPE, &action, &before_division);
	}
}

/* Host code may fault before the first launch. */
static __attribute__((constructor)) void begin(void)
{
	nvw_cuda_catch_faults();
}
