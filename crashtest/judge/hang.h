/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands, and states in a worker, that do not terminate. A command may use so much CPU time, and five times
 * as much wall-clock time, for one that sleeps. Where it is at the cut is looked up in its stack. A later
 * command that is at the same place, twice in a row, and has used much more time than those that terminated
 * is taken to hang as well: hangs of one kind do not eat the budget. The same holds for a state that a worker
 * judges itself.
 */
#ifndef CRASHTEST_HANG_H
#define CRASHTEST_HANG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "../crash.h"

enum { CT_HANGS_MAX = 16 };

/* The functions in which commands hung and used up their time. Processes share them. */
struct ct_hangs {
	volatile uint32_t count;
	char place[CT_HANGS_MAX][128];
	volatile uint32_t alike; /* commands that were cut early */
};

/*
 * Waits until fd can be read, which tells that the process pid has ended. False if it hangs; then ret_where
 * is its place, "file:line (function)", or "" if that is not known. hangs may be NULL.
 */
bool ct_hang_wait(
	int fd, pid_t pid, unsigned timeout_ms, struct ct_hangs *hangs, char ret_where[CT_TEXT_BYTES]);

/* A command that answered in time has used this much, with its descendants. On a busy computer that is far
 * less than its wall-clock time, by which every command that hangs would be waited for. */
void ct_hang_ended(const struct rusage *usage);

/* A state that a worker judges now. */
struct ct_hang_state {
	pid_t pid;      /* of the worker */
	double cpu;     /* seconds that it has used for the state */
	double slowest; /* CPU seconds of its slowest state that terminated, as of the last look at it */
	unsigned timeout_ms;
};

/* What the worker's parent saw of a state. All zero when the state begins. */
struct ct_hang_look {
	double cpu;
	unsigned alike;
};

/* True if it hangs like one before, and has used ten times as much time as any that terminated, and a
 * twentieth of the timeout. Called again and again while the state goes on. */
bool ct_hang_is_alike(struct ct_hangs *hangs, const struct ct_hang_state *state, struct ct_hang_look *look);

/* A state that used up its time was at "file:line (function)". */
void ct_hang_remember(struct ct_hangs *hangs, const char *where);

#endif
