/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a child was killed by a signal, or hung: source file, line and function. */
#ifndef CRASHTEST_FRAMES_H
#define CRASHTEST_FRAMES_H

#include <signal.h>

#include "../crash.h"

/* In memory shared by parent and child. */
struct ct_frames {
	volatile uint32_t count;
	void *address[24]; /* innermost first */
};

/* In the child: fatal signals, and CT_FRAMES_ASK, store its stack in frames before they take effect. */
void ct_frames_catch(struct ct_frames *frames);

/* Sent to a hanging child before it is killed. */
enum { CT_FRAMES_ASK = SIGUSR1 };

/* In the parent, which has the child's mappings: the innermost frame with a source line. "" if there is
 * none. */
void ct_frames_place(const struct ct_frames *frames, char ret_place[CT_TEXT_BYTES]);

/* All of its frames with a source line, a line of text each. */
void ct_frames_stack(const struct ct_frames *frames, char ret_stack[CT_STACK_BYTES]);

#endif
