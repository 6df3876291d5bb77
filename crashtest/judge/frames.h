/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a child was killed by a signal, or hung: source file, line and function. */
#ifndef CRASHTEST_FRAMES_H
#define CRASHTEST_FRAMES_H

#include <signal.h>

#include "../crash.h"

/* This is in memory that parent and child share. */
struct ct_frames {
	volatile uint32_t count;
	void *address[24]; /* innermost first */
};

/*
 * For the child: from now on a fatal signal, and CT_FRAMES_ASK, stores its stack in frames before it takes
 * effect.
 */
void ct_frames_catch(struct ct_frames *frames);

/* The signal that a hanging child gets before it is killed. */
enum { CT_FRAMES_ASK = SIGUSR1 };

/*
 * For the parent, which has the child's mappings: names the innermost frame that has a source line. "" if
 * there is none.
 */
void ct_frames_place(const struct ct_frames *frames, char ret_place[CT_TEXT_BYTES]);

/* Names all frames that have a source line, a line of text each. */
void ct_frames_stack(const struct ct_frames *frames, char ret_stack[CT_STACK_BYTES]);

#endif
