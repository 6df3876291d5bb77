/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Visibility tests: every schedule in every situation, each on a new machine, so that they are independent.
 */
#include <stdlib.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/folder.h"
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

/* ---- Executions ------------------------------------------------------------------------------------- */

static int execute_on(struct runner *run, struct nvw_machine *m)
{
	struct litmus_execution *const x = &run->execution;
	int error;

	if (run->options->fault) {
		NVW_TRY(emu_plant_fault(m, run->options->fault));
	}
	NVW_TRY(litmus_execution_prepare(x, m));
	error = litmus_execution_run(x, m);
	if (error == NVW_E_DEADLOCK) {
		run->report->unfinished++;
		return 0;
	}
	NVW_TRY(error);
	NVW_TRY(litmus_execution_read(x, m));
	litmus_report_count(run->report, &x->state);
	if (litmus_holds(run->test, &x->state) && !run->report->seen++) {
		litmus_report_witness(run->report, &x->situation, &run->search);
	}
	return 0;
}

static int execute(struct runner *run, const struct emu_config *config)
{
	struct nvw_machine *m;
	int error;

	NVW_TRY(emu_create(config, run->pool, NULL, &m));
	error = execute_on(run, m);
	emu_destroy(m);
	run->report->schedules++;
	return error;
}

static bool has_enough(const struct runner *run)
{
	return run->options->stop_when_seen && run->report->seen;
}

static int go_through_schedules(struct runner *run)
{
	const uint64_t schedules = run->options->schedules;
	struct emu_config config;
	int error;

	NVW_TRY(litmus_machine(run->test, &run->execution.situation, run->options, &config));
	run->execution.is_anonymous = emu_config_consistent(&config).store_buffer.entries;
	litmus_search_start(&run->search, NVW_OR(schedules, SCHEDULES), run->options->seed);
	do {
		error = execute(run, &config);
	} while (!error && !has_enough(run) && litmus_search_next(&run->search));
	run->report->is_exhaustive &= run->search.is_complete;
	return error;
}

static int go_through_situations(struct runner *run)
{
	int error = 0;

	for (unsigned i = 0; !error && !has_enough(run) &&
			     litmus_situation(run->test, i, run->options->seed, &run->execution.situation);
		i++) {
		run->report->situations++;
		error = go_through_schedules(run);
	}
	litmus_report_sort(run->report);
	return error;
}

/* ---- Whole tests ------------------------------------------------------------------------------------ */

static bool needs_nvram(const struct litmus_test *test)
{
	NVW_EACH(variable, test->variable, test->variable_count) {
		if (variable->is_nvram) {
			return true;
		}
	}
	return litmus_has_op(test, LITMUS_PERSIST_BARRIER) || litmus_has_op(test, LITMUS_DRAIN);
}

static int make_pool(struct nvw_pool **ret)
{
	const struct nvw_pool_params params = {.layout = "litmus"};

	return nvw__pool_create_unnamed("litmus", &params, 1, ret);
}

int litmus_run_visibility(
	const struct litmus_test *test, const struct litmus_options *options, struct litmus_report *report)
{
	struct runner *const run = calloc(1, sizeof *run);
	int error = 0;

	litmus_report_begin(report, test, options);
	NVW_ALLOCATED(run, "no memory for a litmus test");
	run->test = run->execution.test = test;
	run->options = options;
	run->report = report;
	run->execution.search = &run->search;
	litmus_geometry(test, &run->execution.geometry);
	if (needs_nvram(test)) {
		error = make_pool(&run->pool);
	}
	if (error == 0) {
		error = go_through_situations(run);
	}
	nvw_pool_close(run->pool);
	free(run);
	return error;
}
