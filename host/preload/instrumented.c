/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hooks of programs built by nvwave-cc (cc/hooks.h): their stores are recorded one by one (stores.c);
 * their flush and fence instructions are counted, delayed and recorded like calls of libpmem.
 */
#include <cpuid.h>

#include "../cc/hooks.h"
#include "races/windows.h"

/* For the detector a place needs no callers, so it is found without a walk. */
#define place_of(at) ((struct host_caller){.address = (at)})

/* Lines of a range flushed by one instruction. */
static void flush(const void *address, size_t n, enum host_flush how, void *place)
{
	const struct host_mapping *const m = host_mapping_of(address);
	const uint64_t began = host_began();
	const struct host_caller caller = {.address = place};

	if (m != NULL) {
		host_thread()->flushes++;
		host_flush(m, address, n, began, &caller, how);
	}
}

static void fence(void *place)
{
	HOST_KEEPS_ERRNO;

	if (host_control != NULL) {
		host_drain(host_began(), &(struct host_caller){.address = place});
	}
}

/* Locked instructions are mostly not used for persistent memory: they only fence earlier flushes. */
static void fence_flushed(void *place)
{
	if (host_self.flushed) {
		fence(place);
	}
}

static void store(void *address, size_t n, void *place)
{
	const struct host_caller caller = {place, (uintptr_t)__builtin_dwarf_cfa()};
	HOST_KEEPS_ERRNO;

	if (host_scheduling && host_find(address) != NULL) {
		host_point(HOST_AT_STORE, address, place);
	}
	if (host_recording) {
		host_announce(address, n);
		host_store(address, n, false, &caller);
	}
	if (host_checking && host_find(address) != NULL) {
		host_check_store(host_find(address), address, n, HOST_STORE_PLAIN, &place_of(place));
	}
}

/* Most loads tell the detector nothing new. */
static inline bool is_known(const struct host_mapping *m, const void *address, size_t n, const void *place)
{
	return host_self.watched != NULL && !host_scheduling &&
	       host_load_is_known(host_self.watched, m, address, n, place);
}

static void load(const void *address, size_t n, void *place)
{
	const struct host_mapping *const m = host_mapping_of(address);
	HOST_KEEPS_ERRNO;

	if (m != NULL && is_known(m, address, n, place)) {
		return;
	}
	if (m != NULL) {
		host_point(HOST_AT_LOAD, address, place);
	}
	if (m != NULL && host_checking) {
		if (!host_races->loads_seen) { /* the counters beside it change, so that a store takes long */
			host_races->loads_seen = true;
		}
		host_check_load(m, address, n, &place_of(place));
	}
}

static void atomic(const void *address, size_t n, unsigned how, void *place)
{
	const struct host_mapping *const m = host_mapping_of(address);
	HOST_KEEPS_ERRNO;

	if (how == NVWAVE_CC_LOADED && m != NULL && is_known(m, address, n, place) &&
		host_new_release(host_self.watched, address) == NULL) {
		return;
	}
	if (how == NVWAVE_CC_RELEASES) {
		host_point(HOST_AT_ATOMIC, address, place);
		host_check_release(address);
		host_check_changes(address, n);
	} else if (how == NVWAVE_CC_LOADED) {
		host_point(
			HOST_AT_LOOK, address, place); /* behind it, or behind an exchange that has failed */
	}
	if (how & NVWAVE_CC_LOADED) {
		host_check_atomic_load(m, address, n, &place_of(place));
	}
	if ((how & NVWAVE_CC_LOADED) && (how & NVWAVE_CC_STORED)) {
		host_check_changed(address, n, &place_of(place));
	}
	if (how & NVWAVE_CC_STORED) {
		host_check_store(m, address, n, how & NVWAVE_CC_LOADED ? HOST_STORE_LOCKED : HOST_STORE_PLAIN,
			&place_of(place));
	}
}

static bool begin(void *address, size_t n, bool fences, void *place)
{
	HOST_KEEPS_ERRNO;

	if (fences) {
		fence_flushed(place);
	}
	const struct host_caller caller = {place, (uintptr_t)__builtin_dwarf_cfa()};
	const bool held =
		host_recording && host_mapping_of(address) != NULL && host_store_begins(address, n, &caller);

	return held;
}

static void end(void)
{
	HOST_KEEPS_ERRNO;

	host_store_ends();
}

/* ---- Instructions --------------------------------------------------------------------------------- */

/* The registers that xsave must save: SSE, AVX, AVX-512; 0: there is no xsave. */
__attribute__((visibility("hidden"))) uint32_t host_vector_state;
/* There is xsavec, which leaves out what is as a process begins with it: mostly all but SSE. */
__attribute__((used, visibility("hidden"))) uint8_t host_vector_compact;

void host_vector_instruction(
	unsigned what, void *address, void *place, size_t times); /* below, in assembly */
__attribute__((used, visibility("hidden"))) void host_instruction(
	unsigned what, void *address, void *place, size_t times);

/* The address rounded down to its line. */
static void *line_of(const void *address)
{
	return (void *)host_down((uintptr_t)address, HOST_LINE);
}

/* A locked instruction of inline assembly: it has not happened yet, so what it acquires may be missed.
 * What it changes is seen at its thread's next access. */
static void locked(const void *address, size_t n, void *place)
{
	atomic(address, n, NVWAVE_CC_RELEASES, place);
	atomic(address, n, NVWAVE_CC_LOADED | NVWAVE_CC_STORED, place);
	host_check_will_change(n, place);
}

