/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave crash --exec --schedules: the crash states that each of many schedules of a program's threads
 * leaves. */
#ifndef CLI_CRASH_SCHEDULES_H
#define CLI_CRASH_SCHEDULES_H

#include "../programs/crash_exec.h"

/* A program, and how it is run and judged (crash_exec.c). */
struct crash_tested;
struct crash_runs {
	struct crash_tested *tested;
	const struct crash_request *request;
	/* Runs the program on a new copy of the image, under a schedule. 1: there is a log; 0: there is none.
	 */
	int (*run)(struct crash_tested *tested, const struct host_schedule_plan *plan,
		const struct host_switch *list, struct host_schedule *ret_made, char ret_end[2048]);
	/* Continues the hash with the log of the last run. */
	int (*hash)(const struct crash_tested *tested, uint64_t *hash);
	/* Explores it. schedule: for saved findings. */
	int (*explore)(const struct crash_tested *tested, const struct ct_options *options, json_t *schedule,
		struct ct_result *ret_result);
};

/* The request's schedules, one after the other; those with logs that were tested before are counted only. A
 * finding that is new is explained in a schedule with as few switches as were found to do. */
NVW_CHECKED int crash_schedules_run(
	const struct crash_runs *runs, const struct ct_options *options, struct ct_result *ret_result);

/* A saved finding's schedule, as crash_exec_replay() wants it. */
NVW_CHECKED int crash_schedules_again(
	const struct crash_runs *runs, const json_t *schedule, bool *ret_same, char ret_end[2048]);

#endif
