/* SPDX-License-Identifier: BSD-3-Clause */
/* The report of a crash test as one HTML page that needs nothing else: no script, no other file. */
#ifndef CLI_HTML_REPORT_H
#define CLI_HTML_REPORT_H

#include "crash_report.h"

/* Writes path (replaced). Source lines are shown where the files are found from the working directory or from where
 * this program was built. */
NVW_CHECKED int crash_report_html(
	const struct crash_heading *heading, const struct ct_result *result, const char *path);

#endif
