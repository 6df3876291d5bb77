/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave litmus: the outcomes of litmus tests under the protocols, compared with the models. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <emu.h>
#include <litmus/litmus.h>

#include "commands.h"
#include "core/stop.h"
#include "core/units.h"
#include "examine.h"
#include "report/json_report.h"
#include "report/provenance.h"
#include "session.h"

enum { PROTOCOLS_MAX = 32, OUTCOMES_SHOWN = 16, VERDICTS = 7 };

static void print_help(void)
{
	puts("nvwave litmus FILE|DIR... [options]\n\n"
	     "Runs litmus tests (.litmus files, .tsv tables; docs/litmus.md) in every order of their operations and in several\n"
	     "situations of the caches, and compares the outcomes with what the test's memory model says.\n"
	     "Exit status 1 if a forbidden outcome was seen under a protocol that claims the model.\n");
	cli_options_help("litmus");
}

static const char *const verdicts[VERDICTS] = {"ok", "FORBIDDEN SEEN", "allowed, seen", "allowed, never seen",
	"not claimed, FORBIDDEN SEEN", "not claimed, allowed seen", "not claimed, never seen"};

struct command {
	struct litmus_options options;
	struct litmus_list tests;
	const char *only; /* part of the tests' names; NULL: all tests */
	const char *protocol[PROTOCOLS_MAX];
	unsigned protocol_count;
	uint64_t count[PROTOCOLS_MAX][VERDICTS];
	bool json, brief, has_failed, stopped;
	json_t *reports;
};

/* ---- Reports ------------------------------------------------------------------------------------------------------- */

static void print(const struct litmus_report *r, bool brief)
{
	const struct litmus_test *const t = r->test;

	printf("%s under %s%s%s: %s\n", t->name, r->protocol, r->persistency < 0 ? "" : ", ",
		r->persistency < 0 ? "" : litmus_persistency_name(r->persistency), litmus_report_verdict(r));
	if (brief) {
		return;
	}
	printf("  %s by %s: %s\n", r->said == LITMUS_FORBIDDEN ? "forbidden" : "allowed",
		*t->model ? t->model : "no model", t->outcome_text);
	if (!r->is_claimed) {
		printf("  not claimed: %s\n", r->why);
	}
	printf("  %u situations, %" PRIu64 " schedules, ", r->situations, r->schedules);
	if (r->persistency >= 0) {
		printf("%" PRIu64 " crash states, ", r->states);
	}
	puts(r->is_exhaustive ? "exhaustive" : "sampled");
	for (unsigned i = 0; i < r->outcome_count && i < OUTCOMES_SHOWN; i++) {
		printf("  %c %10" PRIu64 "  %s\n", r->outcome[i].holds ? '*' : ' ', r->outcome[i].count,
			r->outcome[i].text);
	}
	if (r->outcome_count > OUTCOMES_SHOWN) {
		printf("               and %u other final states\n", r->outcome_count - OUTCOMES_SHOWN);
	}
	if (r->unfinished) {
		printf("    %10" PRIu64 "  no end: a deadlock, or an order that contradicts itself\n",
			r->unfinished);
	}
	if (*r->witness) {
		printf("  seen first with %s\n", r->witness);
	}
}

static json_t *to_json(const struct litmus_report *r)
{
	json_t *const outcomes = json_array();

	for (unsigned i = 0; i < r->outcome_count; i++) {
		json_array_append_new(
			outcomes, json_pack("{s:s, s:b, s:I}", "state", r->outcome[i].text, "holds",
					  r->outcome[i].holds, "count", (json_int_t)r->outcome[i].count));
	}
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s?, s:s, s:s, s:b, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:s}",
		"test", r->test->name, "file", r->test->file, "model", r->test->model, "protocol",
		r->protocol, "persistency",
		r->persistency < 0 ? NULL : litmus_persistency_name(r->persistency), "outcome",
		r->test->outcome_text, "said", r->said == LITMUS_FORBIDDEN ? "forbidden" : "allowed",
		"claimed", r->is_claimed, "verdict", litmus_report_verdict(r), "seen", (json_int_t)r->seen,
		"schedules", (json_int_t)r->schedules, "unfinished", (json_int_t)r->unfinished, "states",
		(json_int_t)r->states, "situations", (json_int_t)r->situations, "exhaustive",
		r->is_exhaustive, "states_seen", outcomes, "witness", r->witness);
}

static int take_report(struct command *c, unsigned protocol, const struct litmus_report *r)
{
	const char *const verdict = litmus_report_verdict(r);

	for (unsigned v = 0; v < VERDICTS; v++) {
		c->count[protocol][v] += !strcmp(verdict, verdicts[v]);
	}
	c->has_failed |= litmus_has_failed(r);
	if (!c->json) {
		print(r, c->brief);
		return 0;
	}
	return json_array_append_new(c->reports, to_json(r)) ?
		       nvw_fail(NVW_E_MEMORY, "no memory for the report") :
		       0;
}

static void print_summary(const struct command *c)
{
	printf("\n%-12s %6s", "protocol", "tests");
	for (unsigned v = 0; v < VERDICTS; v++) {
		printf("  %s", verdicts[v]);
	}
	putchar('\n');
	for (unsigned p = 0; p < c->protocol_count; p++) {
		uint64_t all = 0;

		for (unsigned v = 0; v < VERDICTS; v++) {
			all += c->count[p][v];
		}
		printf("%-12s %6" PRIu64, c->protocol[p], all);
		for (unsigned v = 0; v < VERDICTS; v++) {
			printf("  %*" PRIu64, (int)strlen(verdicts[v]), c->count[p][v]);
		}
		putchar('\n');
	}
}

