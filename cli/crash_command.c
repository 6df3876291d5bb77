/* SPDX-License-Identifier: BSD-3-Clause */
/* Options, progress and exit status of "nvwave crash". See crash_command.h. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crash_command.h"
#include "html_report.h"

/* ---- Options ------------------------------------------------------------------------------------------------ */

static int parse_number(const char *name, const char *text, uint64_t most, uint64_t *ret)
{
	char *end;

	errno = 0;
	const uint64_t n = strtoull(text, &end, 0);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || n == 0 || n > most) {
		return nvw_fail(NVW_E_USAGE, "--%s: expected a number from 1 to %llu, found \"%s\"", name,
			(unsigned long long)most, text);
	}
	*ret = n;
	return 1;
}

static int set_mode(const char *text, struct ct_options *o)
{
	static const char *const names[] = {
		[CT_KILL] = "kill", [CT_OBSERVED] = "observed", [CT_PERMITTED] = "permitted"};

	for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (strcmp(text, names[i]) == 0) {
			o->mode = (enum ct_mode)i;
			return 1;
		}
	}
	return nvw_fail(NVW_E_USAGE, "--mode: expected kill, observed or permitted, found \"%s\"", text);
}

/* A model is explored by permitted mode. */
static int set_model(const char *text, struct ct_options *o)
{
	for (enum ct_model i = CT_MODEL_STRICT; i < CT_MODEL_COUNT; i++) {
		if (strcmp(text, ct_model_info(i)->name) == 0) {
			o->model = i;
			o->mode = CT_PERMITTED;
			return 1;
		}
	}
	return nvw_fail(NVW_E_USAGE,
		"--model: expected strict, epoch, buffered-epoch, eadr, or for store logs x86 or pmreorder, found \"%s\"",
		text);
}

static int set_atomicity(const char *text, struct ct_options *o)
{
	if (strcmp(text, "8") != 0 && strcmp(text, "line") != 0 && strcmp(text, "64") != 0) {
		return nvw_fail(NVW_E_USAGE, "--atomicity: expected 8 or line (64), found \"%s\"", text);
	}
	o->atomicity = strcmp(text, "8") == 0 ? 8 : 64;
	return 1;
}

static int set_states(const char *text, struct ct_options *o)
{
	return parse_number("states", text, (uint64_t)1 << 30, &o->states);
}

static int set_jobs(const char *text, struct ct_options *o)
{
	uint64_t n;
	const int error = parse_number("jobs", text, 64, &n);

	o->jobs = error == 1 ? (unsigned)n : o->jobs;
	return error;
}

/* A time has a unit: 10s, 500ms. */
static int set_timeout(const char *text, struct ct_options *o)
{
	char *end;
	const double n = strtod(text, &end);
	const double ms = strcmp(end, "s") == 0 ? 1000 * n : strcmp(end, "ms") == 0 ? n : 0;

	if (!(ms >= 1 && ms <= 86400e3)) {
		return nvw_fail(
			NVW_E_USAGE, "--timeout: expected a time such as 10s or 500ms, found \"%s\"", text);
	}
	o->timeout_ms = (unsigned)ms;
	return 1;
}

static int set_shard(const char *text, struct ct_options *o)
{
	char after;

	if (sscanf(text, "%u/%u%c", &o->shard, &o->shards, &after) != 2 || o->shard == 0 ||
		o->shard > o->shards || o->shards > 65536) {
		return nvw_fail(NVW_E_USAGE, "--shard: expected I/N with I from 1 to N, found \"%s\"", text);
	}
	return 1;
}

static int set_resume(const char *text, struct ct_options *o)
{
	o->resume = text;
	return *text ? 1 : nvw_fail(NVW_E_USAGE, "--resume: expected a file");
}

static int set_save(const char *text, struct ct_options *o)
{
	o->save = text;
	return *text ? 1 : nvw_fail(NVW_E_USAGE, "--save: expected a directory");
}

static const struct {
	const char *prefix;
	int (*set)(const char *text, struct ct_options *options);
} own_options[] = {
	{"--mode=", set_mode},
	{"--model=", set_model},
	{"--atomicity=", set_atomicity},
	{"--states=", set_states},
	{"--jobs=", set_jobs},
	{"--timeout=", set_timeout},
	{"--save=", set_save},
	{"--shard=", set_shard},
	{"--resume=", set_resume},
};

static const struct {
	const char *name;
	size_t offset; /* of a bool in the request */
} own_flags[] = {
	{"--symmetric", offsetof(struct crash_request, options.symmetric)},
	{"--nested", offsetof(struct crash_request, options.nested)},
	{"--intervals", offsetof(struct crash_request, intervals)},
	{"--matrix", offsetof(struct crash_request, matrix)},
	{"--self-test", offsetof(struct crash_request, self_test)},
};

static const struct {
	const char *prefix;
	size_t offset; /* of a string in the request */
} own_texts[] = {
	{"--html=", offsetof(struct crash_request, html)},
	{"--store-log=", offsetof(struct crash_request, store_log)},
	{"--exec=", offsetof(struct crash_request, exec)},
	{"--image=", offsetof(struct crash_request, image)},
	{"--check=", offsetof(struct crash_request, check)},
	{"--check-lib=", offsetof(struct crash_request, check_lib)},
};

