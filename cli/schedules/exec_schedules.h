/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave exec --schedules: runs a program under one schedule after the other (../host/schedules.h). */
#ifndef CLI_EXEC_SCHEDULES_H
#define CLI_EXEC_SCHEDULES_H

#include <jansson.h>

#include "../../host/candidates.h"
#include "../../host/schedules.h"
#include "schedules_asked.h"

struct exec_schedules {
	struct cli_schedules asked;
	struct host_schedule_length first; /* of schedule 1 */
	uint64_t run, bad;                 /* bad: ended otherwise than with status 0 */
	struct cli_logs_seen logs;
	uint64_t first_hash; /* of the schedule that is reported */
	bool repeats;        /* when it was run again, it left the same logs */
	bool outside;        /* of any: it depends on what another process has sent */
	json_t *ended;       /* how the bad ones ended; and pairs of places that were witnessed */
	json_t *witnessed;
};

/* Runs all schedules, and puts the files that the program maps back after each. ret_plan: of the one to run
 * and report. */
NVW_CHECKED int exec_schedules_run(const struct host_options *options, char *const argv[],
	struct exec_schedules *schedules, struct host_schedule_plan *ret_plan);
/* That one has run. */
NVW_CHECKED int exec_schedules_ran(struct exec_schedules *schedules, struct host_session *session);
void exec_schedules_end(struct exec_schedules *schedules);

/* Marks the candidates that a schedule has witnessed. */
void exec_schedules_witness(const struct exec_schedules *schedules, const struct host_session *session,
	struct host_candidates *candidates);

void exec_schedules_text(const struct exec_schedules *schedules, FILE *to);
json_t *exec_schedules_json(const struct exec_schedules *schedules);

#endif