void host_instruction(unsigned what, void *address, void *place, size_t times)
{
	const struct host_caller caller = place_of(place); /* the thunk's frame cannot be unwound */
	const size_t bytes = what >> NVWAVE_CC_BYTES_SHIFT;
	const size_t n = (what & 0xff) == NVWAVE_CC_STRING ? bytes * times : bytes;
	HOST_KEEPS_ERRNO;

	switch (what & 0xff) {
	case NVWAVE_CC_FLUSH:
		flush(line_of(address), HOST_LINE, HOST_FLUSH_CALLED, place);
		break;
	case NVWAVE_CC_FLUSH_ORDERED:
		flush(line_of(address), HOST_LINE, HOST_FLUSH_IN_ORDER, place);
		break;
	case NVWAVE_CC_STREAM:
		host_point(HOST_AT_STORE, address, place);
		if (host_recording && host_mapping_of(address) != NULL) {
			host_store(address, n, true, &caller);
		}
		if (host_checking) {
			host_check_store(host_mapping_of(address), address, n, HOST_STORE_STREAMED, &caller);
		}
		flush(address, n, HOST_FLUSH_STREAMED, place);
		break;
	case NVWAVE_CC_FENCE:
		fence(place);
		break;
	case NVWAVE_CC_ATOMIC:
		host_point(HOST_AT_ATOMIC, address, place);
		fence_flushed(place);
		if (host_checking) {
			locked(address, n, place);
		}
		__attribute__((fallthrough));
	default:
		if ((what & 0xff) != NVWAVE_CC_ATOMIC && host_mapping_of(address) != NULL) {
			host_point(HOST_AT_STORE, address, place);
		}
		if (host_recording && host_mapping_of(address) != NULL) {
			host_store(address, n, false, &caller);
		}
		if (host_checking && (what & 0xff) != NVWAVE_CC_ATOMIC) {
			host_check_store(host_mapping_of(address), address, n, HOST_STORE_PLAIN, &caller);
		}
	}
}

/* Saves the registers other than the general ones, in the layout of xsave, whose header must be zero. */
__asm__(".pushsection .text\n"
	".type host_vector_instruction, @function\n"
	"host_vector_instruction:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	push %rdi\n"
	"	push %rsi\n"
	"	push %rdx\n"
	"	push %rcx\n"
	"	sub $2752, %rsp\n"
	"	and $-64, %rsp\n"
	"	xor %edx, %edx\n"
	"	mov host_vector_state(%rip), %eax\n"
	"	test %eax, %eax\n"
	"	jz 1f\n"
	"	mov %rdx, 512(%rsp)\n"
	"	mov %rdx, 520(%rsp)\n"
	"	mov %rdx, 528(%rsp)\n"
	"	mov %rdx, 536(%rsp)\n"
	"	mov %rdx, 544(%rsp)\n"
	"	mov %rdx, 552(%rsp)\n"
	"	mov %rdx, 560(%rsp)\n"
	"	mov %rdx, 568(%rsp)\n"
	"	cmpb %dl, host_vector_compact(%rip)\n"
	"	jz 4f\n"
	"	xsavec (%rsp)\n"
	"	jmp 2f\n"
	"4:	xsave (%rsp)\n"
	"	jmp 2f\n"
	"1:	fxsave (%rsp)\n"
	"2:	mov -32(%rbp), %rcx\n"
	"	mov -24(%rbp), %rdx\n"
	"	mov -16(%rbp), %rsi\n"
	"	mov -8(%rbp), %rdi\n"
	"	call host_instruction\n"
	"	xor %edx, %edx\n"
	"	mov host_vector_state(%rip), %eax\n"
	"	test %eax, %eax\n"
	"	jz 3f\n"
	"	xrstor (%rsp)\n"
	"	leave\n"
	"	ret\n"
	"3:	fxrstor (%rsp)\n"
	"	leave\n"
	"	ret\n"
	".size host_vector_instruction, . - host_vector_instruction\n"
	".popsection\n");

static uint32_t vector_state(void)
{
	unsigned a, b, c, d;
	uint32_t enabled, high;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) {
		return 0;
	}
	__asm__("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
	host_vector_compact = __get_cpuid_count(0xd, 1, &a, &b, &c, &d) && a >> 1 & 1;
	return enabled & 0xe6;
}

/* ---- The table ------------------------------------------------------------------------------------ */

HOST_EXPORT nvwave_cc_find_hooks nvwave_cc_hooks_3;

HOST_EXPORT const struct nvwave_cc_hooks *nvwave_cc_hooks_3(const void *code, bool watched)
{
	static struct nvwave_cc_hooks hooks = {.lowest = &host_lowest,
		.highest = &host_highest,
		.begin = begin,
		.end = end,
		.fence = fence,
		.instruction = host_vector_instruction};

	host_attach(); /* a shared object's constructors may run before those of this library */
	if (host_control == NULL) {
		return NULL;
	}
	host_vector_state = vector_state();
	if (host_recording || host_checking) { /* as it stays */
		hooks.store = store;
	}
	if (host_checking || host_scheduling) {
		hooks.load = load;
		hooks.atomic = atomic;
	}
	host_control->instrumented = true;
	if (watched) {
		host_announces(code);
	}
	return &hooks;
}

/* Programs that an earlier nvwave-cc has built. */
HOST_EXPORT const struct nvwave_cc_hooks *nvwave_cc_hooks_1(void);
HOST_EXPORT nvwave_cc_find_hooks nvwave_cc_hooks_2;

HOST_EXPORT const struct nvwave_cc_hooks *nvwave_cc_hooks_1(void)
{
	return nvwave_cc_hooks_3(NULL, false);
}

HOST_EXPORT const struct nvwave_cc_hooks *nvwave_cc_hooks_2(const void *code, bool watched)
{
	return nvwave_cc_hooks_3(code, watched);
}
