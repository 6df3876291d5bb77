/* SPDX-License-Identifier: BSD-3-Clause */
/* What a crash test's run executed of the workload's source (crashtest/coverage.h). */
#ifndef CLI_STATEMENTS_H
#define CLI_STATEMENTS_H

#include <stdio.h>

#include <jansson.h>

#include <crashtest/crash.h>

/* A few lines: how much, and the first places that were not executed; the same of branches. Nothing if it is
 * unknown. */
void cli_print_statements(const struct ct_coverage *coverage, FILE *to);

/* Every statement that was not executed, and every branch that did not go both ways; NULL if it is unknown,
 * or without memory. */
json_t *cli_statements_json(const struct ct_coverage *coverage);

/* Writes an lcov tracefile, for genhtml and editors: whether each statement, each function and each way of a
 * branch was executed, 1 or 0. */
int cli_write_statements(const struct ct_coverage *coverage, const char *path);

#endif
