/* SPDX-License-Identifier: BSD-3-Clause */
/* Stack frames at a signal, and their source lines. See frames.h. */
#include <dwarf.h>
#include <execinfo.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/each.h"
#include "core/invariant.h"
#include "frames.h"
#include "place.h"

enum { FRAMES_MAX = 32 };

void nvw__frames_prepare(void)
{
	void *frame[4];

	backtrace(frame, 4);
}

static void *interrupted_at(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (void *)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (void *)context->uc_mcontext.pc;
#else
	return NULL;
#endif
}

const void *nvw__signal_stack(const void *context)
{
#if defined(__x86_64__)
	return (const void *)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
	return (const void *)((const ucontext_t *)context)->uc_mcontext.sp;
#else
	return NULL;
#endif
}

enum nvw__fault nvw__signal_fault(const void *context)
{
#if defined(__x86_64__)
	enum { PAGE_FAULT = 14, WAS_WRITE = 2 };
	const greg_t *const registers = ((const ucontext_t *)context)->uc_mcontext.gregs;

	if (registers[REG_TRAPNO] == PAGE_FAULT) {
		if (registers[REG_ERR] & WAS_WRITE) {
			return NVW__FAULT_WRITE;
		}
		return NVW__FAULT_READ;
	}
#endif
	return NVW__FAULT_UNKNOWN;
}

unsigned nvw__frames_take(const void *context, void **ret_address, unsigned capacity)
{
	void *frame[FRAMES_MAX];
	const int count = backtrace(frame, FRAMES_MAX); /* begins with the frames of the handler */
	void *const fault = interrupted_at(context);
	unsigned n = 0;
	int i = 0;

	NVW_INVARIANT(capacity > 0);
	ret_address[n++] = fault;
	while (i < count && frame[i] != fault) {
		i++;
	}
	for (i++; i < count && n < capacity; i++) {
		ret_address[n++] = (char *)frame[i] - 1; /* the call, not the return address */
	}
	return n;
}

/* The libraries that nvwave preloads are as little the program's as the C library is. */
static bool is_system(Dwfl_Module *module)
{
	static const char *const names[] = {"libc.so", "libc-2.", "libasan.so", "libubsan.so", "ld-linux",
		"libpthread", "libnvwave-pmem.so", "libnvwave-locks.so", "libnvwave-schedule.so"};
	const char *const path =
		module ? dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL) : NULL;

	for (unsigned i = 0; path && i < NVW_COUNT(names); i++) {
		if (strncmp(basename(path), names[i], strlen(names[i])) == 0) {
			return true;
		}
	}
	return !path;
}

static const char *function_of(const struct nvw__place *p)
{
	if (*p->function) {
		return p->function;
	}
	return "?";
}

static void place_of(Dwfl *dwfl, Dwarf_Addr address, char *ret_place, size_t n)
{
	Dwfl_Module *const module = dwfl_addrmodule(dwfl, address);
	struct nvw__place p;

	if (is_system(module)) {
		return;
	}
	p = nvw__place_of(module, address);
	if (p.file) {
		snprintf(ret_place, n, "%.120s:%d (%s)", p.file, p.line, function_of(&p));
	}
}

/* Is the module one of this program? */
static bool is_own(Dwfl_Module *module)
{
	Dwarf_Addr begin = 0, end = 0;
	const Dwarf_Addr here = (Dwarf_Addr)(uintptr_t)&nvw__frames_prepare;

	dwfl_module_info(module, NULL, &begin, &end, NULL, NULL, NULL, NULL);
	return here >= begin && here < end;
}

/* The first place that is known. Behind code of a library that has no lines, what this program called it from
 * is not the place. */
static void first_place(Dwfl *dwfl, void *const *address, unsigned count, char *ret_place, size_t n)
{
	bool passed = false;

	for (unsigned i = 0; i < count && ret_place[0] == '\0'; i++) {
		const Dwarf_Addr at = (Dwarf_Addr)(uintptr_t)address[i];
		Dwfl_Module *const module = dwfl_addrmodule(dwfl, at);

		if (passed && module && is_own(module)) {
			return;
		}
		place_of(dwfl, at, ret_place, n);
		passed = passed || !is_system(module);
	}
}

