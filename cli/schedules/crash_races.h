/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvwave crash --exec --schedules --races: what is lost if the power is cut within a persistency race.
 *
 * A schedule in which a race happens (../../host/schedule.h) has its run's log. The log is cut behind the
 * effect of the load, at two places: at the next acknowledgement, and where the store is about to become
 * durable. All that was stored until then is taken for durable, but for the last stores to the line of the
 * raced one. So few states are left that all are tested, and a state that fails has lost nothing else. The
 * same without a load of a store whose flush is late or missing.
 */
#ifndef CLI_CRASH_RACES_H
#define CLI_CRASH_RACES_H

#include <crashtest/crash.h>

#include "../../host/schedules.h"

struct crash_races;
struct crash_tested;

/* NULL: no memory. */
struct crash_races *crash_races_begin(void);
/* ret_races gets what was found out of them. */
void crash_races_end(struct crash_races *races, struct ct_races *ret_races);

/* After a run: the races that it predicts, those that have happened, and where it has stored. */
NVW_CHECKED int crash_races_take(struct crash_races *races, struct host_session *session);
/* The schedule of that number shall be directed at stores of predicted races that are not decided: these
 * are the places of the length from which it is planned. Every second one is for races that have not
 * happened yet. All places, if there is none. */
void crash_races_aim(const struct crash_races *races, uint64_t number, struct host_schedule_length *length);

/* Cuts the last run's log within the races that have happened. With room for a result; lost() gets each one
 * that has a failing state, which is saved, if findings are, with the run's schedule. */
NVW_CHECKED int crash_races_try(struct crash_races *races, const struct crash_tested *tested,
	const struct ct_options *options, json_t *schedule, struct ct_result *room,
	void (*lost)(void *context, struct ct_result *result), void *context);

#endif
