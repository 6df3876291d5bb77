/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a child was when a signal ended it, or while it hung: source file, line and function. */
#ifndef CRASHTEST_FRAMES_H
#define CRASHTEST_FRAMES_H

#include <signal.h>

#include "crash.h"

/* In memory that parent and child share. */
struct ct_frames {
	volatile uint32_t count;
	void *address[24]; /* innermost first */
};

/* In the child: fatal signals, and CT_FRAMES_ASK, leave its stack in frames before they do what they did. */
void ct_frames_catch(struct ct_frames *frames);

/* What a parent sends to a child that hangs, before it kills it. */
enum { CT_FRAMES_ASK = SIGUSR1 };

/* In the parent, which has the child's mappings: the innermost frame that has a source line. "" if there is none. */
void ct_frames_place(const struct ct_frames *frames, char ret_place[CT_TEXT_BYTES]);

#endif
