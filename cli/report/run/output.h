/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of a run: a summary; every statistic, as lines "name value # meaning (unit)" between markers; or
 * JSON. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <emu.h>

#include <jansson.h>

struct nvw_description;

struct cli_run_result {
	const char *workload, *options, *mutation; /* mutation: "" for none */
	const struct emu_config *config;
	json_t *made_by; /* provenance.h */
	const struct emu_stats *stats;
	const struct nvw_machine *machine;    /* its devices' statistics */
	const struct nvw_description *report; /* the workload's own figures */
	const struct emu_race_report *races;  /* NULL: no race check */
	const struct emu_undo_report *undo;   /* NULL: the undo log was not checked */
	struct cli_waits {                    /* rows by source line and cause */
		const struct emu_waited *rows;
		unsigned count;
		bool wanted;
	} waits;
	bool every_statistic; /* in text; else the summary */
	double host_seconds;  /* for the measured part */
	const char *verdict;  /* "consistent", "inconsistent", "not checked" */
};

void cli_print_run(const struct cli_run_result *result, FILE *to);
/* NVW_E_MEMORY, NVW_E_SYSTEM. */
NVW_CHECKED int cli_print_run_json(const struct cli_run_result *result, FILE *to);

#endif
