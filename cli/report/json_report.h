/* SPDX-License-Identifier: BSD-3-Clause */
/* A report as JSON: how each command prints it. */
#ifndef CLI_JSON_REPORT_H
#define CLI_JSON_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <nvw/pool.h>

/* Prints and releases it; NULL is a report for which there was no memory. NVW_E_MEMORY, NVW_E_SYSTEM. */
NVW_CHECKED int cli_print_json(json_t *report, FILE *to);

/* Where sentences on a report go: a line each, or an element of a list. */
struct cli_notes {
	FILE *to;
	const char *before; /* each line */
	json_t *list;       /* NULL: lines */
};
/* times: how often it holds. */
void cli_note(const struct cli_notes *notes, const char *text, uint64_t times);

/* A value of a workload's report. */
struct nvw__value;
json_t *cli_value_json(const struct nvw__value *value);

#endif