static int print_json(struct command *c)
{
	json_t *const summary = json_object(), *whole;

	for (unsigned p = 0; p < c->protocol_count; p++) {
		json_t *const counts = json_object();

		for (unsigned v = 0; v < VERDICTS; v++) {
			json_object_set_new(counts, verdicts[v], json_integer((json_int_t)c->count[p][v]));
		}
		json_object_set_new(summary, c->protocol[p], counts);
	}
	whole = json_pack("{s:s, s:O, s:o, s:o}", "verdict",
		c->has_failed ? "inconsistent" :
		c->stopped    ? "undecided" :
				"consistent",
		"tests", c->reports, "summary", summary, "made_by", cli_provenance(NULL, NULL));
	return cli_print_json(whole, stdout);
}

/* ---- Running --------------------------------------------------------------------------------------------------------- */

static int run_test(
	struct command *c, unsigned protocol, const struct litmus_test *test, struct litmus_report *report)
{
	int error = 0;

	if (!litmus_is_persist(test)) {
		error = litmus_run_visibility(test, &c->options, report);
		return error ? error : take_report(c, protocol, report);
	}
	for (unsigned model = 0; model < LITMUS_PERSISTENCY_COUNT && !error; model++) {
		if (test->under[model]) {
			error = litmus_run_persist(test, model, &c->options, report);
			error = error ? error : take_report(c, protocol, report);
		}
	}
	return error;
}

static int run_tests(struct command *c)
{
	struct litmus_report *const report = calloc(1, sizeof *report);
	unsigned chosen = 0;
	int error = report ? 0 : nvw_fail(NVW_E_MEMORY, "no memory for a report");

	for (unsigned p = 0; p < c->protocol_count && !error; p++) {
		c->options.protocol = c->protocol[p];
		for (unsigned i = 0; i < c->tests.count && !error; i++) {
			if (!c->only || strstr(c->tests.test[i].name, c->only)) {
				chosen++;
				error = run_test(c, p, &c->tests.test[i], report);
			}
		}
	}
	free(report);
	return error || chosen ? error :
				 nvw_fail(NVW_E_USAGE, "--test: no test's name contains \"%s\"", c->only);
}

/* ---- The command line -------------------------------------------------------------------------------------------------- */

static int take_protocol(struct command *c, const char *value)
{
	const char *names[PROTOCOLS_MAX + 1], *citation, *summary, *near;
	unsigned n = 0;

	while (n < PROTOCOLS_MAX && emu_protocol_info(n, &names[n], &citation, &summary)) {
		n++;
	}
	names[n] = NULL;
	c->protocol_count = 0;
	for (unsigned i = 0; i < n; i++) {
		if (!strcmp(value, "each") || !strcmp(value, names[i])) {
			c->protocol[c->protocol_count++] = names[i];
		}
	}
	near = nvw_nearest(value, names);
	return c->protocol_count ? 0 :
				   nvw_fail(NVW_E_USAGE, "there is no coherence protocol %s; %s%s%s", value,
					   near ? "did you mean " : "see nvwave list protocols",
					   near ? near : "", near ? "?" : "");
}

static int take(struct command *c, const struct cli_options *o)
{
	const char *const protocol = cli_text(o, CLI_each_protocol);
	int error = take_protocol(c, protocol ? protocol : "vi");

	c->options.settings = o->setting; /* NULL-terminated */
	c->options.seed = cli_number(o, CLI_seed);
	c->options.schedules = cli_number(o, CLI_schedules);
	c->only = cli_text(o, CLI_test);
	c->brief = cli_given(o, CLI_brief);
	c->json = cli_json(o);
	for (unsigned i = 0; i < o->argument_count && !error; i++) {
		error = litmus_load(o->argument[i], &c->tests);
	}
	if (!error && !c->tests.count) {
		error = nvw_fail(
			NVW_E_USAGE, "litmus: expected .litmus files, .tsv tables, or folders of them");
	}
	return error;
}

int cli_examine_litmus(int argc, char **argv)
{
	struct command c = {.protocol_count = 0};
	struct cli_options given;
	int error = cli_options_parse(&given, false, argc, argv);

	error = error ? error : cli_options_check_use(&given, 0);
	error = error ? error : take(&c, &given);
	litmus_list_free(&c.tests);
	cli_options_end(&given);
	return error;
}

static int litmus(struct command *c, const struct cli_options *o)
{
	json_t *made_by;
	int error = take(c, o);

	error = error ? error : run_tests(c);
	nvw_stop_reporting();
	c->stopped = error == NVW_E_STOPPED;
	error = c->stopped ? 0 : error;
	if (!error && c->json) {
		error = print_json(c);
	} else if (!error) {
		print_summary(c);
		made_by = cli_provenance(NULL, NULL);
		cli_print_provenance(made_by, stdout);
		json_decref(made_by);
		fputs(c->stopped ? "UNDECIDED: interrupted, the other tests were not run\n" : "", stdout);
	}
	return error || !fflush(stdout) ? error : nvw_fail_errno("cannot write the report");
}

int cmd_litmus(int argc, char **argv)
{
	struct command c = {.protocol_count = 0};
	struct cli_options given;
	int error = cli_options_parse(&given, false, argc, argv);

	if (!error && cli_given(&given, CLI_help)) {
		print_help();
		cli_options_end(&given);
		return STATUS_CLEAN;
	}
	c.reports = json_array();
	error = error ? error : cli_options_check_use(&given, 0);
	error = error ? error : litmus(&c, &given);
	json_decref(c.reports);
	litmus_list_free(&c.tests);
	cli_options_end(&given);
	return error        ? cli_fail() :
	       c.has_failed ? STATUS_INCONSISTENT :
	       c.stopped    ? STATUS_INPUT :
			      STATUS_CLEAN;
}
