/* SPDX-License-Identifier: BSD-3-Clause */
/* A value and its meaning. See value_line.h. */
#include "value_line.h"

#include <inttypes.h>

#include "core/describe.h"
#include "../words.h"

void cli_line_u64(FILE *to, const char *name, uint64_t value, const char *meaning, const char *unit)
{
	fprintf(to, "%-28s %20" PRIu64 "  # %s (%s)\n", name, value, meaning, words_or(unit, "count"));
}

void cli_line_real(FILE *to, const char *name, double value, const char *meaning, const char *unit)
{
	fprintf(to, "%-28s %20.6f  # %s (%s)\n", name, value, meaning, words_or(unit, "ratio"));
}

void cli_print_value(const struct nvw__value *v, FILE *to)
{
	switch (v->type) {
	case NVW__VALUE_U64:
		cli_line_u64(to, v->name, v->u64, v->meaning, v->unit);
		break;
	case NVW__VALUE_REAL:
		cli_line_real(to, v->name, v->real, v->meaning, v->unit);
		break;
	case NVW__VALUE_TEXT:
		fprintf(to, "%-28s %20s  # %s\n", v->name, v->text, v->meaning);
		break;
	}
}
