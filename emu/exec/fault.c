/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plain code that reads or writes device memory.
 *
 * Device addresses name ranges without access: the bytes are elsewhere, and only the machine knows where. A
 * plain dereference would miss the content of caches and would not be logged, so it faults. In a kernel it
 * ends the run like any other error of a kernel: the handler, on its own stack, leaves the work-item for the
 * engine, which reports the place. In host code there is nothing to return to: the program that embeds the
 * machine is informed (emu_set_host_fault). All other faults of a work-item are reported in the same way;
 * those of host code are passed on unchanged.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/invariant.h"
#include "../memory/device_memory.h"
#include "../emu.h"
#include "../wavefront/fiber.h"
#include "../machine.h"
#include "source/frames.h"

enum { FRAMES = 24, STACK_BYTES = 1 << 19, PLACE_BYTES = 256 };

/* A process has one machine at a time. */
static struct {
	struct nvw_machine *machine; /* NULL: faults are not caught */
	struct sigaction before;
	stack_t stack_before;
	char *stack;

	/* a work-item's fault that has not been reported yet */
	bool pending;
	const char *address;
	enum nvw__fault kind;
	uint64_t work_item;
	void *frame[FRAMES];
	unsigned frames;
} fault;

/* ---- Words --------------------------------------------------------------------------------- */

static bool is_device(const struct nvw_machine *m, const char *address)
{
	return emu_device_at(m, address);
}

static void place(char ret_place[PLACE_BYTES])
{
	NVW_INVARIANT(fault.frames <= FRAMES);
	nvw__frames_place(fault.frame, fault.frames, ret_place, PLACE_BYTES);
	if (!ret_place[0]) {
		snprintf(ret_place, PLACE_BYTES, "(no source line is known: compile with -g)");
	}
}

/* The words for the access that failed. */
static const char *worded(const char *read, const char *write, const char *either)
{
	if (fault.kind == NVW__FAULT_WRITE) {
		return write;
	}
	if (fault.kind == NVW__FAULT_READ) {
		return read;
	}
	return either;
}

static const char *verb(void)
{
	return worded("reads", "writes", "reads or writes");
}

/* "DRAM at offset 0x40". */
static void where(const struct nvw_machine *m, char *to, size_t n)
{
	const struct emu_device *const d = emu_device_at(m, fault.address);
	const char *of = "", *name = "";

	NVW_INVARIANT(d != NULL);
	if (d >= &m->device[EMU_DEVICES_NAMED]) {
		of = " of the device ";
		name = d->name;
	}
	snprintf(to, n, "%s%s%s at offset %#llx", d->pool ? "NVRAM" : "DRAM", of, name,
		(unsigned long long)(d->off + (uint64_t)(fault.address - d->base)));
}

static int describe_kernel(const struct nvw_machine *m)
{
	char line[PLACE_BYTES], memory[96];

	place(line);
	NVW_FAIL_IF(!is_device(m, fault.address), NVW_E_KERNEL,
		"%s: kernel %s: work-item %llu %s address %p, which it may not access", line, m->exec.name,
		(unsigned long long)fault.work_item, verb(), (const void *)fault.address);
	where(m, memory, sizeof memory);
	return nvw_fail(NVW_E_KERNEL,
		"%s: kernel %s: work-item %llu %s device memory (%s) by a plain dereference; use %s", line,
		m->exec.name, (unsigned long long)fault.work_item, verb(), memory,
		worded("nvw_load(p)", "nvw_store(p, value)", "nvw_load(p) or nvw_store(p, value)"));
}

static int describe_host(const struct nvw_machine *m)
{
	char line[PLACE_BYTES], memory[96];

	place(line);
	where(m, memory, sizeof memory);
	return nvw_fail(NVW_E_USAGE, "%s: host code %s device memory (%s) by a plain dereference; use %s",
		line, verb(), memory,
		worded("nvw_read(machine, to, p, bytes)", "nvw_write(machine, p, from, bytes)",
			"nvw_read() or nvw_write()"));
}

void emu_faults_tell(struct nvw_machine *m)
{
	if (fault.pending) {
		fault.pending = false;
		emu_fiber_clean(fault.stack, STACK_BYTES); /* the handler's frames never return */
		m->error = describe_kernel(m);
	}
}

_Noreturn void emu_fail_kernel(struct nvw_machine *m, int error)
{
	m->error = error;
	emu_lane_abandon();
}

/* ---- The handler --------------------------------------------------------------------------- */

static _Noreturn void end_host(struct nvw_machine *m)
{
	describe_host(m);
	if (m->host_fault.told) {
		m->host_fault.told(m->host_fault.context, nvw_error_message());
	}
	fprintf(stderr, "nvwave: %s\n", nvw_error_message());
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
	_exit(128 + SIGSEGV);
}

/* Leaves the signal to its previous handler: the instruction is repeated and faults again. */
static void pass_on(int number, const siginfo_t *info)
{
	sigaction(number, &fault.before, NULL);
	if (info->si_code <= 0) {
		raise(number); /* sent by a process */
	}
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	struct nvw_machine *const m = fault.machine;
	const bool in_lane = emu_is_lane_stack(m, nvw__signal_stack(context));

	if (!in_lane && !is_device(m, info->si_addr)) {
		pass_on(number, info);
		return;
	}
	fault.address = info->si_addr;
	fault.kind = nvw__signal_fault(context);
	fault.frames = nvw__frames_take(context, fault.frame, FRAMES);
	if (!in_lane) {
		end_host(m);
	}
	fault.work_item = nvw_global_id();
	fault.pending = true;
	m->error = NVW_E_KERNEL;
	emu_lane_abandon();
}

/* Installs the handler in front of the present one. */
static int take(void)
{
	const struct sigaction action = {
		.sa_sigaction = on_fault, .sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_NODEFER)};
	struct sigaction now;

	NVW_FAIL_ERRNO_IF(
		sigaction(SIGSEGV, NULL, &now) < 0 ||
			(now.sa_sigaction != on_fault && sigaction(SIGSEGV, &action, &fault.before) < 0),
		"faults cannot be caught");
	return 0;
}

int emu_faults_catch(struct nvw_machine *m)
{
	stack_t stack = {.ss_size = STACK_BYTES};

	fault.stack = malloc(STACK_BYTES);
	NVW_ALLOCATED(fault.stack, "no memory for a signal stack");
	stack.ss_sp = fault.stack;
	fault.machine = m;
	fault.pending = false;
	nvw__frames_prepare();
	NVW_FAIL_ERRNO_IF(sigaltstack(&stack, &fault.stack_before) < 0, "faults cannot be caught");
	return take();
}

void emu_set_host_fault(
	struct nvw_machine *m, void (*told)(void *context, const char *message), void *context)
{
	m->host_fault.told = told;
	m->host_fault.context = context;
	(void)take(); /* it cannot fail the second time */
}

void emu_faults_release(struct nvw_machine *m)
{
	struct sigaction action;
	stack_t stack;

	if (fault.machine != m) {
		return;
	}
	/* A handler or stack installed in the meantime is kept. */
	if (sigaction(SIGSEGV, NULL, &action) == 0 && action.sa_sigaction == on_fault) {
		sigaction(SIGSEGV, &fault.before, NULL);
	}
	if (sigaltstack(NULL, &stack) == 0 && stack.ss_sp == fault.stack) {
		sigaltstack(&fault.stack_before, NULL);
	}
	free(fault.stack);
	fault.stack = NULL;
	fault.machine = NULL;
}
