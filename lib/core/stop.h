/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stopping on a signal: SIGINT, SIGTERM and SIGHUP set a flag. Long loops test it and end normally, with the
 * results so far. Code that does not end in time is cut off: children are killed, temporary folders removed
 * (folder.h) and unfinished files (newfile.h), and the process exits with status 2.
 *
 *	signal -> flag -> 0.9 s to unwind -> nvw_stop_reporting(): 20 s more to write what is known
 *	                            \-> the end                                       \-> the end
 *
 * A third signal is the end at once. Only the process that called nvw_stop_catch() stops in this way: its
 * forked children call nvw_stop_leave_to_parent().
 */
#ifndef CORE_STOP_H
#define CORE_STOP_H

#include <stdbool.h>
#include <sys/types.h>

#include <nvw/errors.h>

/* Catches signals for the whole process. SIGHUP remains ignored if it was (nohup). */
void nvw_stop_catch(void);

/* In a forked child: leaves signals to the process group to the parent; executed programs get the default
 * actions. */
void nvw_stop_leave_to_parent(void);

/* Sets the flag as if this signal had arrived, for callers with signal handlers of their own. Safe in a
 * handler. */
void nvw_stop_note(int signal);

/* The work has ended; from now on results are written. */
void nvw_stop_reporting(void);

/* How many such signals this process has received, also one that leaves them to its parent. */
int nvw_stop_signals(void);

/* The signal, or 0. */
extern volatile int nvw__stop_signal;

static inline bool nvw_stopping(void)
{
	return nvw__stop_signal != 0;
}

/* Seconds since the signal; 0 if there was none. */
double nvw_stop_seconds(void);

/* Returns NVW_E_STOPPED; the message names the signal. */
int nvw_stop_error(void);

/* Waits for a child; on a stop signal kills it and returns NVW_E_STOPPED. */
int nvw_stop_wait(pid_t pid, int *ret_status);
/* Calls show (NULL: nothing) now and then while it waits. */
int nvw_stop_wait_showing(pid_t pid, int *ret_status, void (*show)(void *context), void *context);

#endif
