/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of a race check, as text and as JSON. */
#ifndef CLI_RACE_REPORT_H
#define CLI_RACE_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include <emu.h>

void cli_print_races(const struct emu_race_report *report, FILE *to);
/* A new reference; NULL without memory. */
json_t *cli_races_json(const struct emu_race_report *report);

#endif
