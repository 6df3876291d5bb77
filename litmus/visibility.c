/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Visibility tests: every schedule in every situation, each on a new machine, so that nothing is left of the one before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

enum { SCHEDULES = 10000 };

struct runner {
	const struct litmus_test *test;
	const struct litmus_options *options;
	struct litmus_report *report;
	struct litmus_search search;
	struct litmus_execution execution;
	struct nvw_pool *pool; /* NULL if the test needs no NVRAM */
};

/* ---- Reports ---------------------------------------------------------------------------------------------------- */

void litmus_report_count(struct litmus_report *report, const struct litmus_state *state)
{
	const bool holds = litmus_holds(report->test, state);
	char text[2 * LITMUS_TEXT];
	unsigned i = 0;

	litmus_state_text(report->test, state, text, sizeof text);
	report->seen += holds;
	while (i < report->outcome_count && strcmp(report->outcome[i].text, text)) {
		i++;
	}
	if (i == LITMUS_OUTCOMES) { /* the last place is for all others */
		i--;
		snprintf(report->outcome[i].text, sizeof report->outcome[i].text, "(others)");
	} else if (i == report->outcome_count) {
		report->outcome_count++;
		memcpy(report->outcome[i].text, text, sizeof text);
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
	qsort(report->outcome, report->outcome_count, sizeof *report->outcome, by_text);
}

const char *litmus_report_verdict(const struct litmus_report *r)
{
	if (!r->is_claimed) {
		return r->seen ? "not claimed, seen" : "not claimed, never seen";
	}
	if (r->said == LITMUS_FORBIDDEN) {
		return r->seen ? "FORBIDDEN SEEN" : "ok";
	}
	return r->seen ? "allowed, seen" : "allowed, never seen";
}

bool litmus_has_failed(const struct litmus_report *r)
{
	return r->is_claimed && r->said == LITMUS_FORBIDDEN && r->seen;
}

/* ---- Executions --------------------------------------------------------------------------------------------------- */

static void keep_witness(struct runner *run)
{
	char schedule[LITMUS_TEXT];

	litmus_search_text(&run->search, schedule, sizeof schedule);
	snprintf(run->report->witness, sizeof run->report->witness, "%s: %s", run->execution.situation.name, schedule);
}

static int execute_on(struct runner *run, struct nvw_machine *m)
{
	struct litmus_execution *const x = &run->execution;
	int error = run->options->fault ? emu_plant_fault(m, run->options->fault) : 0;

	error = error ? error : litmus_execution_prepare(x, m);
	error = error ? error : litmus_execution_run(x, m);
	if (error == NVW_E_DEADLOCK) {
		run->report->unfinished++;
		return 0;
	}
	error = error ? error : litmus_execution_read(x, m);
	if (!error) {
		const uint64_t before = run->report->seen;

		litmus_report_count(run->report, &x->state);
		if (!before && run->report->seen) {
			keep_witness(run);
		}
	}
	return error;
}

static int execute(struct runner *run, const struct emu_config *config)
{
	struct nvw_machine *m;
	int error = emu_create(config, run->pool, NULL, &m);

	if (error) {
		return error;
	}
	error = execute_on(run, m);
	emu_destroy(m);
	run->report->schedules++;
	return error;
}

static bool has_enough(const struct runner *run)
{
	return run->options->stop_when_seen && run->report->seen;
}

/* Half of the budget in order; if that does not suffice, the other half at random. */
static int go_through_schedules(struct runner *run)
{
	const uint64_t budget = run->options->schedules ? run->options->schedules : SCHEDULES;
	struct emu_config config;
	uint64_t n = 0;
	bool more = true;
	int error = 0;

	litmus_machine(run->test, &run->execution.situation, run->options->protocol, &config);
	run->search = (struct litmus_search){.random.state = nvw_mix64(run->options->seed)};
	for (; n < budget && more && !error && !has_enough(run); n++) {
		if (n == (budget + 1) / 2) {
			run->search.is_random = true;
			run->report->is_exhaustive = false;
		}
		error = execute(run, &config);
		more = litmus_search_next(&run->search);
	}
	run->report->is_exhaustive &= !more;
	return error;
}

static int go_through_situations(struct runner *run)
{
	int error = 0;

	for (unsigned i = 0; !error && !has_enough(run) &&
		litmus_situation(run->test, i, run->options->seed, &run->execution.situation); i++) {
		run->report->situations++;
		error = go_through_schedules(run);
	}
	litmus_report_sort(run->report);
	return error;
}

/* ---- Whole tests ---------------------------------------------------------------------------------------------------- */

static bool needs_nvram(const struct litmus_test *test)
{
	for (unsigned v = 0; v < test->variable_count; v++) {
		if (test->variable[v].is_nvram) {
			return true;
		}
	}
	return litmus_has_op(test, LITMUS_PERSIST_BARRIER) || litmus_has_op(test, LITMUS_DRAIN);
}

/* A pool whose file has no name any more when this returns. */
static int make_pool(struct nvw_pool **ret)
{
	const struct nvw_pool_params params = {.layout = "litmus"};
	const char *const tmp = getenv("TMPDIR");
	char folder[512], path[540];
	int error;

	snprintf(folder, sizeof folder, "%s/nvwave-litmus-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(folder)) {
		return nvw_fail_errno("%s", folder);
	}
	snprintf(path, sizeof path, "%s/pool", folder);
	error = nvw_pool_create(path, &params, ret);
	unlink(path);
	rmdir(folder);
	return error;
}

int litmus_run_visibility(const struct litmus_test *test, const struct litmus_options *options,
	struct litmus_report *report)
{
	struct runner *const run = calloc(1, sizeof *run);
	int error = run ? 0 : nvw_fail(NVW_E_MEMORY, "no memory for a litmus test");

	*report = (struct litmus_report){.test = test, .persistency = -1, .said = test->verdict, .is_exhaustive = true};
	snprintf(report->protocol, sizeof report->protocol, "%s", options->protocol);
	report->is_claimed = litmus_claimed(test, options->protocol, &report->why);
	if (!error && needs_nvram(test)) {
		error = make_pool(&run->pool);
	}
	if (!error) {
		run->test = run->execution.test = test;
		run->options = options;
		run->report = report;
		run->execution.search = &run->search;
		litmus_geometry(test, &run->execution.geometry);
		error = go_through_situations(run);
	}
	if (run) {
		nvw_pool_close(run->pool);
	}
	free(run);
	return error;
}
