/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands that do not terminate. A command may use so much CPU time, and five times as much wall-clock time, for one that
 * sleeps. Where it is at the cut is looked up in its stack. A later command that is at the same place, twice in a row, and
 * has used much more time than those that terminated is taken to hang as well: hangs of one kind do not eat the budget.
 */
#ifndef CRASHTEST_HANG_H
#define CRASHTEST_HANG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "crash.h"

enum { CT_HANGS_MAX = 16 };

/* Where commands hung that used up their time: functions. Shared by processes. */
struct ct_hangs {
	volatile uint32_t count;
	char place[CT_HANGS_MAX][128];
	volatile uint32_t alike; /* commands that were cut early */
};

/*
 * Waits until fd can be read, which tells that the process pid has ended. False if it hangs; then ret_where is its place,
 * "file:line (function)", or "" if that is not known. hangs may be NULL.
 */
bool ct_hang_wait(
	int fd, pid_t pid, unsigned timeout_ms, struct ct_hangs *hangs, char ret_where[CT_TEXT_BYTES]);

#endif
