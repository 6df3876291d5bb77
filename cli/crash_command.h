/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of "nvwave crash" that it does not share with "nvwave run": its options, progress, exit status. */
#ifndef CLI_CRASH_COMMAND_H
#define CLI_CRASH_COMMAND_H

#include <config/config.h>

#include "report/crash/crash_report.h"
#include "options.h"
#include "schedules/schedules_asked.h"

enum { CRASH_ASSUMPTIONS_MAX = 8 };

/* The subject of a test, and its options. */
struct crash_request {
	struct ct_options options;
	struct ct_edit assumed[CRASH_ASSUMPTIONS_MAX]; /* options points here */
	bool matrix, self_test, intervals, verbose;
	enum cli_format format;
	const char *patch;    /* file for the cures; NULL: none */
	const char *html;     /* page to write; NULL: none */
	const char *coverage; /* tracefile to write; NULL: none */
	const char *tool;     /* command that is run over the exported states; NULL: none */
	/* Command that builds a copy of the sources with the cures; NULL: they are not tried. */
	const char *try_cures;
	/* Makes the result instead of a subject or a store log, with the test's final options; NULL: none. */
	int (*run)(void *context, const struct ct_options *options, struct ct_result *ret_result);
	void *context;
	const char *store_log, *exec, *image, *check, *check_lib, *recover, *and_then; /* NULL: not given */
	char *judge[3];                 /* check, recover and and_then, with {} in place of the image */
	const char *except;             /* names below a folder that are no part of the image; NULL: none */
	unsigned fs;                    /* of a program's files: enum nvw__disk_fs (core/disk_image.h) */
	const char *bugs;               /* list of a self-test; NULL: PROGRAM.bugs */
	bool replays;                   /* --oracle=replay */
	const char *corpus;             /* folder of a program's inputs; NULL: it has none */
	uint64_t fuzz;                  /* seconds for which AFL++ adds to it; 0: it does not */
	unsigned input_timeout_ms;      /* of a run with one of them */
	bool moves_mode;                /* another option chooses --mode */
	bool moves_cures;               /* another option switches --cures off */
	bool stacks;                    /* a program is recorded with the callers of its stores */
	bool compare;                   /* its pages are compared at every fence */
	struct cli_schedules schedules; /* of its threads; count 0: they run as they do */
};

/* Takes the options from the command line, whose strings it keeps. NVW_E_USAGE with a message. */
NVW_CHECKED int crash_request_from(const struct cli_options *given, struct crash_request *ret_request);
/* Also after an error. */
void crash_request_end(struct crash_request *request);

/* The exit status of a command that says so: 0 where nothing failed. */
int crash_status(enum ct_verdict verdict);

/* Runs the test, with progress on stderr if that is a terminal, and reports on stdout. Exit status: that of
 * the verdict, or 2 after an error, whose message has been printed. */
int crash_execute(const struct ct_subject *subject, const struct crash_request *request,
	const struct crash_heading *heading, bool json);

/* What ct_run_foreign() gets of the request, for a log with such an image. recover NULL: a checker judges. */
struct ct_foreign crash_foreign(const struct crash_request *request, const char *store_log, const char *image,
	const char *recover, const char *command, json_t *made_by);

/* NVW_E_USAGE unless there are an image and one checker; a block device's log needs no checker. */
NVW_CHECKED int crash_check_foreign(const struct crash_request *request);

/* --store-log: prints the report and returns the exit status. machine: the recording machine, NULL for an
 * external log. */
int crash_store_log(const struct emu_config *machine, const struct crash_request *request,
	const char *command, bool json);

/* --exec: records the program's run on a copy of the image, and continues as with its log. Returns the exit
 * status. */
int crash_exec(const struct emu_config *machine, const struct crash_request *request, const char *command,
	bool json);

/* --merge: combines the JSON reports of all shards of an exploration. The exit status, or an error. */
NVW_CHECKED int crash_merge(const struct cli_options *given);

/* --self-test of a workload, or (NULL) of all shipped ones. *ret_good: all bugs found, no false alarm. */
NVW_CHECKED int crash_self_test(const struct nvw_workload *workload, const struct emu_config *config,
	const struct ct_options *options, bool json, bool *ret_good);

/* --self-test of a program (--exec), with the bugs of its list. Likewise. */
NVW_CHECKED int crash_self_test_program(const struct emu_config *machine, const struct crash_request *request,
	const char *command, bool json, bool *ret_good);

#endif
