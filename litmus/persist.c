/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persist tests: the crash tester runs the test as a workload whose check tests the outcome in a crash state.
 * A finding means that the outcome was seen.
 *
 * Every schedule is logged and explored under the model (permitted mode) and, for the models that the machine
 * has, with the machine's own timing in situations that evict lines from the caches early (observed mode).
 * Runs are separate processes; the search and the report are in memory shared with them.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <crashtest/crash.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/options.h"
#include "core/stop.h"
#include "internal.h"

enum { SCHEDULES = 60, STATES = 2000 };

/* State for the hooks of the workload; only one test, like one emulation, runs at a time. */
static struct bench {
	struct litmus_runner all; /* shared: final states are counted where they are checked */
	struct nvw_options *none; /* the workload has no options */
	struct ct_result *result; /* of the schedule at hand */
	enum litmus_persistency persistency;
	enum ct_mode mode; /* of the situation at hand */
} * bench;

/* ---- The workload ----------------------------------------------------------------------------------- */

static int prepare(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	*ret_plan = &bench->all;
	return 0;
}

static int pool(const void *plan, struct nvw_pool_params *ret_params)
{
	*ret_params = (struct nvw_pool_params){.layout = "litmus"};
	return 0;
}

static int setup(void *plan, struct nvw_machine *machine)
{
	return litmus_runner_prepare(plan, machine);
}

static int run(void *plan, struct nvw_machine *machine)
{
	struct litmus_runner *const r = plan;

	return litmus_execution_run(&r->execution, machine);
}

static int check(void *plan, struct nvw_pool *p, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	struct litmus_runner *const r = plan;
	const struct litmus_test *const test = r->execution.test;
	struct litmus_state state = {0};

	NVW_EACH(term, test->term, test->term_count) {
		const unsigned v = term->index;

		if (term->kind == LITMUS_TERM_NVRAM) {
			state.memory[v] = (int64_t)nvw_pool_word(
				p, nvw_pool_geometry(p)->chunks +
					   litmus_variable_offset(&r->execution.situation, v));
		}
	}
	litmus_report_count(&r->report, &state);
	if (litmus_holds(test, &state)) {
		return nvw_violation(findings, 0, "the outcome was observed");
	}
	return 0;
}

static const struct nvw_workload workload = {
	.name = "litmus", .prepare = prepare, .pool = pool, .setup = setup, .run = run, .check = check};

/* ---- One schedule ----------------------------------------------------------------------------------- */

static void add_result(struct litmus_runner *r, const struct ct_result *result)
{
	struct litmus_report *const report = &r->report;

	NVW_INVARIANT(result->states_failing <= result->states_tested);
	if (!report->seen && result->states_failing) {
		litmus_report_witness(report, &r->execution.situation, &r->search);
	}
	report->seen += result->states_failing;
	report->states += result->states_tested;
	report->is_exhaustive &= result->instants_exhausted == result->instants && !result->states_undecided;
}

static int crash_into(const struct litmus_options *asked, const struct emu_config *config)
{
	NVW_INVARIANT(bench->persistency < LITMUS_PERSISTENCY_COUNT);

	static const enum ct_model models[] = {
#define MACHINE_MODEL(id, symbol, name) CT_MODEL_##id,
#define STATE_MODEL(id, symbol, name)
#include <persist/models.def>
#undef MACHINE_MODEL
#undef STATE_MODEL
	};
	const struct ct_options options = {.mode = bench->mode,
		.model = models[bench->persistency],
		.states = STATES,
		.seed = asked->seed,
		.jobs = 1,
		.unexplained = true};
	const struct ct_subject subject = {.workload = &workload,
		.options = bench->none,
		.config = config,
		.mutation = -1,
		.narrow_file = asked->narrower ? "kernel.c" : NULL,
		.narrow_line = litmus_persist_barrier_line,
		.narrow_by = asked->narrower};

	NVW_TRY(ct_run(&subject, &options, bench->result));
	if (bench->result->interrupted) {
		return nvw_stop_error();
	}
	return 0;
}

/* Observed mode has the machine of the model. */
static int crash_schedule(struct litmus_runner *r, const struct emu_config *given)
{
	struct emu_config config = *given;
	int error;

	if (bench->mode == CT_OBSERVED) {
		config.model = bench->persistency;
	}
	error = crash_into(r->options, &config);
	r->report.schedules++;
	/* With the buffered machine, also if work-items race across a barrier without meeting
	 * (persist/buffered.c): it orders lines, and the orders of stores to one line may contradict each
	 * other. */
	if (error == NVW_E_DEADLOCK || (error == NVW_E_KERNEL && !emu_model_info(config.model)->meets)) {
		r->report.unfinished++;
		error = 0;
	} else if (!error) {
		add_result(r, bench->result);
	}
	ct_result_free(bench->result);
	return error;
}

/* Tests only the model first, then the machine that implements it. */
static int go_through_situations(struct litmus_runner *r)
{
	static const struct {
		enum ct_mode mode;
		struct litmus_situation situation;
	} list[] = {
		{CT_PERMITTED, {.name = "permitted"}},
		{CT_PERMITTED, {.name = "permitted, store buffers of one line", .drains = true}},
		{CT_OBSERVED, {.name = "observed"}},
		{CT_OBSERVED, {.name = "observed, store buffers of one line", .drains = true}},
		{CT_OBSERVED, {.name = "observed, two variables a line", .shares_lines = true}},
		{CT_OBSERVED, {.name = "observed, evictions", .evicting = 1}},
	};
	int error = 0;

	for (unsigned i = 0; i < NVW_COUNT(list) && !error && !litmus_has_enough(r); i++) {
		if (list[i].mode == CT_PERMITTED || !r->options->narrower) {
			bench->mode = list[i].mode;
			r->execution.situation = list[i].situation;
			error = litmus_run_schedules(r, SCHEDULES, crash_schedule);
		}
	}
	litmus_report_sort(&r->report);
	return error;
}

/* ---- Whole tests ------------------------------------------------------------------------------------ */

int litmus_run_persist(const struct litmus_test *test, enum litmus_persistency persistency,
	const struct litmus_options *options, struct litmus_report *ret_report)
{
	NVW_INVARIANT(persistency < NVW_COUNT(test->under));

	struct bench *const b =
		mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int error;

	NVW_FAIL_ERRNO_IF(b == MAP_FAILED, "no memory for a litmus test");
	bench = b;
	b->persistency = persistency;
	litmus_runner_begin(&b->all, test, options);
	b->all.report.persistency = (int)persistency;
	if (test->under[persistency]) {
		b->all.report.said = test->under[persistency];
	}
	error = nvw__options_create(NULL, &b->none);
	if (error == 0) {
		b->result = calloc(1, sizeof *b->result);
		error = b->result ? go_through_situations(&b->all) :
				    nvw_fail(NVW_E_MEMORY, "no memory for a crash test");
	}
	*ret_report = b->all.report;
	free(b->result);
	nvw__options_free(b->none);
	munmap(b, sizeof *b);
	bench = NULL;
	return error;
}
