/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave run WORKLOAD --schedules=N, and the replay of what a schedule has shown without a crash. */
#ifndef CLI_RUN_SCHEDULES_H
#define CLI_RUN_SCHEDULES_H

#include <jansson.h>

#include <crashtest/crash.h>

#include "../session.h"

/* Runs the workload under the schedules that were asked for, and prints the report. NVW_E_INCONSISTENT: there
 * is a finding. */
NVW_CHECKED int cli_run_schedules(const struct cli_session *session);

/* The plan of a saved finding: its workload, with options. */
struct cli_scheduled {
	const struct nvw_workload *workload;
	const struct nvw_options *options;
	int mutation;
};

/* Runs the schedule of a saved finding again, on its machine. *ret_text has the finding of the saved one's
 * kind, or the first, or "". NVW_E_USAGE if the file names no schedule. */
NVW_CHECKED int cli_replay_schedule(
	const struct cli_scheduled *what, const json_t *head, char ret_text[CT_TEXT_BYTES]);

#endif
