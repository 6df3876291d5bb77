/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults: accesses outside of all memory, by kernels and by host code to device memory, stacks that overflow,
 * and divisions by zero. The handler has a stack of its own. A kernel's fault ends the kernel with the error
 * that CUDA has for it; a fault of host code ends the program.
 */
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include "runtime.h"

enum { SIGNAL_STACK_BYTES = 1 << 18 };

static struct sigaction before, before_division;
static __thread char *signal_stack;

/* ---- The handler -------------------------------------------------------------------------------- */

static const char *verb(const ucontext_t *context)
{
	return context->uc_mcontext.gregs[REG_ERR] & 2 ? "writes to" : "reads from";
}

/* In enter.S, which calls kernels. */
static bool is_entry(const char *place)
{
	extern const char nvw_cuda_enter_ends[];

	return place > (const char *)nvw_cuda_enter && place <= nvw_cuda_enter_ends;
}

_Noreturn void nvw_cuda_overflow(const void *place)
{
	struct nvw_cuda_description machine = {.stack_bytes = STACK_BYTES};

	if (nvw_cuda_machine) {
		nvw_cuda_machine->describe(&machine);
	}
	if (is_entry(place)) {
		place = (const char *)nvw_cuda_launch.kernel + 1;
	}
	nvw_cuda_report(place, "its stack of %llu bytes has overflowed%s",
		(unsigned long long)machine.stack_bytes,
		nvw_cuda_machine ? "; use less stack, or --set host.stack=..." : "");
	nvw_cuda_end_kernel(cudaErrorLaunchFailure);
}

_Noreturn void nvw_cuda_end_illegal(const void *place, const char *verb, const void *address)
{
	char near[256];

	nvw_cuda_describe_address(address, near, sizeof near);
	nvw_cuda_report(place, "%s %p: %s", verb, address, near);
	nvw_cuda_end_kernel(cudaErrorIllegalAddress);
}

static void on_kernel_fault(int number, const siginfo_t *info, const ucontext_t *context)
{
	const char *const pc = (const char *)context->uc_mcontext.gregs[REG_RIP];

	if (number == SIGFPE) {
		nvw_cuda_report(pc + 1, "divides by zero, or the smallest number by -1");
		nvw_cuda_end_kernel(cudaErrorLaunchFailure);
	}
	if (nvw_cuda_is_stack_guard(info->si_addr)) { /* of what kernels call in the C library */
		nvw_cuda_overflow(pc + 1);
	}
	nvw_cuda_end_illegal(pc + 1, verb(context), info->si_addr);
}

static _Noreturn void on_host_fault(const siginfo_t *info, const ucontext_t *context)
{
	const char *const pc = (const char *)context->uc_mcontext.gregs[REG_RIP];
	char line[512], near[256];

	nvw_cuda_place(pc + 1, line, sizeof line);
	/* A copy of the C library's: it begins with no frame of its own, so its caller is on top. */
	if (!line[0]) {
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
