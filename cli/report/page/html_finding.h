/* SPDX-License-Identifier: BSD-3-Clause */
/* One finding on the page of a crash test: the cause with its source lines, the moments before the crash, the
 * words. */
#ifndef CLI_HTML_FINDING_H
#define CLI_HTML_FINDING_H

#include <stdio.h>

#include <crashtest/crash.h>

/* Finding i of the result, from 0. */
void html_finding(FILE *to, const struct ct_result *result, unsigned i);

/* What the cures of all findings leave, and what was not searched. */
void html_all_cures(FILE *to, const struct ct_result *result);

#endif
