/* SPDX-License-Identifier: BSD-3-Clause */
/* Watching processes that may die or hang: CPU and wall-clock limits from outside. */
#ifndef CRASHTEST_PROCESS_H
#define CRASHTEST_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "frames.h"

double ct_wall_seconds(void);

/* CPU time of a child; negative if it has none any more. */
double ct_cpu_seconds(pid_t pid);

/* A process that sleeps gets so many times its CPU limit in wall-clock time. */
enum { CT_WALL_FACTOR = 10 };

/* True if a process that began with (cpu, wall) seconds has used up its limit. */
bool ct_over_limit(pid_t pid, double cpu, double wall, unsigned limit_ms);

/* First thing in a child: it dies with its parent, of every fatal signal, and leaves no core file. */
void ct_child_begin(void);

/* What became of a process that recovered and checked: fills in text, signal, hung and where, if it did not end in order. */
void ct_describe_death(
	uint32_t phase, bool hung, int status, const struct ct_frames *frames, struct ct_finding *finding);

/* Ends a child that hangs, after it has left its frames. */
void ct_end_hanging(pid_t pid, const struct ct_frames *frames);

#endif
