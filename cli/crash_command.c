/* SPDX-License-Identifier: BSD-3-Clause */
/* Options, progress and exit status of "nvwave crash". See crash_command.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <crashtest/explain/mend_order.h>

#include "core/invariant.h"
#include "core/options.h"
#include "core/units.h"
#include "core/stop.h"
#include "commands.h"
#include "crash_command.h"
#include "exported.h"
#include "report/page/html_report.h"
#include "report/crash/statements.h"
#include "report/patch/patch.h"
#include "report/problems/problems.h"
#include "programs/image_name.h"
#include "report/provenance.h"
#include "report/crash/unlogged.h"
#include "report/words.h"
#include "session.h"

enum {
	SETTLE_AFTER = 1024, /* states in a row that fail in known ways settle an instant */
	GOES_ON_BY = 4,      /* operations, and the states, if --and-then is not given; */
	GOES_ON_FROM = 64,   /* one to three seconds of the structure that takes longest for them */
};

/* ---- Options ------------------------------------------------------------------------------------- */

/* Only explored: the command that takes the slices explains and cures. */
static int take_slice(const char *text, struct ct_options *o)
{
	int n = 0;

	NVW_FAIL_IF(sscanf(text, "%u/%u:%n", &o->slice, &o->jobs, &n) != 2 || n == 0 || text[n] == '\0' ||
			    o->slice == 0 || o->slice > o->jobs || o->jobs > 64,
		NVW_E_USAGE, "--slice: expected I/N:FOLDER with I from 1 to N and N at most 64, found \"%s\"",
		text);
	o->slices = text + n;
	o->cures = false;
	o->unexplained = true;
	return 0;
}

/* A model implies permitted mode. */
static void take_mode(const struct cli_options *given, struct ct_options *o)
{
	static const enum ct_mode modes[] = {CT_KILL, CT_OBSERVED, CT_PERMITTED};
	const char *const model = cli_text(given, CLI_model);

	o->mode = CT_OBSERVED;
	if (model) {
		o->mode = CT_PERMITTED;
		ct_model_find(model, &o->model);
	}
	if (cli_given(given, CLI_mode)) {
		o->mode = modes[cli_number(given, CLI_mode)];
	}
}

static unsigned atomicity_of(const char *text)
{
	if (strcmp(text, "line") == 0) {
		return 64;
	}
	if (strcmp(text, "sector") == 0) {
		return 512;
	}
	return (unsigned)strtoul(text, NULL, 10);
}

/* "FILE:LINE:FILE:LINE", or the second without its file. */
static bool take_order(const char *text, struct ct_edit *e)
{
	unsigned a, b;
	char after;

	e->kind = CT_EDIT_ORDERED;
	if (sscanf(text, "%127[^:]:%u:%127[^:]:%u%c", e->a.file, &a, e->b.file, &b, &after) != 4) {
		if (sscanf(text, "%127[^:]:%u:%u%c", e->a.file, &a, &b, &after) != 3) {
			return false;
		}
		*e->b.file = '\0';
	}
	if (!strchr(e->b.file, '.')) {
		memcpy(e->b.file, e->a.file, sizeof e->b.file);
	}
	e->a.line = a;
	e->b.line = b;
	return a > 0 && b > 0;
}

/* "FILE:LINE" as durable, "FILE:LINE:FILE:LINE" as ordered; of the second the file may be left out. */
static int take_assumption(const char *text, struct ct_edit *ret)
{
	struct ct_edit e = {.kind = CT_EDIT_DURABLE};
	unsigned line;
	char after;

	if (sscanf(text, "%127[^:]:%u%c", e.a.file, &line, &after) == 2 && line > 0) {
		e.a.line = line;
	} else if (!take_order(text, &e)) {
		return nvw_fail(NVW_E_USAGE,
			"--assume-durable, --assume-ordered: expected FILE:LINE, or FILE:LINE:FILE:LINE, "
			"found \"%s\"",
			text);
	}
	*ret = e;
	return 0;
}

