/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave crash --exec --schedules: the crash states that each of many schedules of a program's threads
 * leaves. */
#ifndef CLI_CRASH_SCHEDULES_H
#define CLI_CRASH_SCHEDULES_H

#include "../programs/tested.h"

/* The request's schedules, one after the other; those with logs that were tested before are counted only. A
 * finding that is new is explained in a schedule with as few switches as were found to do. */
NVW_CHECKED int crash_schedules_run(
	struct crash_tested *tested, const struct ct_options *options, struct ct_result *ret_result);

/* A saved finding's schedule, as crash_exec_replay() wants it. */
NVW_CHECKED int crash_schedules_again(
	struct crash_tested *tested, const json_t *schedule, bool *ret_same, char ret_end[2048]);

#endif
