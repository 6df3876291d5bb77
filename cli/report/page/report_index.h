/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A folder of crash reports: what each says, and what has changed since the last one of the same subject. A
 * report is a file .json of nvwave crash, one report or an array of them, or a page .html that it wrote,
 * which has the same in short. A page beside a JSON report of the same name is that report's page.
 */
#ifndef CLI_REPORT_INDEX_H
#define CLI_REPORT_INDEX_H

#include <jansson.h>

#include <crashtest/crash.h>

#define REPORT_INDEX_MARK "<meta name=\"generator\" content=\"nvwave report\">"
#define REPORT_PAGE_MARK  "<meta name=\"nvwave-report\" content=\""

/*
 * The reports of a folder, newest first by the files' times, as a list of
 *
 *	{"file", "page": "" if there is none, "time": seconds since 1970, "subject": in words, "report":
 *	 of nvwave crash, "changes": absent in the first one of a subject {"since": a file, "new", "gone":
 *	 texts of findings, "verdict": the words of the one before, "" if it is the same, "coverage": what
 *	 differs, in words}}
 *
 * NVW_E_INPUT names a file that is no such report, NVW_E_USAGE a folder without any. The caller releases the
 * list, also after an error.
 */
NVW_CHECKED int report_index_read(const char *folder, json_t **ret_reports);

/* The verdict of a row's report. */
enum ct_verdict report_index_verdict(const json_t *row);

/* Writes the page folder/index.html; an existing file that is no such page is not replaced (NVW_E_USAGE). */
NVW_CHECKED int report_index_page(const char *folder, const json_t *reports);

/* A time as "2026-11-26 04:56:28 UTC". */
enum { REPORT_TIME_TEXT = 32 };
const char *report_index_time(const json_t *row, char buffer[REPORT_TIME_TEXT]);

/* How much was tested: "901 states; 49 of 50 instants exhausted (98 %); 10 of 16 statements executed". */
enum { REPORT_COVERAGE_TEXT = 256 };
const char *report_index_coverage(const json_t *report, char buffer[REPORT_COVERAGE_TEXT]);

#endif
