/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of nvwave reproduce, in words. See paper.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/invariant.h"

#include "paper.h"

static const char *format_of(enum paper_form form)
{
	NVW_INVARIANT(form <= PAPER_VALUE);
	if (form == PAPER_PERCENT || form == PAPER_SPEEDUP) {
		return "%+.1f";
	}
	return form == PAPER_VALUE ? "%.4g" : "%.3g";
}

void paper_one_number(double x, enum paper_form form, char text[32])
{
	if (form == PAPER_VALUE && x >= 10000) {
		snprintf(text, 32, "%.0f", x);
	} else {
		snprintf(text, 32, format_of(form), x); /* NOLINT */
	}
}

void paper_number_text(const struct paper_numbers *n, enum paper_form form, char text[PAPER_NUMBER_BYTES])
{
	enum { room = PAPER_NUMBER_BYTES };
	char mean[32], least[32], most[32];

	if (n->count == 0) {
		snprintf(text, room, "-");
		return;
	}
	paper_one_number(n->mean, form, mean);
	paper_one_number(n->least, form, least);
	paper_one_number(n->most, form, most);
	if (strcmp(least, most) != 0) {
		snprintf(text, room, "%s (%s, %s)", mean, least, most);
	} else {
		snprintf(text, room, "%s", mean);
	}
}

void paper_interval_text(const struct paper_interval *i, char *text, size_t room)
{
	if (isinf(i->high)) {
		snprintf(text, room, "above %g", i->low);
	} else if (isinf(i->low)) {
		snprintf(text, room, "at most %g", i->high);
	} else if (i->low < i->high) {
		snprintf(text, room, "%g to %g", i->low, i->high);
	} else {
		snprintf(text, room, "%g", i->low);
	}
}

void paper_ends_text(const struct paper_row *row, char *text, size_t room)
{
	size_t at = 0;

	*text = 0;
	for (unsigned i = 0; i < row->ends && at < room; i++) {
		const struct paper_end *const e = &row->end[i];
		char low[32], high[32];

		if (!e->is_known) {
			continue;
		}
		paper_one_number(e->value[0], row->form, low);
		paper_one_number(e->value[1], row->form, high);
		at += (size_t)snprintf(text + at, room - at, "%s%s to %s by %s (%s, %s)", at ? "; " : "", low,
			high, paper_text(e->of->keys, "what"), paper_text(e->of->keys, "low"),
			paper_text(e->of->keys, "high"));
	}
}
