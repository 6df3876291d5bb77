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
	struct litmus_runner all; /* first: a pointer to it is one to the runner */
	struct nvw_pool *pool;    /* NULL if the test needs no NVRAM */
};

/* ---- Executions ------------------------------------------------------------------------------------- */

static int execute_on(struct litmus_runner *r, struct nvw_machine *m)
{
	struct litmus_execution *const x = &r->execution;
	int error;

	NVW_TRY(litmus_runner_prepare(r, m));
	error = litmus_execution_run(x, m);
	if (error == NVW_E_DEADLOCK) {
		r->report.unfinished++;
		return 0;
	}
	NVW_TRY(error);
	NVW_TRY(litmus_execution_read(x, m));
	litmus_report_count(&r->report, &x->state);
	if (litmus_holds(x->test, &x->state) && !r->report.seen++) {
		litmus_report_witness(&r->report, &x->situation, &r->search);
	}
	return 0;
}

static int execute(struct litmus_runner *r, const struct emu_config *config)
{
	struct nvw_machine *m;
	int error;

	NVW_TRY(emu_create(config, ((struct runner *)r)->pool, NULL, &m));
	error = execute_on(r, m);
	emu_destroy(m);
	r->report.schedules++;
	return error;
}

static int go_through_situations(struct litmus_runner *r)
{
	struct litmus_execution *const x = &r->execution;
	int error = 0;

	for (unsigned i = 0; !error && !litmus_has_enough(r) &&
			     litmus_situation(x->test, i, r->options->seed, &x->situation);
		i++) {
		error = litmus_run_schedules(r, SCHEDULES, execute);
	}
	litmus_report_sort(&r->report);
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

	NVW_ALLOCATED(run, "no memory for a litmus test");
	litmus_runner_begin(&run->all, test, options);
	if (needs_nvram(test)) {
		error = make_pool(&run->pool);
	}
	if (error == 0) {
		error = go_through_situations(&run->all);
	}
	*report = run->all.report;
	nvw_pool_close(run->pool);
	free(run);
	return error;
}
