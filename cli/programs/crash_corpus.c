/* SPDX-License-Identifier: BSD-3-Clause */
/* See crash_corpus.h. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <crashtest/explore/known.h>
#include <crashtest/judge/process.h>

#include "core/folder.h"
#include "core/invariant.h"
#include "core/copy.h"
#include "core/print.h"
#include "core/stop.h"
#include "crash_corpus.h"
#include "crash_sum.h"
#include "fuzz.h"
#include "../report/crash/corpus_report.h"
#include "../schedules/schedules_asked.h"

struct corpus {
	struct crash_tested *tested;
	const struct ct_options *options;
	const char *folder;
	struct ct_known *known;
	struct cli_logs_seen logs;
	struct ct_result *sum, *room;
};

/* ---- Inputs ---------------------------------------------------------------------------------------- */

static void path_of(const struct corpus *x, const char *name, char *ret_path, size_t n)
{
	snprintf(ret_path, n, "%s/%s", x->folder, name);
}

/* What a name hides is none: fuzzers keep their state there. */
static int is_shown(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* Nor is a folder. */
static int add_input(void *context, const char *name)
{
	const struct corpus *const x = context;
	struct ct_corpus *const c = &x->sum->corpus;
	char path[4096];

	path_of(x, name, path, sizeof path);
	if (nvw_is_folder(path)) {
		return 0;
	}
	struct ct_input *const more = realloc(c->input, (c->count + 1) * sizeof *more);

	NVW_ALLOCATED(more, "no memory for the inputs of a corpus");
	c->input = more;
	c->input[c->count] = (struct ct_input){.fate = CT_INPUT_NOT_RUN};
	NVW_PRINT(c->input[c->count].name, "%s", name);
	c->count++;
	return 0;
}

static int find_inputs(struct corpus *x)
{
	NVW_INVARIANT(x->sum->corpus.count == 0);
	const int r = nvw_each_entry(x->folder, is_shown, add_input, x);

	NVW_FAIL_IF(r, r, "--corpus: %s", nvw_error_message());
	NVW_FAIL_IF(x->sum->corpus.count == 0, NVW_E_INPUT,
		"--corpus: %s has no files: expected one for each run", x->folder);
	return 0;
}

/* ---- Runs ------------------------------------------------------------------------------------------ */

static int explore(struct corpus *x, bool explained)
{
	const struct ct_foreign log = crash_tested_log(x->tested);
	struct ct_options o = *x->options;

	if (!explained) {
		o.cures = false;
		o.unexplained = true;
		o.save = NULL;
		o.known = x->known;
	}
	ct_result_clear(x->room);
	return crash_tested_explore(x->tested, &log, &o, x->room);
}

/* Failures are explained once: a run that fails in new words is explored again for that. */
static void name_input(struct ct_result *r, const struct ct_input *input)
{
	NVW_EACH(finding, r->finding, r->finding_count) {
		NVW_PRINT(finding->input, "%s", input->name);
	}
}

/* Before others join it: the sum says so of no finding. */
static void say_without_crash(struct ct_result *r)
{
	char text[CT_TEXT_BYTES];

	NVW_EACH(finding, r->finding, r->without_crash ? r->finding_count : 0) {
		NVW_PRINT(text, "without any crash: %.*s", (int)sizeof text - 20, finding->text);
		NVW_PRINT(finding->text, "%s", text);
	}
}

static int explore_and_say(struct corpus *x, bool explained)
{
	NVW_TRY(explore(x, explained));
	say_without_crash(x->room);
	return 0;
}

static int test_log(struct corpus *x, const struct ct_input *input)
{
	NVW_TRY(explore_and_say(x, false));
	if (!x->room->interrupted && crash_sum_first_new(x->sum, x->room)) {
		ct_result_free(x->room);
		NVW_TRY(explore_and_say(x, true));
	}
	if (WIFSIGNALED(input->status)) {
		x->sum->ended_by = WTERMSIG(input->status);
	}
	name_input(x->room, input);
	crash_sum_add(x->sum, x->room);
	return 0;
}

static int is_new(struct corpus *x)
{
	uint64_t hash = 0;

	NVW_TRY(crash_tested_hash(x->tested, &hash));
	return cli_log_is_new(&x->logs, hash);
}

/* It is told of, and the others are tested. Any other error ends the test. */
static int refuse(struct ct_input *input, int error)
{
	NVW_INVARIANT(error != 0);
	if (error != NVW_E_INPUT && error != NVW_E_SYSTEM) {
		return error;
	}
	input->fate = CT_INPUT_REFUSED;
	NVW_PRINT(input->text, "%s", nvw_error_message());
	return 0;
}

/* It has run: 1 if there is a log. */
static int judge_run(struct corpus *x, struct ct_input *input, int found, const struct crash_recording *r)
{
	input->status = r->status;
	if (found == 0) {
		input->fate = CT_INPUT_TIMED_OUT;
		return 0;
	}
	if (r->fresh == 0) {
		input->fate = CT_INPUT_NOTHING_NEW;
		return 0;
	}
	const int new = is_new(x);

	if (new <= 0) {
		input->fate = CT_INPUT_SAME_LOG;
		return new;
	}
	const int error = test_log(x, input);

	if (error) {
		return refuse(input, error);
	}
	input->fate = CT_INPUT_TESTED;
	return 0;
}

/* 1: there is a log; 0: it was ended by its limit. */
static int run_input(struct crash_tested *t, const char *path)
{
	struct crash_recording *const r = &t->recorded;

	*r = crash_tested_recording(t);
	NVW_TRY(working_copy_renew(&t->copy, t->request->image));
	unlink(t->copy.input);
	NVW_FAIL_ERRNO_IF(nvw_copy_file(path, t->copy.input) != 0, "%s", path);
	r->judged = r->quiet = r->named = true;
	r->limit = 1e-3 * t->request->input_timeout_ms;
	if (!t->copy.names_input) {
		r->input = t->copy.input;
	}
	return crash_record(r);
}

static int try_input(struct corpus *x, struct ct_input *input)
{
	const struct crash_recording *const r = &x->tested->recorded;
	char path[4096];

	path_of(x, input->name, path, sizeof path);
	const int found = run_input(x->tested, path);

	if (found < 0) {
		input->status = r->status;
		return refuse(input, found);
	}
	return judge_run(x, input, found, r);
}

static int try_and_settle(struct corpus *x, struct ct_input *input)
{
	NVW_INVARIANT(input->fate == CT_INPUT_NOT_RUN);

	const int error = try_input(x, input);

	host_coverage_settle(&x->tested->coverage, input->fate == CT_INPUT_TESTED);
	return error;
}

static int try_all(struct corpus *x)
{
	struct ct_corpus *const c = &x->sum->corpus;
	int error = 0;

	NVW_INVARIANT(c->count > 0);
	for (unsigned i = 0; i < c->count && !error && !nvw_stopping(); i++) {
		error = try_and_settle(x, &c->input[i]);
	}
	x->sum->interrupted = x->sum->interrupted || nvw_stopping();
	if (error == NVW_E_STOPPED) {
		return 0; /* the others stand */
	}
	NVW_FAIL_IF(!error && !nvw_stopping() && cli_corpus_count(c, CT_INPUT_TESTED) == 0, NVW_E_INPUT,
		"--corpus: none of the %u inputs could be tested; %s %s%s%s", c->count, c->input[0].name,
		ct_input_fate_words(c->input[0].fate), *c->input[0].text ? ": " : "", c->input[0].text);
	return error;
}

static int run_all(struct corpus *x)
{
	NVW_TRY(find_inputs(x));
	NVW_TRY(ct_known_create(&x->known));
	x->room = calloc(1, sizeof *x->room);
	NVW_ALLOCATED(x->room, "no memory for results");
	return try_all(x);
}

/* AFL++ adds to the corpus. It has a command in which it names the input itself. */
static int fuzz(struct crash_tested *t, unsigned *ret_made)
{
	const struct crash_request *const q = t->request;
	struct working_copy w = t->copy;

	w.text = NULL;
	memset(w.words, 0, sizeof w.words);
	int error = working_copy_command(q->exec, q->image, false, &w);
	struct cli_fuzz f = {.corpus = q->corpus,
		.seconds = q->fuzz,
		.timeout_ms = q->input_timeout_ms,
		.words = w.words,
		.image = q->image,
		.file = t->copy.path,
		.folder = t->copy.folder.path};

	if (!error && strcmp(w.words[0], "/bin/sh") == 0) {
		error = nvw_fail(NVW_E_USAGE,
			"--fuzz: expected a program and its arguments in \"%s\", without a shell's "
			"characters",
			q->exec);
	}
	error = NVW_OR(error, cli_fuzz_run(&f));
	*ret_made = f.made;
	free(w.text);
	return error;
}

int crash_corpus_run(struct crash_tested *t, const struct ct_options *o, struct ct_result *ret_result)
{
	unsigned made = 0;
	struct corpus x = {.tested = t, .options = o, .folder = t->request->corpus, .sum = ret_result};

	NVW_INVARIANT(t->request->corpus);
	crash_sum_begin(ret_result);
	if (t->request->fuzz > 0) {
		NVW_TRY(find_inputs(&x)); /* are there any? */
		ret_result->corpus.count = 0;
		NVW_TRY(fuzz(t, &made));
	}
	const double began = ct_wall_seconds();
	const int error = run_all(&x);

	ret_result->corpus.made = made;
	ret_result->host_seconds = ct_wall_seconds() - began;
	ct_known_destroy(x.known);
	free(x.logs.hash);
	free(x.room);
	return error;
}