static int take_assumptions(const struct cli_options *given, struct crash_request *r)
{
	NVW_FAIL_IF(given->assumption_count > CRASH_ASSUMPTIONS_MAX, NVW_E_USAGE, "at most %d assumptions",
		CRASH_ASSUMPTIONS_MAX);
	r->options.assumed = r->assumed;
	r->options.assumed_count = given->assumption_count;
	NVW_FOR(i, given->assumption_count) {
		NVW_TRY(take_assumption(given->assumption[i], &r->assumed[i]));
	}
	return 0;
}

static int take_judge(const char *image, const char *option, const char **command, char **ret_own)
{
	if (image && *command) {
		NVW_TRY(cli_image_as_braces(*command, image, option, ret_own));
		*command = *ret_own;
	}
	return 0;
}

/* In the commands that judge a state, its file takes the place of the image. */
static int take_judges(struct crash_request *r)
{
	NVW_TRY(take_judge(r->image, "--check", &r->check, &r->judge[0]));
	NVW_TRY(take_judge(r->image, "--recover", &r->recover, &r->judge[1]));
	return take_judge(r->image, "--and-then", &r->and_then, &r->judge[2]);
}

void crash_request_end(struct crash_request *r)
{
	free(r->judge[0]);
	free(r->judge[1]);
	free(r->judge[2]);
}

static void take_kernel_schedules(const struct cli_options *given, struct ct_options *o)
{
	o->schedules = cli_number(given, CLI_kernel_schedules);
	o->schedule_depth = (unsigned)cli_number(given, CLI_schedule_depth);
	o->every_order = cli_given(given, CLI_every_order);
	o->stop_after = (unsigned)cli_number(given, CLI_stop_after);
}

static void take_robust(const struct cli_options *given, struct ct_options *o)
{
	o->robust = cli_given(given, CLI_oracle) && cli_number(given, CLI_oracle) == 2;
	if (o->robust) { /* its words say what is wrong */
		o->mode = cli_given(given, CLI_mode) ? o->mode : CT_PERMITTED;
		o->unexplained = true;
		o->cures = false;
	}
}

static void take_options(const struct cli_options *given, struct ct_options *o)
{
	take_mode(given, o);
	o->states = cli_number(given, CLI_states);
	o->jobs = (unsigned)cli_number(given, CLI_jobs);
	o->timeout_ms = (unsigned)cli_number(given, CLI_timeout);
	o->nested = cli_given(given, CLI_nested);
	o->crash_again = cli_given(given, CLI_crash_again);
	o->cures = !cli_given(given, CLI_cures) || cli_number(given, CLI_cures) == 0;
	o->cure_states = cli_number(given, CLI_cure_states);
	o->symmetric = cli_given(given, CLI_symmetric);
	o->trusts = cli_number(given, CLI_trust) == 1;
	o->resume = cli_text(given, CLI_resume);
	o->save = cli_text(given, CLI_save);
	o->exports = cli_text(given, CLI_export_states);
	o->whole = o->exports != NULL;
	o->cures = o->cures && !o->whole;
	if (cli_given(given, CLI_atomicity)) {
		o->atomicity = atomicity_of(cli_text(given, CLI_atomicity));
	}
	take_kernel_schedules(given, o);
	take_robust(given, o);
	o->settle_after = o->cures * SETTLE_AFTER;
}

/* A crash test of a workload that nothing else is asked of goes on with some of its states. */
static void go_on_unasked(struct crash_request *r)
{
	struct ct_options *const o = &r->options;

	if (!r->matrix && !r->self_test && o->mode != CT_KILL && !o->robust && o->schedules == 0) {
		o->go_on = GOES_ON_BY;
		o->go_on_states = GOES_ON_FROM;
	}
}

