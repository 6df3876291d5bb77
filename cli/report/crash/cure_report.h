/* SPDX-License-Identifier: BSD-3-Clause */
/* The report on a finding's cure, for text and HTML. */
#ifndef CLI_CURE_REPORT_H
#define CLI_CURE_REPORT_H

#include <stdio.h>

#include <crashtest/crash.h>

/* Prints no line, or a few, each with the indent before it. */
void cli_cure_report(
	const struct ct_result *result, const struct ct_finding *finding, const char *indent, FILE *to);

/*
 * Prints what is known of all cures together: states that they leave, what was not searched. That is
 * nothing, or lines, each after an empty one.
 */
void cli_cure_report_all(const struct ct_result *result, FILE *to);

#endif
