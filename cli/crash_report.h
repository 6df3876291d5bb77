/* SPDX-License-Identifier: BSD-3-Clause */
/* What "nvwave crash" prints: the verdict first, then how much was tested, then what was found and where. */
#ifndef CLI_CRASH_REPORT_H
#define CLI_CRASH_REPORT_H

#include <jansson.h>

#include <crashtest/crash.h>

/* What was tested, in words; all strings are the caller's. */
struct crash_heading {
	const char *workload, *machine, *protocol, *model;
	const char *mutation; /* "" for none */
	const char *command;  /* that repeats this test */
	json_t *made_by;      /* provenance.h */
	unsigned atomicity;
	uint64_t seed;
	bool intervals; /* list them all, in text */
};

void crash_matrix_text(const struct crash_heading *heading, const struct ct_matrix *matrix, FILE *to);
NVW_CHECKED int crash_matrix_json(
	const struct crash_heading *heading, const struct ct_matrix *matrix, FILE *to);

void crash_report_text(const struct crash_heading *heading, const struct ct_result *result, FILE *to);
/* NVW_E_MEMORY or NVW_E_SYSTEM if it could not be written. */
NVW_CHECKED int crash_report_json(
	const struct crash_heading *heading, const struct ct_result *result, FILE *to);

#endif
