/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runtime that nvwave-nvcc links into CUDA programs: kernels run in the launching thread, work-items as
 * fibers.
 *
 *	api.c                                   the host API
 *	gpm.c                                   files of GPM's library
 *	launch.c arguments.c                    a launch: which kernel, and its arguments in registers
 *	schedule.c                              work-groups that are resident
 *	emulated.c                              or a kernel on the emulated machine, with stacks or without
 *	groups.c                                work-groups and their work-items, and their memory
 *	fault.c overflow.S                      faults of kernels and of host code; stacks that overflow
 *	hooks.c atomics.c library.c results.c   what compiled kernels call,
 *	lanes.c                                 without stacks,
 *	ptx.c ptx_compute.c curand.c            also for inline PTX, and random numbers,
 *	warp.c barriers.c persist.c             to wait for each other, and for durability
 *	shared.c                                shared variables, a place per work-group
 *	record.c                                stores to files, for crash tests
 *	fibers.c stacks.c                       whose work-item runs next, and on which stack
 *	waits.c                                 kernels that wait for what does not come
 *	report.c pending.c memory.c errors.c    source lines; announced stores; device memory; errors
 *	machine.c short_way.h hooks.S pending.S the emulated machine, as it is loaded (seam.h)
 *
 * Calls go downwards.
 *
 * CUDA's functions take no context: what they work on is the process's, so it is in static objects of these
 * files.
 *
 * One kernel runs at a time; host threads that launch wait for each other. nvw_cuda_now is the running
 * work-item, NULL outside of kernels.
 */
#ifndef HOST_CUDA_RUNTIME_H
#define HOST_CUDA_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bounds.h"
#include "core/each.h"

#include "../../../emu/emu.h"
#include "../../../emu/wavefront/fiber.h"
#include "../include/driver_types.h"
#include "../seam.h"
#include "short_way.h"

enum {
	WARP = 32,
	BLOCK_MAX = 1024,
	STACK_BYTES = 256 << 10,
	STACK_GUARD = 1 << 20, /* frames up to that are noticed */
	DYNAMIC_MAX = 160 << 10,
	MULTIPROCESSORS = 16
};

struct extent {
	unsigned x, y, z; /* as dim3 is passed by value: 12 bytes */
};

/* ---- Kernels and their arguments: tables that nvwave-device makes for every object file
 * (compiler/names.c) */

/* A __global__ function: its stub is the address that host code knows. */
struct kernel_entry {
	const void *stub;
	void (*kernel)(void);
	void (*coroutine)(void); /* the kernel without stacks (compiler/coroutines.c); NULL: it has none */
	const char *symbol;
	const char *passed; /* how each parameter is: i, c, s, b, C, S, f, m, w, x (compiler/names.c) */
	uint64_t arch;      /* that it was compiled for: 70 */
	uint64_t arguments; /* their number */
	const char *half;   /* the device half that it is in */
};
/* A __device__ or __constant__ variable: its shadow is the address that host code knows. */
struct variable_entry {
	const void *shadow;
	void *variable;
	const char *symbol;
	uint64_t bytes;
	const char *half;
};

/* Registers and stack at the entry of a function, by the x86-64 ABI. */
enum { INTEGERS = 6, FLOATS = 8, STACK_WORDS = 4096 };
/* An argument that is passed by reference: each work-item has a copy of it. */
enum { OBJECTS_MAX = 24, OBJECT_MAX = 4096, OBJECT_ALIGNED = 128 };
struct object {
	char *bytes;
	size_t length;
	unsigned slot; /* that has its address */
	uintptr_t at;  /* where it was */
};

struct image {
	uint64_t integer[INTEGERS];
	uint64_t floating[FLOATS]; /* the low halves of xmm0 to xmm7 */
	uint64_t stack_words;
	const void *stack_at; /* where the function found its stack words */
	uint64_t stack[STACK_WORDS + 1];
	unsigned objects;
	struct object object[OBJECTS_MAX];
};
/* Calls function with them, on the present stack (enter.S). */
void nvw_cuda_enter(void (*function)(void), struct image *image);
/* Likewise a kernel: what is passed by reference is copied to the present stack. */
void nvw_cuda_enter_kernel(void (*function)(void), struct image *image);
/* On the machine: calls a function for the running work-item, settles its last store and calls end()
 * (enter.S). */
