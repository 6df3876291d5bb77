/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave report FOLDER: an index page of the crash reports in it, and what has changed from one to the
 * next. */
#include <stdio.h>
#include <string.h>

#include "core/bounds.h"
#include "core/member.h"

#include "commands.h"
#include "crash_command.h"
#include "report/json_report.h"
#include "report/provenance.h"
#include "report/page/report_index.h"
#include "report/words.h"
#include "session.h"

static void print_texts(const char *what, const json_t *list)
{
	JSON_EACH(text, list) {
		printf("    %s: %s\n", what, json_string_value(text));
	}
}

static void print_row(const json_t *row)
{
	const json_t *const changes = json_object_get(row, "changes");
	char time[REPORT_TIME_TEXT];

	printf("%s  %-16s  %s  %s\n", report_index_time(row, time),
		ct_verdict_words(report_index_verdict(row)), member_text(row, "subject"),
		member_text(row, "file"));
	print_texts("new", json_object_get(changes, "new"));
	print_texts("gone", json_object_get(changes, "gone"));
	if (*member_text(changes, "verdict") != '\0') {
		printf("    the verdict was: %s\n", member_text(changes, "verdict"));
	}
	if (*member_text(changes, "coverage") != '\0') {
		printf("    the coverage was: %s\n", member_text(changes, "coverage"));
	}
}

/* Whether the newest report of some subject fails. The newest come first. */
static bool fails(const json_t *reports)
{
	json_t *const seen = json_object();
	bool failed = false;

	JSON_EACH(row, reports) {
		const char *const subject = member_text(row, "subject");

		if (!json_object_get(seen, subject)) {
			const enum ct_verdict verdict = report_index_verdict(row);

			failed = failed || crash_status(verdict) == STATUS_INCONSISTENT;
			json_object_set_new(seen, subject, json_true());
		}
	}
	json_decref(seen);
	return failed;
}

static void print_text(const char *folder, const json_t *reports)
{
	JSON_EACH(row, reports) {
		print_row(row);
	}
	printf("%s/index.html: %s report%s\n", folder, GROUPED(json_array_size(reports)),
		plural(json_array_size(reports)));
}

static int print_json(const char *folder, json_t *reports)
{
	return cli_print_json(json_pack("{s:s, s:O, s:o}", "folder", folder, "reports", reports, "made_by",
				      cli_provenance(NULL, NULL)),
		stdout);
}

static int write_and_print(const char *folder, json_t *reports, bool json)
{
	NVW_TRY(report_index_page(folder, reports));
	if (json) {
		NVW_TRY(print_json(folder, reports));
	} else {
		print_text(folder, reports);
	}
	NVW_TRY(cli_flush());
	return fails(reports) ? NVW_E_INCONSISTENT : 0;
}

static int report_folder(const char *folder, bool json)
{
	json_t *reports = NULL;
	const int result =
		NVW_OR(report_index_read(folder, &reports), write_and_print(folder, reports, json));

	json_decref(reports);
	return result;
}

static int report(struct cli_options *o)
{
	NVW_FAIL_IF(o->argument_count == 0, NVW_E_USAGE,
		"report: expected a folder with reports of nvwave crash");
	NVW_TRY(cli_options_at_most(o, 1));
	return report_folder(o->argument[0], cli_json(o));
}

const struct cli_command cmd_report = {.main = cli_run_command,
	.help = "nvwave report FOLDER [options]\n\n"
		"Writes FOLDER/index.html: the reports of nvwave crash in the folder (JSON, pages of "
		"--html), newest first,\n"
		"each with what has changed since the last one of the same subject.\n",
	.after_help = "\nExit status: 1 if the newest report of a subject has a finding, 2 if a file is no "
		      "report.",
	.run = report};
