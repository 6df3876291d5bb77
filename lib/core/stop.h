/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Being told to stop: SIGINT, SIGTERM and SIGHUP set a flag. Long loops ask it and end in order, with what is known by
 * then. What does not come to an end in time is ended: children are killed, temporary folders removed (folder.h), and the
 * process exits with status 2.
 *
 *	signal -> flag -> 0.9 s to unwind -> nvw_stop_reporting(): 20 s more to write what is known
 *	                            \-> the end                                       \-> the end
 *
 * A third signal is the end at once. Only the process that has called nvw_stop_catch() is meant: its forked children call
 * nvw_stop_leave_to_parent().
 */
#ifndef CORE_STOP_H
#define CORE_STOP_H

#include <stdbool.h>
#include <sys/types.h>

#include <nvw/errors.h>

/* For the whole process. SIGHUP stays ignored if it is (nohup). */
void nvw_stop_catch(void);

/* In a forked child: signals to the process group are the parent's; programs that it executes have the defaults. */
void nvw_stop_leave_to_parent(void);

/* The flag, as if this signal had come: for those who catch signals in their own way. Safe in a handler. */
void nvw_stop_note(int signal);

/* The work has ended; from here on what is known is written. */
void nvw_stop_reporting(void);

/* The signal, or 0. */
extern volatile int nvw__stop_signal;

static inline bool nvw_stopping(void)
{
	return nvw__stop_signal != 0;
}

/* Since the signal; 0 if there was none. */
double nvw_stop_seconds(void);

/* NVW_E_STOPPED, and the message says by which signal. */
int nvw_stop_error(void);

/* Waits for a child; told to stop, kills it and returns NVW_E_STOPPED. */
int nvw_stop_wait(pid_t pid, int *ret_status);

#endif
