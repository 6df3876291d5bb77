/* SPDX-License-Identifier: BSD-3-Clause */
/* See json_report.h. */
#include "json_report.h"

#include "core/describe.h"
#include "core/invariant.h"
#include "words.h"

int cli_print_json(json_t *report, FILE *to)
{
	NVW_ALLOCATED(report, "no memory for the report");
	const bool failed = json_dumpf(report, to, JSON_INDENT(2)) || fputc('\n', to) == EOF;

	json_decref(report);
	NVW_FAIL_ERRNO_IF(failed, "cannot write the report");
	return 0;
}

void cli_note(const struct cli_notes *n, const char *text, uint64_t times)
{
	NVW_INVARIANT(!n->list != !n->to);
	if (n->list) {
		json_array_append_new(
			n->list, json_pack("{s:s, s:I}", "text", text, "times", (json_int_t)times));
		return;
	}
	fprintf(n->to, "%s%s", n->before, text);
	if (times > 1) {
		fprintf(n->to, " (%llu times)", (ull)times);
	}
	fputc('\n', n->to);
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