/* A workload goes on by a number of operations, a program by a command. */
static int take_and_then(struct crash_request *r)
{
	const bool is_program = r->exec || r->store_log;

	if (!r->and_then && !is_program) {
		go_on_unasked(r);
	} else if (!is_program) {
		NVW_FAIL_IF(nvw_parse_count(r->and_then, &r->options.go_on) != 0, NVW_E_USAGE,
			"--and-then: expected a number of operations, of a workload, found \"%s\"",
			r->and_then);
	}
	NVW_FAIL_IF(r->options.crash_again && (!r->and_then || r->options.go_on == 0), NVW_E_USAGE,
		"--crash-again needs --and-then=N, a number of operations of a workload");
	return 0;
}

static void take_values(const struct cli_options *given, struct crash_request *ret)
{
	*ret = (struct crash_request){.matrix = cli_given(given, CLI_matrix),
		.self_test = cli_given(given, CLI_self_test),
		.intervals = cli_given(given, CLI_intervals),
		.verbose = cli_given(given, CLI_verbose),
		.format = cli_format(given),
		.html = cli_text(given, CLI_html),
		.coverage = cli_text(given, CLI_coverage),
		.patch = cli_text(given, CLI_patch),
		.try_cures = cli_text(given, CLI_try_cures),
		.store_log = cli_text(given, CLI_store_log),
		.exec = cli_text(given, CLI_exec),
		.image = cli_text(given, CLI_image),
		.check = cli_text(given, CLI_checker),
		.check_lib = cli_text(given, CLI_check_lib),
		.recover = cli_text(given, CLI_recover),
		.and_then = cli_text(given, CLI_and_then),
		.fs = (unsigned)cli_number(given, CLI_fs),
		.except = cli_text(given, CLI_except),
		.tool = cli_text(given, CLI_tool),
		.bugs = cli_text(given, CLI_bugs),
		.corpus = cli_text(given, CLI_corpus),
		.fuzz = cli_number(given, CLI_fuzz),
		.input_timeout_ms = (unsigned)cli_number(given, CLI_input_timeout),
		.stacks = cli_number(given, CLI_callers) == 0,
		.compare = cli_number(given, CLI_compare) == 1,
		.replays = cli_given(given, CLI_oracle) && cli_number(given, CLI_oracle) == 1};
}

/* Which part of the states. */
static int take_part(const struct cli_options *given, struct crash_request *ret)
{
	struct ct_options *const o = &ret->options;

	if (cli_given(given, CLI_slice)) {
		NVW_TRY(take_slice(cli_text(given, CLI_slice), o));
	}
	return cli_take_shard(given, &o->shard, &o->shards);
}

static void note_moved(const struct cli_options *given, struct crash_request *ret)
{
	ret->moves_mode = !cli_given(given, CLI_mode) && ret->options.mode != CT_OBSERVED;
	ret->moves_cures = cli_number(given, CLI_cures) == 0 && !cli_given(given, CLI_cures) &&
			   (!ret->options.cures || ret->options.shards > 0);
}

int crash_request_from(const struct cli_options *given, struct crash_request *ret)
{
	take_values(given, ret);
	take_options(given, &ret->options);
	NVW_TRY(cli_schedules_from(given, &ret->schedules));
	NVW_TRY(take_assumptions(given, ret));
	NVW_FAIL_IF(ret->replays && !ret->exec && !ret->store_log, NVW_E_USAGE,
		"--oracle=replay is for programs: a workload has a check");
	NVW_TRY(take_and_then(ret));
	NVW_TRY(take_judges(ret));
	NVW_TRY(take_part(given, ret));
	note_moved(given, ret);
	return 0;
}

/* One crash test from the command line. */
struct crash_run {
	const struct ct_subject *subject;
	const struct crash_request *request;
	const struct crash_heading *heading;
	bool json;
	struct ct_result result;
	struct ct_matrix matrix;
};

