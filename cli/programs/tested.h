/* SPDX-License-Identifier: BSD-3-Clause */
/* A program under test: its command on a copy of the image, its last recorded run, and that run's crash
 * states. */
#ifndef CLI_TESTED_H
#define CLI_TESTED_H

#include <jansson.h>

#include "../crash_command.h"
#include "recording.h"
#include "working_copy.h"

struct crash_tested {
	const struct emu_config *machine;
	const struct crash_request *request;
	const char *command;
	json_t *made_by;
	char *recover; /* NULL: a checker judges */
	struct working_copy copy;
	char log[300], base[300];
	double limit;                    /* of a run, in seconds; 0: none */
	struct crash_recording recorded; /* the last run */
	bool covers;                     /* coverage has what all runs have executed */
	struct host_coverage coverage;
};

/* image: where it is. Ends with crash_tested_end(), also after an error. */
NVW_CHECKED int crash_tested_begin(const struct emu_config *machine, const struct crash_request *request,
	const char *image, const char *command, struct crash_tested *ret_tested);
void crash_tested_end(struct crash_tested *t);

/* A recording as the request wants it, to the end. */
struct crash_recording crash_tested_recording(struct crash_tested *t);
/* Runs up to the event; 0: to the end. As crash_record(). */
NVW_CHECKED int crash_tested_record(struct crash_tested *t, uint64_t kill_at);
/* Continues the hash with the log of the last run. */
NVW_CHECKED int crash_tested_hash(const struct crash_tested *t, uint64_t *hash);

/* What ct_run_foreign() gets, for the log of the last run. */
struct ct_foreign crash_tested_log(const struct crash_tested *t);
/* Its crash states. */
NVW_CHECKED int crash_tested_explore(const struct crash_tested *t, const struct ct_foreign *log,
	const struct ct_options *options, struct ct_result *ret_result);

#endif
