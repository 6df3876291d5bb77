/* SPDX-License-Identifier: BSD-3-Clause */
/* A value of a report as a line "name value # meaning (unit)". */
#ifndef CLI_VALUE_LINE_H
#define CLI_VALUE_LINE_H

#include <stdint.h>
#include <stdio.h>

/* unit "": a count, or a ratio. */
void cli_line_u64(FILE *to, const char *name, uint64_t value, const char *meaning, const char *unit);
void cli_line_real(FILE *to, const char *name, double value, const char *meaning, const char *unit);

struct nvw__value;
void cli_print_value(const struct nvw__value *value, FILE *to);

#endif
