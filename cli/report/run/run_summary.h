/* SPDX-License-Identifier: BSD-3-Clause */
/* A run in about a dozen lines: its time, its accesses and misses, what it made durable, its energy. */
#ifndef CLI_RUN_SUMMARY_H
#define CLI_RUN_SUMMARY_H

#include <stdio.h>

struct cli_run_result;

void cli_run_summary(const struct cli_run_result *result, FILE *to);

/* The workload's own figures, latencies and host readers, without those that are 0. */
void cli_run_own_figures(const struct cli_run_result *result, FILE *to);

#endif
