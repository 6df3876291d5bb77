/* SPDX-License-Identifier: BSD-3-Clause */
/* The report of "nvwave exec" on a program: statistics, requested and achieved delays, advice, problems. */
#ifndef CLI_EXEC_REPORT_H
#define CLI_EXEC_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include "../../../host/exec.h"

void exec_report_text(const struct host_session *session, const json_t *made_by, FILE *to);
/* kernels: those of a CUDA program, or NULL. races, schedules: of exec_races_json() and
 * exec_schedules_json(), or NULL; they are given away. */
json_t *exec_report_json(const struct host_session *session, json_t *made_by, const json_t *kernels,
	json_t *races, json_t *schedules);
/* "ended with status 0", in words; text is the caller's. */
const char *exec_report_ending(const struct host_session *session, char text[96]);

#endif
