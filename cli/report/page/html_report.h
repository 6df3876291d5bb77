/* SPDX-License-Identifier: BSD-3-Clause */
/* The report of a crash test as one self-contained HTML page: no script, no other file. */
#ifndef CLI_HTML_REPORT_H
#define CLI_HTML_REPORT_H

#include "../crash/crash_report.h"

/* Writes path, replacing it. Shows source lines of files that are found relative to the working directory or
 * to the place where this program was built. */
NVW_CHECKED int crash_report_html(
	const struct crash_heading *heading, const struct ct_result *result, const char *path);

#endif