/* ---- Running ------------------------------------------------------------------------------------- */

static void show_share(const struct ct_progress *p)
{
	const double done = (double)p->done, all = (double)p->total;
	double rate = 0, left = 0;

	NVW_INVARIANT(p->total > 0);
	if (p->seconds > 0 && done > 0) {
		rate = done / p->seconds;
		left = (all - done) / rate;
	}
	fprintf(stderr, "\r\033[K %s  %3.0f %%   %.0f of %.0f   %.0f/s   %.0f s left", p->what,
		100.0 * done / all, done, all, rate, left);
}

static void show_progress(void *context, const struct ct_progress *p)
{
	if (p->total) {
		show_share(p);
	} else {
		fprintf(stderr, "\r\033[K %s", p->what);
	}
}

static void show_slice(const struct crash_run *r)
{
	const struct ct_options *const o = &r->request->options;

	NVW_INVARIANT(o->slice <= o->jobs);
	printf(r->json ? "{\"slice\": %u, \"slices\": %u, \"states_tested\": %llu}\n" :
			 "slice %u of %u: %llu states tested, no verdict\n",
		o->slice, o->jobs, (ull)r->result.states_tested);
}

/* The problems of the result, for other tools. */
static int show_problems(const struct crash_run *r)
{
	const enum ct_verdict verdict = ct_verdict_of(&r->result);
	char headline[512] = "";
	FILE *const words = fmemopen(headline, sizeof headline - 1, "w");
	json_t *const problems = cli_crash_problems(&r->result);
	const struct cli_for_tools report = {.command = "crash",
		.subject = r->heading->workload,
		.headline = headline,
		.verdict = ct_verdict_name(verdict),
		.undecided = verdict == CT_VERDICT_UNDECIDED,
		.seconds = r->result.host_seconds,
		.problems = problems,
		.made_by = r->heading->made_by};

	if (words) {
		crash_report_headline(&r->result, words);
		fclose(words);
	}
	const int error = r->request->format == CLI_FORMAT_SARIF ? cli_print_sarif(&report, stdout) :
								   cli_print_junit(&report, stdout);

	json_decref(problems);
	return error;
}

static int show(const struct crash_run *r)
{
	if (r->request->format >= CLI_FORMAT_SARIF) {
		return show_problems(r);
	}
	if (r->request->options.slice > 0) {
		show_slice(r);
	} else if (r->request->matrix && r->json) {
		return crash_matrix_json(r->heading, &r->matrix, stdout);
	} else if (r->request->matrix) {
		crash_matrix_text(r->heading, &r->matrix, stdout);
	} else if (r->json) {
		return crash_report_json(r->heading, &r->result, stdout);
	} else {
		crash_report_text(r->heading, &r->result, stdout);
	}
	return 0;
}

/* A block device's log needs no checker. */
static int check_judges(const struct crash_request *r)
{
	const bool has_one = (!r->check) != (!r->check_lib);

	if (has_one || r->replays || (r->store_log && !r->check && ct_is_block_log(r->store_log))) {
		return 0;
	}
	if (r->store_log && access(r->store_log, R_OK) != 0) {
		return nvw_fail_errno("%s", r->store_log); /* it may be one that needs none */
	}
	return nvw_fail(NVW_E_USAGE, "--store-log and --exec need one checker: --check=COMMAND, "
				     "--check-lib=FILE.so or --oracle=replay");
}

