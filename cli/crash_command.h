/* SPDX-License-Identifier: BSD-3-Clause */
/* What "nvwave crash" does beyond what it shares with "nvwave run": its own options, progress, exit status. */
#ifndef CLI_CRASH_COMMAND_H
#define CLI_CRASH_COMMAND_H

#include <config.h>

#include "crash_report.h"
#include "options.h"

/* What is to be tested, and how. */
struct crash_request {
	struct ct_options options;
	bool matrix, self_test, intervals;
	const char *html; /* page to write; NULL: none */
	/* Makes the result in place of a subject or a store log, with the test's final options; NULL: no such. */
	int (*run)(void *context, const struct ct_options *options, struct ct_result *ret_result);
	void *context;
	const char *store_log, *exec, *image, *check, *check_lib, *recover; /* NULL: not given */
	bool replays;                                                       /* --oracle=replay */
};

/* From the command line, whose texts it keeps. NVW_E_USAGE with a message. */
NVW_CHECKED int crash_request_from(const struct cli_options *given, struct crash_request *ret_request);

/* Runs the test, with progress on stderr if that is a terminal, and reports on stdout. Exit status: 0
 * consistent, 1 inconsistent, 2 an error, whose message has been printed. */
int crash_execute(const struct ct_subject *subject, const struct crash_request *request,
	const struct crash_heading *heading, bool json);

/* NVW_E_USAGE unless there are an image and one checker, which the log of a block device may be without. */
NVW_CHECKED int crash_check_foreign(const struct crash_request *request);

/* --store-log: the report, and the exit status. machine: that it was recorded on, NULL for a log from elsewhere. */
int crash_store_log(const struct emu_config *machine, const struct crash_request *request,
	const char *command, bool json);

/* --exec: records the program's run on a copy of the image, and goes on as with its log. The exit status. */
int crash_exec(const struct emu_config *machine, const struct crash_request *request, const char *command,
	bool json);

/* --merge: the JSON reports of all shards of an exploration, as one report. */
int crash_merge(const struct cli_options *given);

/* --self-test of a workload, NULL: of all that are shipped. *ret_good: everything found, no alarm. */
NVW_CHECKED int crash_self_test(const struct nvw_workload *workload, const struct emu_config *config,
	const struct ct_options *options, bool json, bool *ret_good);

#endif