void nvw_cuda_run_item(void **way_out, void (*end)(void), void (*function)(void), struct image *image);
/* Calls a function that does not return, on a stack that is empty at top and may be the running one
 * (enter.S). */
_Noreturn void nvw_cuda_begin(void (*function)(void), char *top);
/* Goes on there as if the kernel had returned, wherever in it the running work-item is. */
_Noreturn void nvw_cuda_leave(void *way_out);

/* Finds the kernel of a stub; NULL: it is none. */
const struct kernel_entry *nvw_cuda_kernel_of(const void *stub);
/* symbol is a shadow, or the variable itself, which a kernel may have handed over. */
const struct variable_entry *nvw_cuda_variable_of(const void *symbol);
/* The kernel's name for people: without parameters. The string lives for ever. */
const char *nvw_cuda_kernel_name(const struct kernel_entry *kernel);
/* Fills in an image from the array of pointers to arguments that cudaLaunchKernel() gets. False, with a
 * message, if that cannot be done. */
bool nvw_cuda_arguments(const struct kernel_entry *kernel, void **args, struct image *ret_image);
/* While a stub is asked for its arguments: takes what it passes to cudaLaunchKernel(). */
bool nvw_cuda_is_asking(void);
void nvw_cuda_answer(void **args);

/* ---- Work-items */

enum state { RUNNABLE, AT_BARRIER, AT_GRID_BARRIER, MEETING };

struct warp;
struct group;

/* The first line is what a work-item that runs needs; there are thousands of them. */
struct item {
	void *sp;          /* on the machine: where its kernel ends (enter.S) */
	struct item *next; /* runnable ones of the group */
	struct group *group;
	struct warp *warp;
	struct extent thread;
	uint8_t lane;
	bool fenced; /* since its last atomic store: that one releases */
	uint8_t seen_bytes;
	uint8_t state; /* enum state */
	void *seen;    /* what its last atomic load read: a fence acquires it */
	char *stack;   /* with the guard below it; on the machine NULL */

	uint64_t result;   /* of what it waited for */
	const void *place; /* where it waits */
	struct {           /* of files, that it has stored to since its last persist barrier (record.c) */
		uintptr_t *line;
		unsigned count, room;
	} lines;
	struct emu_fiber fiber; /* by itself */
} __attribute__((aligned(64)));

/* Lanes that meet at a function: those of a mask. */
struct meeting {
	unsigned mask, arrived; /* arrived 0: free */
	int kind;
	uint64_t value[WARP];
	unsigned argument[WARP];
};

enum { MEETINGS = WARP };
struct warp {
	unsigned live;     /* lanes that have not returned */
	unsigned meetings; /* that are not free */
	struct item *item[WARP];
	struct meeting meeting[MEETINGS];
	const void *asking[WARP]; /* where lanes ask for the active mask */
};

struct group {
	struct group *next; /* resident ones, in a ring */
	struct extent block;
	uint64_t number;
	unsigned size, live, waiting;
	unsigned begun;            /* work-items, by themselves: they begin one after the other */
	int counts;                /* predicates that were true, at the present barrier */
	uint64_t result;           /* the votes of the last barrier */
	struct item *first, *last; /* of those, runnable */
	struct item *items;
	struct warp *warps;
	char *shared;     /* its own bytes of all __shared__ variables */
	uintptr_t places; /* of shared variables, less their addresses */
};

struct launch {
	const char *name;
	const void *place; /* in host code */
	void (*kernel)(void);
	struct image *image;
	struct extent grid, block;
	uint64_t groups;
	unsigned group_size;
	size_t dynamic; /* bytes of dynamic shared memory */
	bool cooperative;
	void (*coroutine)(void); /* NULL: with stacks */
};