static char *debug_path; /* as long as libdwfl may look at it */
static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.debuginfo_path = &debug_path,
};

/* The modules of a process, which end with dwfl_end(); NULL if they are not known. */
static Dwfl *modules_of(pid_t pid)
{
	Dwfl *const dwfl = dwfl_begin(&callbacks);

	if (dwfl && dwfl_linux_proc_report(dwfl, pid) == 0 && dwfl_report_end(dwfl, NULL, NULL) == 0) {
		return dwfl;
	}
	dwfl_end(dwfl);
	return NULL;
}

void nvw__frames_place(void *const *address, unsigned count, char *ret_place, size_t n)
{
	Dwfl *dwfl = NULL;

	NVW_INVARIANT(n > 0);
	ret_place[0] = '\0';
	if (count > 0) {
		dwfl = modules_of(getpid());
	}
	if (dwfl) {
		first_place(dwfl, address, count, ret_place, n);
	}
	dwfl_end(dwfl);
}

/* ---- Whole stacks ---------------------------------------------------------------------------- */

enum { INLINED_MAX = 8 };

static void add_frame(Dwfl *dwfl, Dwarf_Addr address, char *stack, size_t n)
{
	Dwfl_Module *const module = dwfl_addrmodule(dwfl, address);
	struct nvw__place place[INLINED_MAX];
	const unsigned count = is_system(module) ? 0 : nvw__places_of(module, address, place, INLINED_MAX);

	NVW_EACH(one, place, count) {
		const size_t at = strlen(stack);

		snprintf(stack + at, n - at, "%s%.120s:%d (%s)", at ? "\n" : "", one->file, one->line,
			function_of(one));
	}
}

void nvw__frames_stack(void *const *address, unsigned count, char *ret_stack, size_t n)
{
	Dwfl *dwfl = NULL;

	NVW_INVARIANT(n > 0);
	ret_stack[0] = '\0';
	if (count > 0) {
		dwfl = modules_of(getpid());
	}
	for (unsigned i = 0; dwfl && i < count; i++) {
		add_frame(dwfl, (Dwarf_Addr)(uintptr_t)address[i], ret_stack, n);
	}
	dwfl_end(dwfl);
}

/* ---- Other processes ------------------------------------------------------------------------- */

struct seeker {
	void (*note)(Dwfl *dwfl, Dwarf_Addr address, char *text, size_t n);
	bool one; /* the first text that there is ends the search */
	Dwfl *dwfl;
	char *text;
	size_t n;
};

static int look_at_frame(Dwfl_Frame *frame, void *context)
{
	const struct seeker *const s = context;
	Dwarf_Addr address;
	bool is_activation;

	if (!dwfl_frame_pc(frame, &address, &is_activation)) {
		return DWARF_CB_ABORT;
	}
	s->note(s->dwfl, address - !is_activation, s->text, s->n);
	if (s->one && s->text[0] != '\0') {
		return DWARF_CB_ABORT;
	}
	return DWARF_CB_OK;
}

static void look_at_stack(pid_t thread, bool stopped, struct seeker *s)
{
	NVW_INVARIANT(s->n > 0);
	s->dwfl = modules_of(thread);
	s->text[0] = '\0';
	if (s->dwfl && dwfl_linux_proc_attach(s->dwfl, thread, stopped) == 0) {
		dwfl_getthread_frames(s->dwfl, thread, look_at_frame, s);
	}
	dwfl_end(s->dwfl);
}

void nvw__process_place(pid_t pid, char *ret_place, size_t n)
{
	look_at_stack(pid, false, &(struct seeker){.note = place_of, .one = true, .text = ret_place, .n = n});
}

void nvw__stopped_stack(pid_t thread, char *ret_stack, size_t n)
{
	look_at_stack(thread, true, &(struct seeker){.note = add_frame, .text = ret_stack, .n = n});
}
