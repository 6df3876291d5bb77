/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave litmus: the outcomes of litmus tests under the protocols, compared with the models. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <litmus/litmus.h>

#include "commands.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/stop.h"
#include "examine.h"
#include "report/json_report.h"
#include "report/provenance.h"
#include "session.h"
#include "report/words.h"

enum { PROTOCOLS_MAX = 32, OUTCOMES_SHOWN = 16, VERDICTS = 7 };

static const char *const verdicts[VERDICTS] = {"ok", "FORBIDDEN SEEN", "allowed, seen", "allowed, never seen",
	"not claimed, FORBIDDEN SEEN", "not claimed, allowed seen", "not claimed, never seen"};

struct litmus_command {
	struct litmus_options options;
	struct litmus_list tests;
	const char *only; /* part of the tests' names; NULL: all tests */
	const char *protocol[PROTOCOLS_MAX];
	unsigned protocol_count;
	uint64_t count[PROTOCOLS_MAX][VERDICTS];
	bool json, brief, has_failed, stopped;
	json_t *reports;
};

/* ---- Reports ------------------------------------------------------------------------------------- */

static const char *said_by(const struct litmus_report *r)
{
	return r->said == LITMUS_FORBIDDEN ? "forbidden" : "allowed";
}

/* NULL: of a test without crashes. */
static const char *persistency_of(const struct litmus_report *r)
{
	return r->persistency < 0 ? NULL : litmus_persistency_name(r->persistency);
}

static void print_outcome(const struct litmus_outcome *o)
{
	printf("  %c %10" PRIu64 "  %s\n", o->holds ? '*' : ' ', o->count, o->text);
}

static void print_outcomes(const struct litmus_report *r)
{
	NVW_EACH(outcome, r->outcome, nvw_min(r->outcome_count, OUTCOMES_SHOWN)) {
		print_outcome(outcome);
	}
	if (r->outcome_count > OUTCOMES_SHOWN) {
		printf("               and %u other final states\n", r->outcome_count - OUTCOMES_SHOWN);
	}
	if (r->unfinished) {
		printf("    %10" PRIu64 "  no end: a deadlock, or an order that contradicts itself\n",
			r->unfinished);
	}
}

static void print_report(const struct litmus_report *r, bool brief)
{
	const struct litmus_test *const t = r->test;
	const char *const persistency = persistency_of(r);

	printf("%s under %s%s%s: %s\n", t->name, r->protocol, words_if(persistency, ", "),
		words_or(persistency, ""), litmus_report_verdict(r));
	if (brief) {
		return;
	}
	printf("  %s by %s: %s\n", said_by(r), words_or(t->model, "no model"), t->outcome_text);
	if (!r->is_claimed) {
		printf("  not claimed: %s\n", r->why);
	}
	printf("  %u situations, %" PRIu64 " schedules, ", r->situations, r->schedules);
	if (persistency) {
		printf("%" PRIu64 " crash states, ", r->states);
	}
	puts(r->is_exhaustive ? "exhaustive" : "sampled");
	print_outcomes(r);
	if (*r->witness) {
		printf("  seen first with %s\n", r->witness);
	}
}

static json_t *outcomes_json(const struct litmus_report *r)
{
	return JSON_LIST(one, r->outcome, r->outcome_count,
		json_pack("{s:s, s:b, s:I}", "state", one->text, "holds", one->holds, "count",
			(json_int_t)one->count));
}

static json_t *to_json(const struct litmus_report *r)
{
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s?, s:s, s:s, s:b, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:s}",
		"test", r->test->name, "file", r->test->file, "model", r->test->model, "protocol",
		r->protocol, "persistency", persistency_of(r), "outcome", r->test->outcome_text, "said",
		said_by(r), "claimed", r->is_claimed, "verdict", litmus_report_verdict(r), "seen",
		(json_int_t)r->seen, "schedules", (json_int_t)r->schedules, "unfinished",
		(json_int_t)r->unfinished, "states", (json_int_t)r->states, "situations",
		(json_int_t)r->situations, "exhaustive", r->is_exhaustive, "states_seen", outcomes_json(r),
		"witness", r->witness);
}