/* The running kernel. */
struct running {
	struct emu_fiber engine;
	struct group *ring; /* resident groups: the one that runs, or ran last */
	uint64_t started, done, at_grid_barrier;
	unsigned resident; /* work-items */
	int slice;         /* turns that are left to the group */
	cudaError_t error;
	void (*work_item)(void); /* by itself: the whole of it */
	void (*leave)(void);     /* ends the running work-item, wherever its kernel is; does not return */
};

extern struct running nvw_cuda_running;
extern struct item *nvw_cuda_now;
extern __thread bool
	nvw_cuda_in_kernel;           /* this host thread runs one; others may call the host API meanwhile */
extern struct launch nvw_cuda_launch; /* the running one */

/* Runs a kernel; the caller has the lock. */
cudaError_t nvw_cuda_run(const struct launch *launch);
/* Lets other work-items of the kernel run. */
void nvw_cuda_yield(void);
/*
 * By itself a work-item lets others run after so many accesses; volatile and atomic ones count more, since
 * somebody may spin on them. What is left of its turn: all of it for each work-item that goes on.
 */
enum { TURN = 64, VOLATILE_COST = 16 };
extern int nvw_cuda_turn;
void nvw_cuda_end_turn(void);
static inline void nvw_cuda_spend(int cost)
{
	nvw_cuda_turn -= cost;
	if (__builtin_expect(nvw_cuda_turn <= 0, 0)) {
		nvw_cuda_end_turn();
	}
}
/* Waits in a state until somebody wakes this work-item. */
void nvw_cuda_wait(enum state state, const void *place);
/* Makes a work-item runnable. */
void nvw_cuda_wake(struct item *item);
/* Goes on with the next work-item; this one has been woken already. */
void nvw_cuda_next(void);
static inline bool nvw_cuda_can_run(const struct group *group)
{
	return group->begun < group->size || group->first;
}
/* The next of its work-items: one that begins, then those of the queue. NULL: no memory for its stack; the
 * kernel ends. */
struct item *nvw_cuda_take(struct group *group);
/* The running work-item has returned: goes on with the next one. */
_Noreturn void nvw_cuda_pass_on(void);
/* A work-item has returned: barriers may open (barriers.c). */
void nvw_cuda_item_left(struct group *group);
/* Likewise on the machine, which opens them itself: the votes of those that waited for it. */
void nvw_cuda_item_left_machine(struct group *group);
/* A lane has returned: those that wait for it may go on (warp.c). */
void nvw_cuda_lane_left(struct warp *warp);
/* Ends the kernel from within a work-item. */
_Noreturn void nvw_cuda_end_kernel(cudaError_t error);
/* A group of the running kernel, none of whose work-items has begun; NULL: no memory. */
struct group *nvw_cuda_begin_group(uint64_t number);
/* Its work-items have returned, or the kernel was ended. */
void nvw_cuda_end_group(struct group *group);
/* The stack of a work-item, from its guard on; NULL: no memory. */
char *nvw_cuda_take_stack(void);
void nvw_cuda_give_stack(char *stack);
/* Where it is empty: not all at the same place of their pages, so that their ends are spread over the sets
 * of a cache. */
static inline char *nvw_cuda_stack_top(char *stack)
{
	return stack + STACK_GUARD + STACK_BYTES - ((uintptr_t)stack >> 18) % 32 * 64;
}
bool nvw_cuda_is_stack_guard(const void *address);

/* ---- Memory */

void nvw_cuda_lock(void);
void nvw_cuda_unlock(void);
/* Device memory is open to plain accesses only between these two, which may be nested. */
void nvw_cuda_open_memory(void);
void nvw_cuda_close_memory(void);
bool nvw_cuda_is_device_memory(const void *address);

/* Whether memory by cudaMallocPitch() is in a file; bytes of it, whole pages. NULL, with a message: there
 * are none. */