int crash_check_foreign(const struct crash_request *r)
{
	NVW_INVARIANT(r->exec || r->store_log);
	NVW_FAIL_IF(!r->image, NVW_E_USAGE,
		"--store-log and --exec need --image=FILE: the file as it was "
		"before the program began");
	NVW_FAIL_IF(r->replays && (r->check || r->check_lib), NVW_E_USAGE,
		"--oracle=replay cannot be combined with --check and "
		"--check-lib: it needs no checker");
	NVW_FAIL_IF(r->options.robust && (!r->check || r->and_then), NVW_E_USAGE,
		"--oracle=robust needs --check=COMMAND, a program that opens the file and reads it, "
		"and no --and-then");
	NVW_FAIL_IF(
		r->recover && !r->replays, NVW_E_USAGE, "--recover has no effect without --oracle=replay");
	NVW_FAIL_IF(r->replays && !r->recover && !r->exec, NVW_E_USAGE,
		"--oracle=replay needs --recover=COMMAND: a log does not know its program's command");
	NVW_FAIL_IF(r->and_then && !r->check && !r->replays, NVW_E_USAGE,
		"--and-then=COMMAND needs --check=COMMAND or --oracle=replay");
	return check_judges(r);
}

struct ct_foreign crash_foreign(const struct crash_request *q, const char *store_log, const char *image,
	const char *recover, const char *command, json_t *made_by)
{
	return (struct ct_foreign){.store_log = store_log,
		.image = image,
		.command = q->check,
		.library = q->check_lib,
		.recover = recover,
		.next = q->and_then,
		.command_line = command,
		.made_by = made_by};
}

static int test_foreign(struct crash_run *r, const struct ct_options *o)
{
	const struct crash_request *const q = r->request;
	const struct ct_foreign foreign = crash_foreign(
		q, q->store_log, q->image, q->recover, r->heading->command, r->heading->made_by);

	NVW_TRY(crash_check_foreign(q));
	return ct_run_foreign(&foreign, o, &r->result);
}

static int test_subject(struct crash_run *r, const struct ct_options *o)
{
	const struct crash_request *const q = r->request;

	if (q->run) {
		return q->run(q->context, o, &r->result);
	}
	if (q->store_log) {
		return test_foreign(r, o);
	}
	if (q->matrix) {
		return ct_run_matrix(r->subject, o, &r->matrix);
	}
	if (o->schedules > 0) {
		return ct_run_schedules(r->subject, o, true, &r->result);
	}
	NVW_TRY(ct_run(r->subject, o, &r->result));
	cli_unlogged_mark(&r->result);
	if (o->shards == 0 && o->slice == 0 && !o->exports) {
		ct_find_fewest(r->subject, o, &r->result);
	}
	return 0;
}

static int test(struct crash_run *r)
{
	struct ct_options o = r->request->options;

	if (o.exports) {
		NVW_TRY(exported_begin(o.exports));
	}
	if (isatty(STDERR_FILENO)) {
		o.progress = show_progress;
	}
	const int error = test_subject(r, &o);

	if (o.progress) {
		fputs("\r\033[K", stderr);
	}
	return error;
}

static enum ct_verdict verdict_of(const struct crash_run *r)
{
	if (!r->request->matrix) {
		return ct_verdict_of(&r->result);
	}
	NVW_EACH(cell, r->matrix.under, CT_MODEL_COUNT) {
		if (cell->verdict == CT_VERDICT_INCONSISTENT) {
			return CT_VERDICT_INCONSISTENT;
		}
	}
	return r->matrix.interrupted ? CT_VERDICT_UNDECIDED : CT_VERDICT_UNREFUTED;
}

int crash_status(enum ct_verdict verdict)
{
	static const int status[] = {[CT_VERDICT_UNDECIDED] = STATUS_INPUT,
		[CT_VERDICT_CONSISTENT] = STATUS_CLEAN,
		[CT_VERDICT_UNREFUTED] = STATUS_CLEAN,
		[CT_VERDICT_INCONSISTENT] = STATUS_INCONSISTENT,
		[CT_VERDICT_UNLOGGED] = STATUS_INCONSISTENT,
		[CT_VERDICT_ROBUST] = STATUS_CLEAN,
		[CT_VERDICT_NOT_ROBUST] = STATUS_INCONSISTENT};

	NVW_INVARIANT(verdict < NVW_COUNT(status));
	return status[verdict];
}

