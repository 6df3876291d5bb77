/* SPDX-License-Identifier: BSD-3-Clause */
/* The report of "nvwave exec" on a program: statistics, requested and achieved delays, advice, problems. */
#ifndef CLI_EXEC_REPORT_H
#define CLI_EXEC_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include "../../host/exec.h"

void exec_report_text(const struct host_session *session, const json_t *made_by, FILE *to);
/* NVW_E_MEMORY, NVW_E_SYSTEM. */
/* kernels: those of a CUDA program, or NULL. races, schedules: of exec_races_json() and exec_schedules_json(), or NULL;
 * they are given away. */
NVW_CHECKED int exec_report_json(const struct host_session *session, json_t *made_by, const json_t *kernels,
	json_t *races, json_t *schedules, FILE *to);

#endif