bool nvw_cuda_pitched_is_file(void);
char *nvw_cuda_map_pitched(size_t bytes);
/* Describes where an address lies, for an error: "4 bytes behind the 400 bytes at 0x.. of cudaMalloc". */
void nvw_cuda_describe_address(const void *address, char *ret_text, size_t n);
/* Bytes of all shared variables; where those at shared are, less where the program has them. */
size_t nvw_cuda_shared_bytes(void);
uintptr_t nvw_cuda_shared_places(const char *shared);
/* Whether an address is one of a shared variable. Mostly it is above all of the program. */
extern char __start_nvw_shared[], __stop_nvw_shared[], nvw_cuda_dynamic_shared[DYNAMIC_MAX];
static inline bool nvw_cuda_is_in_shared(const void *address)
{
	return (const char *)address < __stop_nvw_shared && (const char *)address >= __start_nvw_shared;
}
/* The group's own place of an address of a shared variable; the address itself for all others. */
void *nvw_cuda_translate_shared(void *address, size_t n);
static inline void *nvw_cuda_translate(void *address, size_t n)
{
	if (__builtin_expect(nvw_cuda_is_in_shared(address), 0)) {
		return nvw_cuda_translate_shared(address, n);
	}
	return address;
}
/* A store to shared memory is announced: of n bytes to an address, for which place stands. */
void nvw_cuda_announce(void *address, void *place, size_t n);
/* Likewise, to the machine. */
void nvw_cuda_announce_to_machine(void *address, size_t n, bool is_volatile, const void *from);
/* They end the kernel. */
_Noreturn void nvw_cuda_end_illegal(const void *place, const char *verb, const void *address);
_Noreturn void nvw_cuda_end_misaligned(const void *address, const void *from);
/* By now it is executed: its value goes to the place. Before anything else of a work-item, and before
 * others run. */
void nvw_cuda_settle(void);
/* The running work-item has this one: nobody else runs between an announcement and the end of its store. */
extern struct nvw_cuda_pending {
	char *address, *place; /* place NULL: to the machine */
	size_t n;              /* 0: none */
	uint64_t is_volatile;
	const void *from; /* the announcing call */
	uintptr_t at;     /* of a store that goes the short way (hooks.S): its place in the machine; else 0 */
	const struct nvw_site *site;
	uint32_t op;
} nvw_cuda_pending;

/* What a work-item without a stack accesses (lanes.c). */
extern struct nvw_cuda_lanes {
	struct nvw_cuda_span *span;
	struct emu_turn *turn;
	char *shared; /* all shared variables; the dynamic ones of a block */
	size_t shared_bytes;
	char *dynamic, *dynamic_end;
} nvw_cuda_lanes;
extern struct nvw__request **nvw_cuda_lane_self;
/* To the coroutine that begins: the memory for its frame. NULL: it says how much it needs, and returns. */
extern void *nvw_cuda_lane_frame;
extern size_t nvw_cuda_lane_frame_bytes;

/* Source lines that were asked for last, by the lowest byte of the calling place. */
extern struct nvw_cuda_known_site {
	const void *place;
	const struct nvw_site *site;
} nvw_cuda_known_sites[NVW_CUDA_KNOWN_SITES];

/* Asks for the source line of an access by the long way, so that the next one may go the short way. */
void nvw_cuda_learn_site(const void *place);

/* The memory that kernels may access, in an array to be freed; NULL: no memory. */
struct nvw_cuda_range *nvw_cuda_ranges(size_t *ret_count);

/* ---- The machine (machine.c); NULL: there is none */

extern const struct nvw_cuda_machine *nvw_cuda_machine;
bool nvw_cuda_machine_has(const void *address, size_t n);
void nvw_cuda_machine_load(void *address, size_t n, bool is_volatile, const void *place);
void nvw_cuda_machine_store(void *address, size_t n, bool is_volatile, const void *place);
uint64_t nvw_cuda_machine_atomic(unsigned operation, void *address, unsigned bytes, uint64_t value,
	uint64_t compare, enum nvw_cuda_order order, unsigned scope, const void *place);
