/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a child was. See frames.h. */
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "frames.h"
#include "source/place.h"

static struct ct_frames *mine; /* of this child */

static void *fault_address(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (void *)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (void *)context->uc_mcontext.pc;
#else
	return NULL;
#endif
}

/* The frames behind the one that the signal came into; backtrace() begins with this handler's. */
static void leave_frames(int signal, siginfo_t *info, void *context)
{
	void *frame[32];
	const int count = backtrace(frame, 32);
	void *const fault = fault_address(context);
	unsigned n = 0;
	int i = 0;

	(void)info;
	mine->address[n++] = fault;
	while (i < count && frame[i] != fault) {
		i++;
	}
	for (i++; i < count && n < sizeof mine->address / sizeof mine->address[0]; i++) {
		mine->address[n++] = (char *)frame[i] - 1; /* the call, not what comes after it */
	}
	mine->count = n;
	if (signal != CT_FRAMES_ASK) {
		raise(signal); /* its default action, since the handler is reset */
	}
}

void ct_frames_catch(struct ct_frames *frames)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, CT_FRAMES_ASK};
	static char stack[1 << 16];
	const stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction action = {
		.sa_sigaction = leave_frames, .sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND)};
	void *warm[4];

	mine = frames;
	frames->count = 0;
	backtrace(warm, 4); /* loads what it needs now, not in the handler */
	sigaltstack(&alternative, NULL);
	for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++) {
		sigaction(signals[i], &action, NULL);
	}
}

/* ---- Source lines -------------------------------------------------------------------------------------------- */

/* The C library and what the sanitizers put around it: whoever called them is meant. */
static bool is_system(Dwfl_Module *module)
{
	static const char *const names[] = {
		"/libc.so", "/libc-", "/libasan.so", "/libubsan.so", "/ld-linux", "/libpthread"};
	const char *const path =
		module ? dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL) : NULL;

	for (unsigned i = 0; path != NULL && i < sizeof names / sizeof names[0]; i++) {
		if (strstr(path, names[i]) != NULL) {
			return true;
		}
	}
	return path == NULL;
}

static bool place_of(Dwfl *dwfl, const void *address, char ret_place[CT_TEXT_BYTES])
{
	Dwfl_Module *const module = dwfl_addrmodule(dwfl, (Dwarf_Addr)(uintptr_t)address);
	struct nvw__place p;

	if (is_system(module)) {
		return false;
	}
	p = nvw__place_of(module, (Dwarf_Addr)(uintptr_t)address);
	if (p.file == NULL) {
		return false;
	}
	snprintf(ret_place, CT_TEXT_BYTES, "%.150s:%d (%.*s)", p.file, p.line,
		p.function ? p.function_length : 1, p.function ? p.function : "?");
	return true;
}

void ct_frames_place(const struct ct_frames *frames, char ret_place[CT_TEXT_BYTES])
{
	static char *debug_path;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &debug_path,
	};
	Dwfl *const dwfl = frames->count ? dwfl_begin(&callbacks) : NULL;

	ret_place[0] = '\0';
	if (dwfl != NULL && dwfl_linux_proc_report(dwfl, getpid()) == 0 &&
		dwfl_report_end(dwfl, NULL, NULL) == 0) {
		for (uint32_t i = 0; i < frames->count && ret_place[0] == '\0'; i++) {
			place_of(dwfl, frames->address[i], ret_place);
		}
	}
	if (dwfl != NULL) {
		dwfl_end(dwfl);
	}
}
