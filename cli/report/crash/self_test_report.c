/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave crash --self-test: which seeded bugs the crash tester finds. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "core/invariant.h"
#include "core/stop.h"
#include "../../crash_command.h"
#include "../provenance.h"
#include "../../registry.h"
#include "self_test_report.h"
#include "../words.h"

/* Words for a workload and its mutations, and for a program and its bugs. */
static const struct {
	const char *subject, *bug, *bugs, *clean;
	int subject_columns, bug_columns;
} words[] = {
	{"workload", "mutation", "mutations", "the structures as they are", 8, 24},
	{"program", "bug", "bugs", "the program without a bug, or with a harmless one", 12, 16},
};

static const char *verdict(const struct ct_trial *t)
{
	static const char *const of[2][2] = {{"FALSE ALARM", "clean"}, {"MISSED", "found"}};

	return of[t->mutation != NULL][t->as_expected];
}

static void print_row(const struct self_test_report *r, const struct ct_trial *t, const char *says)
{
	const char *const more = t->mutation || *t->text ? t->text : t->options;

	printf("%-*s %-*s %-15s %-11s %7llu of %7llu states  %5.1f s%s%s\n",
		words[r->of_program].subject_columns, r->subject, words[r->of_program].bug_columns,
		words_or(t->mutation, "(none)"), t->way, says, (ull)t->states_failing,
		(ull)t->states_distinct, t->seconds, words_if(*more, "  "), more);
	fflush(stdout);
}

void self_test_row(struct self_test_report *r, const struct ct_trial *t, const char *said)
{
	const char *const says = words_or(said, verdict(t));

	NVW_INVARIANT(r->subject);
	if (!r->rows) {
		print_row(r, t, says);
		return;
	}
	json_array_append_new(
		r->rows, json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:f, s:s}",
				 words[r->of_program].subject, r->subject, words[r->of_program].bug,
				 words_or(t->mutation, ""), "way", t->way, "options", t->options, "result",
				 says, "states_distinct", (json_int_t)t->states_distinct, "states_failing",
				 (json_int_t)t->states_failing, "seconds", t->seconds, "text", t->text));
}

static void tried(void *context, const struct ct_trial *t)
{
	self_test_row(context, t, NULL);
}

static void print_sum_json(const struct self_test_report *r, const struct ct_self_test *sum, json_t *made_by)
{
	json_t *const o = json_pack("{s:i, s:i, s:i, s:i, s:b, s:o, s:O*}", words[r->of_program].bugs,
		(int)sum->mutations, "found", (int)sum->found, "clean_tests", (int)sum->clean, "false_alarms",
		(int)sum->alarms, "interrupted", sum->interrupted, "tests", r->rows, "made_by", made_by);

	json_dumpf(o, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(o);
}

static void print_sum(const struct self_test_report *r, const struct ct_self_test *sum, json_t *made_by)
{
	printf("\n%s%u of %u %s found%s, %u false alarms in %u tests of %s\n",
		words_if(sum->interrupted, "UNDECIDED, interrupted: "), sum->found, sum->mutations,
		words[r->of_program].bugs, SHARE(sum->found, sum->mutations), sum->alarms, sum->clean,
		words[r->of_program].clean);
	cli_print_provenance(made_by, stdout);
}

int self_test_sum(struct self_test_report *r, const struct ct_self_test *sum, const struct emu_config *config,
	const char *command, bool *ret_good)
{
	json_t *const made_by = cli_provenance(config, command);

	NVW_INVARIANT(sum->found <= sum->mutations && sum->alarms <= sum->clean);
	if (r->rows) {
		print_sum_json(r, sum, made_by);
	} else {
		print_sum(r, sum, made_by);
	}
	json_decref(made_by);
	*ret_good = sum->found == sum->mutations && sum->alarms == 0;
	return *ret_good && sum->interrupted ? nvw_stop_error() : 0;
}

static int add(const struct nvw_workload *w, const struct emu_config *config,
	const struct ct_options *options, struct self_test_report *r, struct ct_self_test *sum)
{
	const struct ct_subject subject = {.workload = w, .config = config, .mutation = -1};
	struct ct_self_test one = {0};

	r->subject = w->name;
	const int error = ct_run_self_test(&subject, options, tried, r, &one);

	sum->mutations += one.mutations;
	sum->found += one.found;
	sum->clean += one.clean;
	sum->alarms += one.alarms;
	sum->interrupted = one.interrupted;
	return error;
}

static int add_all(const struct emu_config *config, const struct ct_options *options,
	struct self_test_report *r, struct ct_self_test *sum)
{
	for (const struct cli_workload *w = cli_workloads(); w->workload && !sum->interrupted; w++) {
		if (w->workload->check) {
			NVW_TRY(add(w->workload, config, options, r, sum));
		}
	}
	return 0;
}

int crash_self_test(const struct nvw_workload *workload, const struct emu_config *config,
	const struct ct_options *options, bool json, bool *ret_good)
{
	struct self_test_report r = {.rows = json ? json_array() : NULL};
	struct ct_self_test sum = {0};
	const int error =
		workload ? add(workload, config, options, &r, &sum) : add_all(config, options, &r, &sum);

	if (error) {
		json_decref(r.rows);
		return error;
	}
	return self_test_sum(&r, &sum, config, NULL, ret_good);
}