static int take_report(struct litmus_command *c, unsigned protocol, const struct litmus_report *r)
{
	NVW_INVARIANT(protocol < c->protocol_count && c->protocol_count <= NVW_COUNT(c->count));

	const char *const verdict = litmus_report_verdict(r);

	NVW_FOR(v, VERDICTS) {
		c->count[protocol][v] += !strcmp(verdict, verdicts[v]);
	}
	c->has_failed |= litmus_has_failed(r);
	if (!c->json) {
		print_report(r, c->brief);
	} else if (json_array_append_new(c->reports, to_json(r))) {
		return nvw_fail(NVW_E_MEMORY, "no memory for the report");
	}
	return 0;
}

static uint64_t sum_of(const uint64_t count[VERDICTS])
{
	uint64_t all = 0;

	NVW_EACH(one, count, VERDICTS) {
		all += *one;
	}
	return all;
}

static void print_counts(const uint64_t count[VERDICTS], const char *protocol)
{
	printf("%-12s %6" PRIu64, protocol, sum_of(count));
	NVW_FOR(v, VERDICTS) {
		printf("  %*" PRIu64, (int)strlen(verdicts[v]), count[v]);
	}
	putchar('\n');
}

static void print_counts_head(void)
{
	printf("\n%-12s %6s", "protocol", "tests");
	NVW_EACH(verdict, verdicts, VERDICTS) {
		printf("  %s", *verdict);
	}
	putchar('\n');
}

static int print_summary(const struct litmus_command *c)
{
	print_counts_head();
	NVW_FOR(p, c->protocol_count) {
		print_counts(c->count[p], c->protocol[p]);
	}
	cli_print_made_by(NULL);
	fputs(words_if(c->stopped, "UNDECIDED: interrupted, the other tests were not run\n"), stdout);
	return 0;
}

static const char *verdict_of(const struct litmus_command *c)
{
	if (c->has_failed) {
		return "inconsistent";
	}
	return c->stopped ? "undecided" : "consistent";
}

static json_t *counts_json(const uint64_t count[VERDICTS])
{
	json_t *const counts = json_object();

	NVW_FOR(v, VERDICTS) {
		member_set_count(counts, verdicts[v], count[v]);
	}
	return counts;
}

static int print_json(const struct litmus_command *c)
{
	json_t *const summary = json_object();

	NVW_FOR(p, c->protocol_count) {
		json_object_set_new(summary, c->protocol[p], counts_json(c->count[p]));
	}
	return cli_print_json(json_pack("{s:s, s:O, s:o, s:o}", "verdict", verdict_of(c), "tests", c->reports,
				      "summary", summary, "made_by", cli_provenance(NULL, NULL)),
		stdout);
}

/* ---- Running ------------------------------------------------------------------------------------- */

static int run_persist(struct litmus_command *c, unsigned protocol, const struct litmus_test *test,
	struct litmus_report *report)
{
	NVW_FOR(model, LITMUS_PERSISTENCY_COUNT) {
		if (test->under[model]) {
			NVW_TRY(litmus_run_persist(test, model, &c->options, report));
			NVW_TRY(take_report(c, protocol, report));
		}
	}
	return 0;
}

static int run_test(struct litmus_command *c, unsigned protocol, const struct litmus_test *test,
	struct litmus_report *report)
{
	NVW_INVARIANT(protocol < c->protocol_count);
	if (litmus_is_persist(test)) {
		return run_persist(c, protocol, test, report);
	}
	NVW_TRY(litmus_run_visibility(test, &c->options, report));
	return take_report(c, protocol, report);
}

