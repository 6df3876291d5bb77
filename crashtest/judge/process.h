/* SPDX-License-Identifier: BSD-3-Clause */
/* Watching processes that may die or hang: CPU and wall-clock limits from outside. */
#ifndef CRASHTEST_PROCESS_H
#define CRASHTEST_PROCESS_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "frames.h"

double ct_wall_seconds(void);

/* CPU time of a child; negative if it no longer exists. */
double ct_cpu_seconds(pid_t pid);

/* Of a child that was waited for. */
double ct_cpu_of_usage(const struct rusage *usage);

/* A sleeping process gets this many times its CPU limit in wall-clock time. */
enum {
	CT_WALL_FACTOR = 10,
	CT_COMMAND_WALL_FACTOR = 5 /* of a command: the process that waits for it has more */
};

/* True if a process that began at (cpu, wall) seconds has used up its limit. */
bool ct_over_limit(pid_t pid, double cpu, double wall, unsigned limit_ms);

/* Zeroed memory for this process and its children; NULL: there is none. Released by munmap(). */
void *ct_shared_memory(size_t bytes);

/* Called first in a child that becomes a command: it leads a group, so that its children can be ended with
 * it, and dies with its parent. */
void ct_child_leads(void);

/* Called first in a child: it dies with its parent, or of any fatal signal, without a core file. */
void ct_child_begin(void);

/* Starts a child that begins so; *ret_pid is 0 there. frames: where it leaves its stack if it dies; may be
 * NULL. */
NVW_CHECKED int ct_fork(struct ct_frames *frames, pid_t *ret_pid);

/* An error that a child leaves to its parent, in memory that both have. */
struct ct_left {
	int error;
	char message[512];
};
void ct_leave(struct ct_left *left, int error);
/* Fails as the child did. */
NVW_CHECKED int ct_left_by(const struct ct_left *left);

/* Signals by which others end a process: SIGKILL, and those that nvwave stops on. */
bool ct_is_from_outside(int signal);

/* The end of a process that recovered and checked: fills in text, signal, hung and where, unless it ended
 * normally. */
void ct_describe_death(
	uint32_t phase, bool hung, int status, const struct ct_frames *frames, struct ct_finding *finding);

/* Kills a child process, if there is one, and waits for its end; *pid becomes 0. */
void ct_end_process(pid_t *pid);
/* Ends a hanging child after it has stored its frames. */
void ct_end_hanging(pid_t pid, const struct ct_frames *frames);

#endif
