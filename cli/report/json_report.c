/* SPDX-License-Identifier: BSD-3-Clause */
/* See json_report.h. */
#include "json_report.h"

#include "core/describe.h"

int cli_print_json(json_t *report, FILE *to)
{
	NVW_ALLOCATED(report, "no memory for the report");
	const bool failed = json_dumpf(report, to, JSON_INDENT(2)) || fputc('\n', to) == EOF;

	json_decref(report);
	NVW_FAIL_ERRNO_IF(failed, "cannot write the report");
	return 0;
}

json_t *cli_value_json(const struct nvw__value *value)
{
	switch (value->type) {
	case NVW__VALUE_U64:
		return json_integer((json_int_t)value->u64);
	case NVW__VALUE_REAL:
		return json_real(value->real);
	default:
		return json_string(value->text);
	}
}
