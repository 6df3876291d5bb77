/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict of a crash test, and what it is said of. See crash_text.h. */
#include <math.h>
#include <stdio.h>

#include "core/invariant.h"

#include "../words.h"
#include "corpus_report.h"
#include "crash_report.h"
#include "crash_text.h"

void crash_interleaving_text(const struct ct_result *r, FILE *to)
{
	if (r->corpus.count > 0) {
		const unsigned tested = cli_corpus_count(&r->corpus, CT_INPUT_TESTED);

		fprintf(to, " of %u tested input%s", tested, plural(tested));
	}
	if (r->thread_schedules.run > 0) {
		fprintf(to, " of %s different schedule%s of %s threads",
			GROUPED(r->thread_schedules.different), plural(r->thread_schedules.different),
			GROUPED(r->threads));
	} else if (r->threads > 1) {
		fprintf(to, " of this recorded interleaving of %s threads", GROUPED(r->threads));
	} else if (r->kernels > 0) {
		fputs(" of this interleaving of work-items", to);
	} else if (r->schedules.asked > 0) {
		fprintf(to, " of %s different schedule%s", GROUPED(r->schedules.different),
			plural(r->schedules.different));
	}
}

static void print_power(double log2_states, FILE *to)
{
	const double distance = fabs(log2_states - round(log2_states));

	fprintf(to, "2^%.*f", distance >= 0.05, log2_states);
}

void crash_possible_text(const struct ct_result *r, FILE *to)
{
	if (!r->states_possible_exact) {
		fputs("at most ", to);
	}
	if (r->states_possible_log2 < 53) {
		fputs(GROUPED((uint64_t)(r->states_possible + 0.5)), to);
	} else {
		print_power(r->states_possible_log2, to);
	}
}

static void print_states(const struct ct_result *r, FILE *to)
{
	if (r->mode == CT_KILL) {
		fprintf(to, "%s kills (%s different states)", GROUPED(r->states_tested),
			GROUPED(r->states_distinct));
		return;
	}
	fputs(GROUPED(r->states_distinct), to);
	if (ct_verdict_of(r) == CT_VERDICT_UNREFUTED &&
		!r->grouped) { /* else there are more than are known */
		fputs(" of ", to);
		crash_possible_text(r, to);
		fputs(" states", to);
	} else {
		fputs(words_if(r->schedules.asked == 0, " distinct"), to); /* else: in one schedule */
		fputs(" states", to);
	}
	crash_interleaving_text(r, to);
	fprintf(to, " (plus %s duplicates", GROUPED(r->states_equal));
	if (r->states_unread > 0) {
		fprintf(to, ", %s that differ only in words never read", GROUPED(r->states_unread));
	}
	if (r->states_symmetric > 0) {
		fprintf(to, ", %s symmetric states skipped", GROUPED(r->states_symmetric));
	}
	fputc(')', to);
}

const char *crash_state_name(const struct ct_result *r)
{
	return r->mode == CT_KILL ? "kill" : "state";
}
bool crash_is_on_disk(const struct ct_result *r)
{
	return ct_model_info(r->model)->use == CT_USE_FILES;
}

const char *crash_caution(const struct ct_result *r)
{
	if (crash_is_on_disk(r)) {
		return words_if(r->grouped, "stores within a sector were not ordered: build with nvwave-cc");
	}
	return words_if(r->grouped, "stores within a line were not ordered: build with nvwave-cc");
}

/* All of them, by parts. */
static void print_all_states(const struct ct_result *r, FILE *to)
{
	NVW_INVARIANT(r->instants_by_parts > 0);
	fputs("all ", to);
	if (r->states_possible_exact) {
		crash_possible_text(r, to);
		fputc(' ', to);
	}
	fprintf(to, "states at all %s instant%s", GROUPED(r->instants), plural(r->instants));
	crash_interleaving_text(r, to);
	if (!r->states_possible_exact) {
		fputs(", ", to);
		crash_possible_text(r, to);
	}
}

static bool is_by_parts(const struct ct_result *r)
{
	return r->instants_by_parts > 0 && ct_verdict_of(r) == CT_VERDICT_CONSISTENT;
}

void crash_report_headline(const struct ct_result *r, FILE *to)
{
	const enum ct_verdict verdict = ct_verdict_of(r);

	fprintf(to, "%s%s", ct_verdict_words(verdict), verdict == CT_VERDICT_UNREFUTED ? " in " : "   ");
	if (r->without_crash) {
		fputs("WITHOUT ANY CRASH", to);
		return;
	}
	if (is_by_parts(r)) {
		print_all_states(r, to);
		return;
	}
	if (r->schedules.finding_count > 0) {
		fprintf(to, "%u finding%s without a crash; ", r->schedules.finding_count,
			plural(r->schedules.finding_count));
	}
	if (r->consistent && r->unlogged.count > 0) {
		fprintf(to, "%u place%s; no failure in ", r->unlogged.count, plural(r->unlogged.count));
	}
	if (!r->consistent) {
		fprintf(to, "%u finding%s in %s of ", r->finding_count, plural(r->finding_count),
			GROUPED(r->states_failing));
	}
	print_states(r, to);
	fputs(words_if(r->trusts, ", transactions trusted"), to);
	fprintf(to, "%s%s", words_if(r->grouped, "; "), crash_caution(r));
}

void crash_verdict_text(const struct ct_result *r, FILE *to)
{
	crash_report_headline(r, to);
	fprintf(to, "   %.1f s", r->host_seconds);
	if (r->explore_seconds > 0 && !is_by_parts(r)) {
		fprintf(to, ", %s/s", GROUPED((uint64_t)((double)r->states_distinct / r->explore_seconds)));
	}
	fputc('\n', to);
}
