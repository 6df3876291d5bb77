/* SPDX-License-Identifier: BSD-3-Clause */
/* See json_report.h. */
#include "json_report.h"

int cli_print_json(json_t *report, FILE *to)
{
	if (!report) {
		return nvw_fail(NVW_E_MEMORY, "no memory for the report");
	}
	const int error = json_dumpf(report, to, JSON_INDENT(2)) || fputc('\n', to) == EOF ?
				  nvw_fail_errno("cannot write the report") :
				  0;

	json_decref(report);
	return error;
}
