/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules of a session's program (schedule.h): the side of the parent. */
#ifndef HOST_SCHEDULES_H
#define HOST_SCHEDULES_H

#include <stdio.h>

#include "exec.h"
#include "schedule.h"

/* Plans schedule number N (from 1); the length is that of schedule 1, which needs none. directed: see
 * host_schedule_direct(). */
struct host_schedule_plan host_schedule_plan_of(uint64_t seed, uint64_t number, unsigned depth, bool directed,
	const struct host_schedule_length *first);
/* After schedule 1 of a directed plan: only the places of a line, FILE:LINE, stay in its length. NVW_E_INPUT:
 * there are none. */
NVW_CHECKED int host_schedule_direct(struct host_session *session, const char *line);
const char *host_policy_name(uint32_t policy);

/* Makes the file in the session's folder. list: the plan's switches, or NULL. */
NVW_CHECKED int host_schedule_make(
	struct host_session *session, const struct host_schedule_plan *plan, const struct host_switch *list);
void host_schedule_close(struct host_session *session);

/* While the program runs, again and again: ends it if the thread whose turn it is waits for something that is
 * not controlled. */
struct host_stall {
	uint64_t points, ticks;
	double seconds; /* asleep; running, both since the last point */
	double running;
	double at; /* when it was looked at */
};
void host_schedule_watch(struct host_session *session, struct host_stall *stall);

/* After the run: NVW_E_INPUT, with the reason, if it could not be controlled. */
NVW_CHECKED int host_schedule_check(const struct host_session *session);

/* Prints how a schedule ended in which no thread can go on: "deadlock: thread 1 waits ..."; nothing if it did
 * not. */
void host_schedule_print_end(const struct host_session *session, FILE *to);

#endif
