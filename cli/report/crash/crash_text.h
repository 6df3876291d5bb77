/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a crash test's text, in their order (crash_report.h has the whole). */
#ifndef CLI_CRASH_TEXT_H
#define CLI_CRASH_TEXT_H

#include "crash_report.h"

/* crash_verdict.c */
void crash_verdict_text(const struct ct_result *result, FILE *to);
/* " of this recorded interleaving of 4 threads": only these orders were run. */
void crash_interleaving_text(const struct ct_result *result, FILE *to);
/* How many states were possible: a count that may be far beyond 2^64, as a power of two. */
void crash_possible_text(const struct ct_result *result, FILE *to);
/* True if the test was of a program's files, not of its memory. */
bool crash_is_on_disk(const struct ct_result *result);

/* The number of possible states, how many of them were covered, and the limits of the verdict
 * (crash_coverage.c) */
void crash_coverage_text(const struct crash_heading *heading, const struct ct_result *result, FILE *to);

/* crash_finding.c */
void crash_finding_text(
	const struct crash_heading *heading, const struct ct_result *result, unsigned i, FILE *to);
/* A note, if a place has no source line. */
void crash_lacking_lines_text(const struct ct_result *result, FILE *to);

#endif
