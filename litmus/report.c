/* SPDX-License-Identifier: BSD-3-Clause */
/* The observations of a test: final states with counts, a verdict, a witness. */
#include <stdlib.h>
#include <string.h>

#include "core/invariant.h"
#include "core/print.h"
#include "internal.h"

void litmus_report_begin(
	struct litmus_report *report, const struct litmus_test *test, const struct litmus_options *options)
{
	*report = (struct litmus_report){
		.test = test, .persistency = -1, .said = test->verdict, .is_exhaustive = true};
	NVW_PRINT(report->protocol, "%s", options->protocol);
	report->is_claimed = litmus_claimed(test, options->protocol, options->settings, &report->why);
}

void litmus_report_witness(struct litmus_report *report, const struct litmus_situation *situation,
	const struct litmus_search *search)
{
	char schedule[LITMUS_TEXT];

	litmus_search_text(search, schedule, sizeof schedule);
	NVW_PRINT(report->witness, "%s: %s", situation->name, schedule);
}

void litmus_report_count(struct litmus_report *report, const struct litmus_state *state)
{
	const bool holds = litmus_holds(report->test, state);
	char text[2 * LITMUS_TEXT];
	unsigned i = 0;

	NVW_INVARIANT(report->outcome_count <= LITMUS_OUTCOMES);
	litmus_state_text(report->test, state, text, sizeof text);
	while (i < report->outcome_count && strcmp(report->outcome[i].text, text)) {
		i++;
	}
	if (i == LITMUS_OUTCOMES) { /* the last entry stands for all others */
		i--;
		NVW_PRINT(report->outcome[i].text, "(others)");
	} else if (i == report->outcome_count) {
		report->outcome_count++;
		NVW_PRINT(report->outcome[i].text, "%s", text);
	}
	report->outcome[i].holds |= holds;
	report->outcome[i].count++;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct litmus_outcome *)a)->text, ((const struct litmus_outcome *)b)->text);
}

void litmus_report_sort(struct litmus_report *report)
{
	NVW_INVARIANT(report->outcome_count <= LITMUS_OUTCOMES);
	qsort(report->outcome, report->outcome_count, sizeof *report->outcome, by_text);
}

const char *litmus_report_verdict(const struct litmus_report *r)
{
	static const char *const verdicts[2][2][2] = {/* [is claimed][is forbidden][was seen] */
		{{"not claimed, never seen", "not claimed, allowed seen"},
			{"not claimed, never seen", "not claimed, FORBIDDEN SEEN"}},
		{{"allowed, never seen", "allowed, seen"}, {"ok", "FORBIDDEN SEEN"}}};

	return verdicts[r->is_claimed][r->said == LITMUS_FORBIDDEN][r->seen > 0];
}

bool litmus_has_failed(const struct litmus_report *r)
{
	return r->is_claimed && r->said == LITMUS_FORBIDDEN && r->seen;
}