enum { STATES_STATED = 20000 }; /* by the help of --states */

/* Defaults that other options have moved, in the words of the command line. */
static void say_moved(const struct crash_run *run)
{
	const struct crash_request *const q = run->request;
	const uint64_t states = q->matrix ? run->matrix.states_asked : run->result.states_asked;
	json_t *const made_by = run->heading->made_by;
	const char *name, *value;

	for (unsigned i = 0; run->subject && nvw__options_moved(run->subject->options, i, &name, &value);
		i++) {
		cli_provenance_moved(made_by, name, "%s", value);
	}
	if (q->options.states == 0 && states != 0 && states != STATES_STATED) {
		cli_provenance_moved(made_by, "states", "%llu", (ull)states);
	}
	if (q->moves_mode && !q->matrix) {
		cli_provenance_moved(made_by, "mode", "%s", ct_mode_name(q->options.mode));
	}
	if (q->moves_cures) {
		cli_provenance_moved(made_by, "cures", "off");
	}
}

static int write_outputs(struct crash_run *run, const struct crash_request *q, unsigned *failed)
{
	if (q->options.exports) {
		NVW_TRY(exported_end(q->options.exports, q->tool, run->heading->made_by, run->json, failed));
	}
	NVW_TRY(cli_flush());
	if (q->patch) {
		NVW_TRY(cli_patch_write(&run->result, q->patch));
	}
	if (q->html) { /* the verdict stands even if the page cannot be written */
		NVW_TRY(crash_report_html(run->heading, &run->result, q->html));
	}
	if (q->coverage) {
		NVW_TRY(cli_write_statements(&run->result.coverage, q->coverage));
	}
	return 0;
}

static int test_and_show(struct crash_run *run)
{
	const struct crash_request *const q = run->request;
	unsigned failed = 0;
	const int error = test(run);

	nvw_stop_reporting();
	NVW_TRY(error);
	NVW_TRY(ct_order_findings(&run->result));
	say_moved(run);
	NVW_TRY(show(run));
	NVW_TRY(write_outputs(run, q, &failed));
	if (q->options.slice > 0) {
		return run->result.interrupted ? STATUS_INPUT : STATUS_CLEAN;
	}
	if (failed != 0) {
		return STATUS_INCONSISTENT;
	}
	const int status = crash_status(verdict_of(run));

	return status == STATUS_CLEAN && run->result.thread_schedules.stuck > 0 ? STATUS_INCONSISTENT :
										  status;
}

static int execute(struct crash_run *run)
{
	const int status = test_and_show(run);

	ct_result_free(&run->result);
	if (status < 0) {
		return cli_fail();
	}
	return status;
}

int crash_execute(const struct ct_subject *subject, const struct crash_request *request,
	const struct crash_heading *heading, bool json)
{
	NVW_INVARIANT(subject || request->run || request->store_log);

	struct crash_run *const run = calloc(1, sizeof *run);

	if (!run) {
		nvw_fail(NVW_E_MEMORY, "no memory for a crash test");
		return cli_fail();
	}
	*run = (struct crash_run){.subject = subject, .request = request, .heading = heading, .json = json};
	const int status = execute(run);

	free(run);
	return status;
}

int crash_store_log(
	const struct emu_config *machine, const struct crash_request *request, const char *command, bool json)
{
	NVW_INVARIANT(request->exec || request->store_log);

	json_t *const made_by = cli_provenance(machine, command);
	const struct crash_heading heading = {.workload = words_or(request->exec, request->store_log),
		.machine = "",
		.protocol = "",
		.model = "",
		.mutation = "",
		.command = command,
		.made_by = made_by,
		.intervals = request->intervals,
		.verbose = request->verbose,
		.atomicity = 8,
		.seed = request->options.seed};

	const int status = crash_execute(NULL, request, &heading, json);

	json_decref(made_by);
	return status;
}
