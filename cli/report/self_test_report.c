/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave crash --self-test: which seeded bugs the crash tester finds. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "core/stop.h"
#include "../crash_command.h"
#include "provenance.h"
#include "../registry.h"
#include "self_test_report.h"
#include "words.h"

static const char *verdict(const struct ct_trial *t)
{
	return t->as_expected ? t->mutation ? "found" : "clean" : t->mutation ? "MISSED" : "FALSE ALARM";
}

void self_test_row(struct self_test_report *r, const struct ct_trial *t, const char *said)
{
	const char *const says = said ? said : verdict(t);

	if (r->rows != NULL) {
		json_array_append_new(r->rows,
			json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:f, s:s}",
				r->of_program ? "program" : "workload", r->subject,
				r->of_program ? "bug" : "mutation", words_or(t->mutation, ""), "way", t->way,
				"options", t->options, "result", says, "states_distinct",
				(json_int_t)t->states_distinct, "states_failing",
				(json_int_t)t->states_failing, "seconds", t->seconds, "text", t->text));
		return;
	}
	const char *const more = t->mutation || *t->text ? t->text : t->options;

	printf("%-*s %-*s %-15s %-11s %7llu of %7llu states  %5.1f s%s%s\n", r->of_program ? 12 : 8,
		r->subject, r->of_program ? 16 : 24, words_or(t->mutation, "(none)"), t->way, says,
		(unsigned long long)t->states_failing, (unsigned long long)t->states_distinct, t->seconds,
		words_if(*more, "  "), more);
	fflush(stdout);
}

static void tried(void *context, const struct ct_trial *t)
{
	self_test_row(context, t, NULL);
}

int self_test_sum(struct self_test_report *r, const struct ct_self_test *sum, const struct emu_config *config,
	const char *command, bool *ret_good)
{
	json_t *const made_by = cli_provenance(config, command);

	if (r->rows != NULL) {
		json_t *const o = json_pack("{s:i, s:i, s:i, s:i, s:b, s:o, s:O*}",
			r->of_program ? "bugs" : "mutations", (int)sum->mutations, "found", (int)sum->found,
			"clean_tests", (int)sum->clean, "false_alarms", (int)sum->alarms, "interrupted",
			sum->interrupted, "tests", r->rows, "made_by", made_by);

		json_dumpf(o, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(o);
	} else {
		printf("\n%s%u of %u %s found (%.0f %%), %u false alarms in %u tests of %s\n",
			words_if(sum->interrupted, "UNDECIDED, interrupted: "), sum->found, sum->mutations,
			r->of_program ? "bugs" : "mutations",
			sum->mutations ? 100.0 * sum->found / sum->mutations : 100.0, sum->alarms, sum->clean,
			r->of_program ? "the program without a bug, or with a harmless one" :
					"the structures as they are");
		cli_print_provenance(made_by, stdout);
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

int crash_self_test(const struct nvw_workload *workload, const struct emu_config *config,
	const struct ct_options *options, bool json, bool *ret_good)
{
	struct self_test_report r = {.rows = json ? json_array() : NULL};
	struct ct_self_test sum = {0};
	int error = 0;

	for (const struct cli_workload *w = cli_workloads();
		w->workload && !error && !sum.interrupted && workload == NULL; w++) {
		if (w->workload->check != NULL) {
			error = add(w->workload, config, options, &r, &sum);
		}
	}
	if (workload != NULL) {
		error = add(workload, config, options, &r, &sum);
	}
	if (error) {
		json_decref(r.rows);
		return error;
	}
	return self_test_sum(&r, &sum, config, NULL, ret_good);
}
