/* SPDX-License-Identifier: BSD-3-Clause */
/* What the report says of a cure: what was shown, and no more. */
#include "common/test.h"

#include <stdio.h>
#include <string.h>

#include "cure_report.h"

/* The report on the first finding of a result. */
static const char *report(const struct ct_result *r)
{
	static char text[2048];
	FILE *const to = fmemopen(text, sizeof text, "w");

	assert_non_null(to);
	text[0] = '\0';
	cli_cure_report(r, &r->finding[0], "", to);
	fclose(to);
	return text;
}

static struct ct_result *with_cure(struct ct_cure cure)
{
	static struct ct_result r;

	memset(&r, 0, sizeof r);
	cure.count = 1;
	cure.edit[0] = (struct ct_edit){.kind = CT_EDIT_BARRIER, .a = {.file = "src/list.c", .line = 31}};
	cure.states = 2000;
	cure.possible_log2 = 80;
	r.mode = CT_PERMITTED;
	r.finding_count = 1;
	r.finding[0].cure = cure;
	return &r;
}

TEST(a_cost_is_printed_only_when_it_was_measured)
{
	const char *text = report(with_cure((struct ct_cure){
		.verified = true, .costed = true, .cost_ps = 2000000, .cost_of_ps = 100000000}));

	assert_has(text, "; it costs 2 us of simulated time (2 %)\n");
	text = report(with_cure((struct ct_cure){
		.verified = true, .costed = true, .cost_ps = -1000000, .cost_of_ps = 100000000}));
	assert_has(text, "; it costs no simulated time in this run\n");
	text = report(with_cure((struct ct_cure){.verified = true, .cost_of_ps = 100000000}));
	assert_lacks(text, "simulated time");
}

TEST(a_number_of_states_that_no_word_holds_is_a_power_of_two)
{
	struct ct_result *const r = with_cure((struct ct_cure){.verified = true, .exhaustive = true});

	assert_has(report(r), "(all 2^80.0 possible states)");
	r->finding[0].cure.possible_log2 = 4;
	assert_has(report(r), "(all 16 possible states)");
}

TEST(a_cure_that_only_reduces_the_failures_is_said_not_to_be_verified)
{
	struct ct_result *const r = with_cure((struct ct_cure){.others = 1});

	r->states_uncured = 12;
	assert_string_equal(report(r),
		"not verified: with a work-item barrier after list.c:31, and the other cure, "
		"12 of 2,000 tested states still fail\n");
}

/*
 * The log is of a run without the cure: the words say so, and how many states were tested, until a program
 * with the cure has run.
 */
TEST(the_cure_of_a_recorded_program_is_verified_on_its_log_until_the_program_runs_with_it)
{
	struct ct_cure cure = {.verified = true};

	assert_string_equal(report(with_cure(cure)),
		"verified on this log: with a work-item barrier after list.c:31 no tested state fails "
		"(2,000 tested of at most 2^80.0 possible)\n");
	assert_false(ct_cure_is_verified(&cure));
	snprintf(cure.run_text, sizeof cure.run_text, "a copy does not build");
	assert_has(report(with_cure(cure)), "possible)\nnot verified by running: a copy does not build\n");
	snprintf(cure.run_text, sizeof cure.run_text, "3 of 40 tested states still fail");
	cure.run = CT_CURE_REFUTED;
	assert_string_equal(report(with_cure(cure)),
		"refuted by running: with a work-item barrier after list.c:31 3 of 40 tested states still "
		"fail, "
		"though no tested state of this log fails (2,000 tested of at most 2^80.0 possible)\n");
	assert_false(ct_cure_is_verified(&cure));
	cure.run = CT_CURE_HOLDS;
	cure.run_text[0] = '\0';
	assert_string_equal(report(with_cure(cure)),
		"verified by running: with a work-item barrier after list.c:31 no tested state fails "
		"(2,000 tested of at most 2^80.0 possible)\n");
	assert_true(ct_cure_is_verified(&cure));
}

/* The lines behind all findings. */
static const char *report_all(const struct ct_result *r)
{
	static char text[2048];
	FILE *const to = fmemopen(text, sizeof text, "w");

	assert_non_null(to);
	text[0] = '\0';
	cli_cure_report_all(r, to);
	fclose(to);
	return text;
}

TEST(a_finding_is_said_to_go_with_a_cure_only_of_a_run_with_that_cure_alone)
{
	struct ct_result *const r = with_cure((struct ct_cure){.verified = true});

	r->finding_count = 2;
	r->finding[1] = r->finding[0];
	r->finding[0].cure = (struct ct_cure){.gone = true};
	assert_string_equal(report(r), "no longer occurs with the cures of the other findings together\n");
	r->finding[0].cure.cured_by = 2;
	r->finding[0].cure.cured_in = 2000;
	assert_string_equal(
		report(r), "no longer occurs with the cure of finding 2 alone (2,000 states tested)\n");
}

TEST(what_was_not_searched_is_named)
{
	struct ct_result *const r = with_cure((struct ct_cure){.verified = true, .searched = true});

	assert_string_equal(report_all(r), "");
	r->finding_count = 2;
	r->finding[1].cure = (struct ct_cure){.left = 24};
	r->cure_states_most = 200;
	r->cure_search_ended = true;
	assert_string_equal(report_all(r),
		"\nthe search for cures ended at its budget of 200 states (--cure-states); not searched: of "
		"finding 2 24 candidates\n");
	r->finding[0].cure = (struct ct_cure){.left = 24};
	assert_string_equal(report(r), "no cure was looked for: the search had used up its budget\n");
}

TEST(states_that_the_cures_leave_are_told)
{
	struct ct_result *const r = with_cure((struct ct_cure){.verified = true});

	r->states_in_none = 6;
	assert_string_equal(report_all(r),
		"\n6 tested states fail with all of these cures and assumptions, and are in none of the "
		"findings\n");
	r->states_in_none = 0;
	r->states_of_several = 8;
	assert_string_equal(
		report_all(r), "\n8 of the failing states pass only with several of these cures together\n");
}

TEST(only_a_cure_that_was_run_is_verified_by_running)
{
	struct ct_result *const r = with_cure((struct ct_cure){.verified = true});

	assert_has(report(r), "verified on this log: with a work-item barrier after list.c:31 ");
	r->finding[0].cure.run = CT_CURE_HOLDS;
	assert_has(report(r), "verified by running: with a work-item barrier after list.c:31 ");
	assert_lacks(report(r), "in this run");
	r->finding[0].cure.edit[0].scope = NVW_WORKGROUP;
	assert_has(report(r), "; all work-items of its scope come to it in this run\n");
}

TEST(what_a_run_has_refuted_is_told)
{
	struct ct_result *const r = with_cure((struct ct_cure){.verified = true,
		.run = CT_CURE_HOLDS,
		.refuted = 2,
		.refuted_edit = "a work-group barrier after list.c:31",
		.refuted_why = "it would deadlock"});

	assert_has(report(r), "no cure: a work-group barrier after list.c:31: it would deadlock; likewise 1 "
			      "more\nverified by running: ");
	r->finding[0].cure = (struct ct_cure){.count = 1,
		.states = 100,
		.edit = {r->finding[0].cure.edit[0]},
		.run = CT_CURE_REFUTED,
		.run_text = "it would deadlock"};
	assert_string_equal(
		report(r), "not verified: a work-item barrier after list.c:31: it would deadlock\n");
}
