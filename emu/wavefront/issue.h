/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The issue of a request, as kernels jump to it (lib/nvw/kernel.h): the switch from a work-item to the next
 * one, in assembly (issue.S).
 *
 * There are thousands of work-items, and their stacks are cold whenever they resume. So a switch leaves them
 * alone: registers are saved in the wavefront, and what the switch itself needs is here.
 *
 * Address sanitizer has to be told of switches, and other processors have no such assembly: there the jump,
 * if any, leads to nvw__issue(), in C (EMU_ISSUE_BY_JUMP, emu/meson.build).
 */
#ifndef EMU_ISSUE_H
#define EMU_ISSUE_H

#include "fiber.h"

/* struct emu_now */
#define EMU_NOW_FIBER       0
#define EMU_NOW_TO_RUN      8
#define EMU_NOW_LANE        16
#define EMU_NOW_FLOOR       48
#define EMU_NOW_STACK_BYTES 64
#define EMU_NOW_COLD        80
#define EMU_NOW_BY_CALL     96
#define EMU_NOW_ENGINE      104

#define EMU_STACKS_AHEAD 3

#ifndef __ASSEMBLER__

#include "../emu.h"

struct emu_carrier;
struct emu_wavefront;
struct nvw_machine;

/* The running work-item. A process runs one emulation at a time, on one thread. */
extern struct emu_now {
	struct emu_fiber *fiber;
	struct emu_turn turn;
	uintptr_t floor;   /* what is rare happens to a request of the running lane whose stack goes deeper */
	uintptr_t floor_0; /* of lane 0 */
	uint64_t stack_bytes;
	struct emu_wavefront *wavefront;
	uint64_t cold;         /* 1: stacks are fetched ahead */
	uintptr_t limit_0;     /* emu_fiber_limit() of lane 0 */
	void (*by_call)(void); /* nvw__issue(), for what is rare */
	struct emu_fiber engine;
	struct nvw_machine *machine;
	struct emu_carrier *carrier; /* resumable.c */
#ifdef EMU_ASAN
	const void *engine_stack;
	size_t engine_stack_bytes;
#endif
} emu_now;

/* First thing on a new stack. The very first lane comes from the engine; later ones mostly from another
 * lane. */
static inline void emu_lane_begins(void)
{
#ifdef EMU_ASAN
	if (!emu_now.engine_stack) {
		emu_fiber_arrive(&emu_now.engine_stack, &emu_now.engine_stack_bytes);
	} else {
		emu_fiber_arrive(NULL, NULL);
	}
#endif
}

/* The request of the running work-item; returns at its completion. No overflow of its stack is seen. */
void emu_issue(void);

#endif

#endif
