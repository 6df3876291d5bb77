/* SPDX-License-Identifier: BSD-3-Clause */
/* A report as JSON: how each command prints it. */
#ifndef CLI_JSON_REPORT_H
#define CLI_JSON_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include <nvw/pool.h>

/* Prints and releases it; NULL is a report for which there was no memory. NVW_E_MEMORY, NVW_E_SYSTEM. */
NVW_CHECKED int cli_print_json(json_t *report, FILE *to);

/* A value of a workload's report. */
struct nvw__value;
json_t *cli_value_json(const struct nvw__value *value);

#endif