static int run_chosen(struct litmus_command *c, struct litmus_report *report)
{
	unsigned chosen = 0;

	NVW_INVARIANT(c->protocol_count > 0);
	NVW_ALLOCATED(report, "no memory for a report");
	NVW_FOR(p, c->protocol_count) {
		c->options.protocol = c->protocol[p];
		NVW_EACH(test, c->tests.test, c->tests.count) {
			if (!c->only || strstr(test->name, c->only)) {
				chosen++;
				NVW_TRY(run_test(c, p, test, report));
			}
		}
	}
	NVW_FAIL_IF(!chosen, NVW_E_USAGE, "--test: no test's name contains \"%s\"", c->only);
	return 0;
}

static int run_tests(struct litmus_command *c)
{
	struct litmus_report *const report = calloc(1, sizeof *report);
	const int error = run_chosen(c, report);

	free(report);
	return error;
}

/* ---- The command line ---------------------------------------------------------------------------- */

static int take_protocols(struct litmus_command *c, const char *value)
{
	const char *name;
	const bool each = !strcmp(value, "each");

	if (!each) {
		NVW_TRY(cli_find_protocol(value));
	}
	for (unsigned i = 0; (name = cli_protocol_name(i)); i++) {
		if (each || !strcmp(value, name)) {
			NVW_INVARIANT(c->protocol_count < PROTOCOLS_MAX);
			c->protocol[c->protocol_count++] = name;
		}
	}
	return 0;
}

static int take_litmus(struct litmus_command *c, const struct cli_options *o)
{
	NVW_TRY(cli_options_check_use(o, 0));
	NVW_TRY(take_protocols(c, words_or(cli_text(o, CLI_each_protocol), "vi")));
	c->options.settings = o->setting; /* NULL-terminated */
	c->options.seed = cli_number(o, CLI_seed);
	c->options.schedules = cli_number(o, CLI_schedules);
	c->only = cli_text(o, CLI_test);
	c->brief = cli_given(o, CLI_brief);
	c->json = cli_json(o);
	NVW_EACH(argument, o->argument, o->argument_count) {
		NVW_TRY(litmus_load(*argument, &c->tests));
	}
	NVW_FAIL_IF(c->tests.count == 0, NVW_E_USAGE,
		"litmus: expected .litmus files, .tsv tables, or folders of them");
	return 0;
}

int cli_examine_litmus(int argc, char **argv)
{
	struct litmus_command c = {0};
	struct cli_options given;
	const int error = NVW_OR(cli_options_parse(&given, false, argc, argv), take_litmus(&c, &given));
	litmus_list_free(&c.tests);
	cli_options_end(&given);
	return error;
}

static int run_and_print(struct litmus_command *c, const struct cli_options *o)
{
	NVW_TRY(take_litmus(c, o));
	const int error = run_tests(c);

	nvw_stop_reporting();
	c->stopped = error == NVW_E_STOPPED;
	if (error && !c->stopped) {
		return error;
	}
	NVW_TRY(c->json ? print_json(c) : print_summary(c));
	NVW_TRY(cli_flush());
	if (c->has_failed) {
		return NVW_E_INCONSISTENT;
	}
	return c->stopped ? STATUS_INPUT : STATUS_CLEAN;
}

static int litmus(struct cli_options *o)
{
	struct litmus_command c = {.reports = json_array()};
	const int result = run_and_print(&c, o);

	json_decref(c.reports);
	litmus_list_free(&c.tests);
	return result;
}

const struct cli_command cmd_litmus = {.main = cli_run_command,
	.help = "nvwave litmus FILE|DIR... [options]\n\n"
		"Runs litmus tests (.litmus files, .tsv tables; docs/litmus.md) in every order of "
		"their operations and in several\n"
		"situations of the caches, and compares the outcomes with what the test's memory "
		"model says.\n"
		"Exit status 1 if a forbidden outcome was seen under a protocol that claims the "
		"model.\n",
	.run = litmus};
