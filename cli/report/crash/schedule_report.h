/* SPDX-License-Identifier: BSD-3-Clause */
/* What is said of schedules: in the reports of crash tests and of runs. */
#ifndef CLI_SCHEDULE_REPORT_H
#define CLI_SCHEDULE_REPORT_H

#include <stdio.h>

#include <crashtest/crash.h>

/* How many were run, and how they were drawn. Nothing where none was asked for. */
void cli_schedules_text(const struct ct_schedules *schedules, FILE *to);
/* What is wrong without a crash. */
void cli_schedule_findings_text(const struct ct_schedules *schedules, FILE *to);
/* What the persistency races of a program's threads lose. Nothing, or NULL, where they were not looked
 * for. */
void cli_crash_races_text(const struct ct_races *races, FILE *to);
json_t *cli_crash_races_json(const struct ct_races *races);
/* null where none was asked for. */
json_t *cli_schedules_json(const struct ct_schedules *schedules);

#endif