void nvw_cuda_machine_fence(unsigned scope, const void *place);
void nvw_cuda_machine_barrier(bool grid, const void *place);
void nvw_cuda_machine_persist(unsigned scope, const void *place);
void nvw_cuda_machine_pass(const void *place);
void nvw_cuda_machine_sleep(unsigned ns, const void *place);
/* __nanosleep(), on the machine or not (library.c). */
void nvw_cuda_sleep_at(unsigned ns, const void *place);
/* Runs nvw_cuda_launch on it (emulated.c). */
cudaError_t nvw_cuda_emulate(void);

/* ---- Kernels that wait (waits.c) */

void nvw_cuda_begin_waits(void);
/* A volatile or atomic access that changes nothing. */
void nvw_cuda_wait_on(const void *place);
/* Set to 0 by what changes something. */
extern uint64_t nvw_cuda_looks;
static inline void nvw_cuda_works(void)
{
	nvw_cuda_looks = 0;
}

/* ---- What kernels call, with the place that calls */

void nvw_cuda_before_read(void *address, size_t n, bool is_volatile, const void *place);
void nvw_cuda_before_write(void *address, size_t n, bool is_volatile, const void *place);
/* enum nvw_cuda_operation, _type, _scope and _order. */
uint64_t nvw_cuda_atomic_at(unsigned operation, unsigned size, unsigned scope, unsigned order, void *address,
	uint64_t value, uint64_t compare, const void *place);
void nvw_cuda_fence_at(unsigned scope, const void *place);
int nvw_cuda_barrier_at(int kind, int predicate, const void *place);
uint64_t nvw_cuda_meet_at(int kind, unsigned mask, uint64_t value, unsigned argument, const void *place);
unsigned nvw_cuda_active_mask_at(const void *place);
long long nvw_cuda_clock(void);
unsigned long long nvw_cuda_nanoseconds(void);
_Noreturn void nvw_cuda_trap_at(const void *place);
/* Before an instruction that SBRP has (host.sbrp): its name, NULL: pAcq, which takes part in no mapping. */
void nvw_cuda_sbrp(const char *instruction, unsigned scope, const void *place);

/* ---- The record of nvwave exec (record.c): kernels' stores to files */

extern const struct nvwave_cc_hooks *nvw_cuda_hooks; /* recorder.c; NULL: nothing is recorded */
extern bool nvw_cuda_is_recording;
bool nvw_cuda_is_in_record(const void *address);
static inline bool nvw_cuda_is_recorded(const void *address)
{
	return __builtin_expect(nvw_cuda_is_recording, 0) && nvw_cuda_is_in_record(address);
}
/* Before a store. */
void nvw_cuda_record_store(void *address, size_t n, const void *place);
/* Before and after an atomic; ends() only if begins() says so. */
bool nvw_cuda_record_begins(void *address, size_t n, const void *place);
void nvw_cuda_record_ends(void);
/* The lines that this work-item has stored to; everything that has been flushed. */
void nvw_cuda_record_flush(const void *place);
void nvw_cuda_record_fence(const void *place);
void nvw_cuda_record_forget(struct item *item);
/* Copies by the host API, in the name of its caller (recorder.c). */
void nvw_cuda_host_copy(void *to, const void *from, size_t n, const void *place);
void nvw_cuda_host_fill(void *to, int byte, size_t n, const void *place);
/* Host code persists what it has stored there. */
void nvw_cuda_record_persist(const void *address, size_t n, const void *place);

/* ---- Errors */

void nvw_cuda_catch_faults(void);
/* Ends the kernel: a function has no room for its frame. Called with a stack of its own (overflow.S). */
_Noreturn void nvw_cuda_overflow(const void *place);
/* Prints "nvwave: PLACE: kernel NAME, block (..), thread (..): ..." for the running work-item. */
void nvw_cuda_report(const void *place, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "file.cu:12 (function)" of a code address; "" without debug information. */
void nvw_cuda_place(const void *address, char *ret_text, size_t n);
/* The sticky error. */
cudaError_t nvw_cuda_fail(cudaError_t error);
/* The same where something is wrong. */
cudaError_t nvw_cuda_unless(cudaError_t error, bool is_right);
cudaError_t nvw_cuda_failed(void);
void nvw_cuda_forget_errors(void);

#endif