int crash_option(const char *arg, struct crash_request *request)
{
	for (unsigned i = 0; i < sizeof own_flags / sizeof own_flags[0]; i++) {
		if (strcmp(arg, own_flags[i].name) == 0) {
			*(bool *)((char *)request + own_flags[i].offset) = true;
			return 1;
		}
	}
	for (unsigned i = 0; i < sizeof own_texts / sizeof own_texts[0]; i++) {
		const size_t n = strlen(own_texts[i].prefix);

		if (strncmp(arg, own_texts[i].prefix, n) == 0) {
			*(const char **)((char *)request + own_texts[i].offset) = arg + n;
			return 1;
		}
	}
	for (unsigned i = 0; i < sizeof own_options / sizeof own_options[0]; i++) {
		const size_t n = strlen(own_options[i].prefix);

		if (strncmp(arg, own_options[i].prefix, n) == 0) {
			return own_options[i].set(arg + n, &request->options);
		}
	}
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

/* ---- Running --------------------------------------------------------------------------------------------------- */

static void show_progress(void *context, const struct ct_progress *p)
{
	const double rate = p->seconds > 0 ? (double)p->done / p->seconds : 0;

	if (p->total == 0) {
		fprintf(stderr, "\r\033[K %s", p->what);
		return;
	}
	fprintf(stderr, "\r\033[K %s  %3.0f %%   %llu of %llu   %.0f/s   %.0f s left", p->what,
		100.0 * (double)p->done / (double)p->total, (unsigned long long)p->done,
		(unsigned long long)p->total, rate, rate > 0 ? (double)(p->total - p->done) / rate : 0);
}

static int show(struct crash_run *r)
{
	if (r->request->matrix) {
		if (r->json) {
			return crash_matrix_json(r->heading, &r->matrix, stdout);
		}
		crash_matrix_text(r->heading, &r->matrix, stdout);
		return 0;
	}
	const int error = r->request->html ? crash_report_html(r->heading, &r->result, r->request->html) : 0;

	if (error) {
		return error;
	}
	if (r->json) {
		return crash_report_json(r->heading, &r->result, stdout);
	}
	crash_report_text(r->heading, &r->result, stdout);
	return 0;
}

static volatile int interrupted;

static void note_interrupt(int signal)
{
	if (++interrupted == 3) {
		_exit(128 + signal);
	}
}

/* The first one ends the exploration in order, the third one at once. */
static void catch_interrupts(void)
{
	const struct sigaction action = {.sa_handler = note_interrupt};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

int crash_check_foreign(const struct crash_request *r)
{
	if (r->image == NULL) {
		return nvw_fail(NVW_E_USAGE,
			"--store-log, --exec: --image=FILE is needed, the file as it was before the program began");
	}
	const bool needs_none = r->store_log != NULL && r->check == NULL && r->check_lib == NULL &&
				ct_is_block_log(r->store_log);

	if ((r->check == NULL) == (r->check_lib == NULL) && !needs_none) {
		return nvw_fail(NVW_E_USAGE,
			"--store-log, --exec: one checker is needed, --check=COMMAND or --check-lib=FILE.so");
	}
	return 0;
}

static int test_foreign(struct crash_run *r, const struct ct_options *o)
{
	const struct crash_request *const q = r->request;
	const struct ct_foreign foreign = {.store_log = q->store_log,
		.image = q->image,
		.command = q->check,
		.library = q->check_lib,
		.command_line = r->heading->command};
	const int error = crash_check_foreign(q);

	return error ? error : ct_run_foreign(&foreign, o, &r->result);
}

static int test_subject(struct crash_run *r, const struct ct_options *o)
{
	if (r->request->matrix) {
		return ct_run_matrix(r->subject, o, &r->matrix);
	}
	const int error = ct_run(r->subject, o, &r->result);

	if (!error && o->shards == 0) {
		ct_find_fewest(r->subject, o, &r->result);
	}
	return error;
}

static int test(struct crash_run *r)
{
	struct ct_options o = r->request->options;

	catch_interrupts();
	o.interrupted = &interrupted;
	o.progress = isatty(STDERR_FILENO) ? show_progress : NULL;
	const int error = r->request->run       ? r->request->run(r->request->context, &o, &r->result) :
			  r->request->store_log ? test_foreign(r, &o) :
						  test_subject(r, &o);

	if (o.progress != NULL) {
		fputs("\r\033[K", stderr);
	}
	return error;
}

static bool is_consistent(const struct crash_run *r)
{
	const struct ct_matrix *const x = &r->matrix;

	return r->request->matrix ? x->strict.consistent && x->epoch.consistent && x->buffered.consistent &&
					    x->eadr.consistent :
				    r->result.consistent;
}

int crash_execute(const struct ct_subject *subject, const struct crash_request *request,
	const struct crash_heading *heading, bool json)
{
	static struct crash_run run;

	run = (struct crash_run){.subject = subject, .request = request, .heading = heading, .json = json};
	int error = test(&run);

	if (!error) {
		error = show(&run);
	}
	if (!error && fflush(stdout) != 0) {
		error = nvw_fail_errno("cannot write the report");
	}
	if (error) {
		fprintf(stderr, "nvwave: %s\n", nvw_error_message());
		return 2;
	}
	return !is_consistent(&run) ? 1 : run.result.interrupted ? 2 : 0;
}

int crash_store_log(const struct crash_request *request, const char *command, bool json)
{
	const struct crash_heading heading = {.workload = request->exec ? request->exec : request->store_log,
		.machine = "",
		.protocol = "",
		.model = "",
		.mutation = "",
		.command = command,
		.intervals = request->intervals,
		.atomicity = 8,
		.seed = request->options.seed};

	return crash_execute(NULL, request, &heading, json);
}
