/* SPDX-License-Identifier: BSD-3-Clause */
/* The stack frames of a child. See frames.h. */
#include <signal.h>
#include <stddef.h>

#include "frames.h"
#include "source/frames.h"

static struct ct_frames *mine; /* of this child; the handler of a signal gets no context */

static void leave_frames(int signal, siginfo_t *info, void *context)
{
	mine->count = nvw__frames_take(context, mine->address, NVW_COUNT(mine->address));
	if (signal != CT_FRAMES_ASK) {
		raise(signal); /* the default action, since the handler is reset */
	}
}

void ct_frames_catch(struct ct_frames *frames)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, CT_FRAMES_ASK};
	/* The handlers' own. Large enough for the emulator's (emu/exec/fault.c), which looks up source lines
	 * on it. */
	static char stack[1 << 19];
	const stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction action = {
		.sa_sigaction = leave_frames, .sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND)};

	mine = frames;
	frames->count = 0;
	nvw__frames_prepare();
	sigaltstack(&alternative, NULL);
	NVW_EACH_IN(signal, signals) {
		sigaction(*signal, &action, NULL);
	}
}

void ct_frames_place(const struct ct_frames *frames, char ret_place[CT_TEXT_BYTES])
{
	nvw__frames_place(frames->address, frames->count, ret_place, CT_TEXT_BYTES);
}

void ct_frames_stack(const struct ct_frames *frames, char ret_stack[CT_STACK_BYTES])
{
	nvw__frames_stack(frames->address, frames->count, ret_stack, CT_STACK_BYTES);
}
