/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave exec -- PROGRAM ARGS: a program that uses libpmem, on the emulated NVRAM. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/newfile.h"
#include "core/print.h"
#include "programs/host_machine.h"
#include "programs/exec_kernels.h"
#include "schedules/exec_schedules.h"
#include "report/run/exec_races.h"
#include "report/run/exec_report.h"
#include "report/json_report.h"
#include "report/problems/problems.h"
#include "report/provenance.h"
#include "core/stop.h"
#include "session.h"

static void print_help(void)
{
	puts("nvwave exec [options] -- PROGRAM [ARGS]\n\n"
	     "Runs a program with its libpmem interposed. Files that it maps are emulated NVRAM of the "
	     "machine. With --protocol or\n"
	     "--check=races, the kernels of a CUDA program that nvwave-nvcc has built run on the machine.\n");
	cli_options_help("exec", 0);
	puts("\n"
	     "Exit status: 0 if the program ended with 0 and nothing was found (a race, a store that its "
	     "transaction has not logged), in each of its schedules, else 1; 2 if it could not be run. The "
	     "report has the program's own.");
}

struct request {
	struct host_options host; /* check: for candidates of persistency races */
	const char *record, *report;
	const char *emulate; /* the option that asks for kernels on the machine; NULL: none */
	const char *races;   /* the memory model under which they are looked for; NULL: they are not */
	struct cli_schedules schedules;
};

/* What the run has left for the report. */
struct outcome {
	json_t *kernels; /* NULL: none ran on the machine */
	struct host_candidates candidates;
	struct exec_schedules schedules;
};

/* A record must not replace a file that the program had mapped. */
static int check_distinct(const struct host_control *c, const char *path)
{
	struct stat s;

	if (stat(path, &s)) {
		return 0;
	}
	NVW_EACH(file, c->file, c->file_count) {
		NVW_FAIL_IF(file->device == s.st_dev && file->inode == s.st_ino, NVW_E_INPUT,
			"--record: %s is a file of the program and was not overwritten", path);
	}
	return 0;
}

static int write_log(struct host_session *s, unsigned i, const char *log)
{
	NVW_TRY(check_distinct(s->control, log));
	const int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	NVW_FAIL_ERRNO_IF(fd < 0, "%s", log);
	return host_session_convert(s, i, fd, log, NULL);
}

static int write_log_and_image(struct host_session *s, unsigned i, const char *log)
{
	char image[4200];

	NVW_TRY(write_log(s, i, log));
	NVW_PRINT(image, "%s.image", log);
	NVW_TRY(check_distinct(s->control, image));
	return host_session_save_image(s, i, image);
}

/* Writes the logs and the initial content of the files; file i, from the second on, goes to LOG.i. */
static int write_logs(struct host_session *s, const char *path)
{
	NVW_TRY(host_session_check_followed(s, NULL));
	NVW_FAIL_IF(s->control->file_count == 0, NVW_E_INPUT,
		"--record: the program mapped no file that can be recorded");
	NVW_FOR(i, s->control->file_count) {
		char log[4096];

		NVW_PRINT(log, i ? "%.4000s.%u" : "%.4000s", path, i + 1);
		NVW_TRY(write_log_and_image(s, i, log));
	}
	return 0;
}

/* Checked before the program runs, and not hours later. */
static int check_writable(const char *path)
{
	if (!path) {
		return 0;
	}
	const bool there = access(path, F_OK) == 0;
	const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);

	if (fd < 0 && errno == ENXIO) { /* a pipe without a reader yet */
		return 0;
	}
	NVW_FAIL_ERRNO_IF(fd < 0, "%s", path);
	close(fd);
	if (!there) {
		unlink(path);
	}
	return 0;
}

/* The problems alone, for other tools. */
static int print_problems(const struct host_session *s, enum cli_format format, json_t *report, FILE *to)
{
	char ending[96];
	json_t *const problems = cli_exec_problems(report);
	const struct cli_for_tools tools = {.command = "exec",
		.subject = s->program,
		.headline = exec_report_ending(s, ending),
		.verdict = json_array_size(problems) ? "problems" : "none",
		.seconds = s->seconds,
		.problems = problems,
		.made_by = json_object_get(report, "made_by")};

	NVW_INVARIANT(format == CLI_FORMAT_SARIF || format == CLI_FORMAT_JUNIT);
	const int error =
		format == CLI_FORMAT_SARIF ? cli_print_sarif(&tools, to) : cli_print_junit(&tools, to);

	json_decref(problems);
	return error;
}

/* As JSON, or what is made of it. */
static int print_made(const struct host_session *s, enum cli_format format, json_t *report, FILE *to)
{
	NVW_ALLOCATED(report, "no memory for the report");
	if (format == CLI_FORMAT_JSON) {
		return cli_print_json(report, to);
	}
	const int error = print_problems(s, format, report, to);

	json_decref(report);
	return error;
}

static int print_report(
	const struct host_session *s, const struct cli_session *session, const struct outcome *o, FILE *to)
{
	json_t *const made_by = cli_provenance(&session->config, NULL);
	int error = 0;

	const enum cli_format format = cli_format(&session->given);

	if (format != CLI_FORMAT_NORMAL) {
		error = print_made(s, format,
			exec_report_json(s, made_by, o->kernels, exec_races_json(s, &o->candidates),
				exec_schedules_json(&o->schedules)),
			to);
	} else {
		exec_report_text(s, made_by, to);
		exec_kernels_text(o->kernels, to);
		exec_races_text(s, &o->candidates, to);
		exec_schedules_text(&o->schedules, to);
	}
	json_decref(made_by);
	return error;
}

static int report_on_stderr(
	const struct host_session *s, const struct cli_session *session, const struct outcome *o)
{
	NVW_TRY(print_report(s, session, o, stderr));
	NVW_FAIL_ERRNO_IF(fflush(stderr) || ferror(stderr), "standard error: cannot write the report");
	return 0;
}

static int write_report(const struct host_session *s, const struct cli_session *session,
	const struct outcome *o, const char *path)
{
	struct nvw_new_file f;

	if (!path) {
		return report_on_stderr(s, session, o);
	}
	NVW_TRY(nvw_new_file_begin(path, false, &f));
	return nvw_new_file_end(&f, print_report(s, session, o, f.file));
}

static int check_request(const struct cli_session *session, const struct request *r)
{
	NVW_FAIL_IF(r->host.check && session->config.nvram.domain == EMU_DOMAIN_eadr, NVW_E_USAGE,
		"--check=persistency: the domain is eadr, where every store is durable at once");
	NVW_FAIL_IF(r->emulate && r->schedules.count > 0, NVW_E_USAGE,
		"--schedules: threads of a program whose kernels run on the machine cannot take "
		"turns");
	NVW_TRY(check_writable(r->record));
	return check_writable(r->report);
}

static int begin_session(const struct cli_session *session, const struct request *r,
	const struct host_options *o, struct host_session *s)
{
	NVW_TRY(host_session_begin(o, s));
	if (!r->emulate) {
		return 0;
	}
	const int error = cli_emulate_kernels(s, &session->config, r->races);

	if (error) {
		host_session_end(s);
	}
	return error;
}

/* The program's own result, or that of its kernels or threads. */
static int conclude(const struct host_session *s, const struct outcome *o)
{
	if (nvw_stopping()) {
		return STATUS_INPUT;
	}
	if (s->status || exec_kernels_race(o->kernels) || o->candidates.strong > 0 || o->schedules.bad > 0 ||
		json_array_size(o->schedules.witnessed) > 0 || s->control->unlogged_count > 0) {
		return STATUS_INCONSISTENT;
	}
	return STATUS_CLEAN;
}

static int collect(struct host_session *s, const struct request *r, char **argv, struct outcome *ret_outcome)
{
	NVW_TRY(host_session_run(s, argv));
	if (r->schedules.count > 0) {
		NVW_TRY(exec_schedules_ran(&ret_outcome->schedules, s));
	}
	if (r->record) {
		NVW_TRY(write_logs(s, r->record));
	}
	if (r->host.check) {
		NVW_TRY(host_candidates_find(s, &ret_outcome->candidates));
		exec_schedules_witness(&ret_outcome->schedules, s, &ret_outcome->candidates);
	}
	if (r->emulate) {
		return exec_kernels_load(s, r->emulate, &ret_outcome->kernels);
	}
	return 0;
}

/* The run that is reported. */
static int run_and_report(const struct cli_session *session, const struct request *r,
	const struct host_options *options, char **argv, struct outcome *o)
{
	struct host_session s;

	NVW_TRY(begin_session(session, r, options, &s));
	int result = collect(&s, r, argv, o);

	if (s.seconds > 0 && host_schedule_check(&s) == 0) {
		const int reported = write_report(&s, session, o, r->report);

		result = NVW_OR(result, reported);
	}
	result = NVW_OR(result, conclude(&s, o));
	host_session_end(&s);
	return result;
}

static int execute(const struct cli_session *session, const struct request *r, char **argv)
{
	struct outcome o = {.kernels = NULL, .schedules = {.asked = r->schedules}};
	struct host_options options = r->host;
	struct host_schedule_plan plan;

	NVW_TRY(check_request(session, r));
	int result = 0;

	if (r->schedules.count > 0) {
		result = exec_schedules_run(&options, argv, &o.schedules, &plan);
		options.schedule = &plan;
	}
	result = NVW_OR(result, run_and_report(session, r, &options, argv, &o));
	json_decref(o.kernels);
	host_candidates_free(&o.candidates);
	exec_schedules_end(&o.schedules);
	return result;
}

enum { PERSISTENCY = 3 }; /* among the choices of --check */

/* argv[last] is "--", or argc is last. */
static int check_words(const struct cli_options *o, int argc, int last)
{
	const bool records = cli_given(o, CLI_record);

	NVW_INVARIANT(last <= argc);
	NVW_FAIL_IF(o->argument_count, NVW_E_USAGE, "exec: expected -- before the program, found \"%s\"",
		o->argument[0]);
	NVW_FAIL_IF(last + 1 >= argc, NVW_E_USAGE, "exec: expected -- and a program");
	const bool schedules = cli_given(o, CLI_host_schedules) || cli_given(o, CLI_schedule);
	const bool races = cli_given(o, CLI_exec_races) && cli_number(o, CLI_exec_races) < PERSISTENCY;

	return cli_options_check_use(o, cli_at(CLI_AT_RECORD, records) | cli_at(CLI_AT_NO_RECORD, !records) |
						cli_at(CLI_AT_NO_SCHEDULES, !schedules) |
						cli_at(CLI_AT_NO_KERNEL_RACES, !races));
}

static struct request request_of(const struct cli_session *session)
{
	static const char *const models[][2] = {
		{"source", "source:atomic"}, {"drf", "drf:atomic"}, {"hrf", "hrf:atomic"}};
	const struct cli_options *const o = &session->given;
	struct request r = {.host = {.machine = cli_host_machine(&session->config),
				    .advice = cli_given(o, CLI_advice),
				    .stacks = cli_number(o, CLI_callers) == 0,
				    .compare = cli_number(o, CLI_compare) == 1},
		.record = cli_text(o, CLI_record),
		.report = cli_text(o, CLI_report)};

	if (cli_given(o, CLI_exec_races) && cli_number(o, CLI_exec_races) >= PERSISTENCY) {
		r.host.check = true;
		r.host.initial = cli_number(o, CLI_exec_races) > PERSISTENCY;
	} else if (cli_given(o, CLI_exec_races)) {
		r.emulate = "check";
		r.races = models[cli_number(o, CLI_exec_races)][cli_number(o, CLI_volatile_access)];
	}
	if (cli_given(o, CLI_protocol)) {
		r.emulate = "protocol";
	}
	return r;
}

static int check_and_execute(const struct cli_session *s, int argc, char **argv, int last)
{
	struct request r = request_of(s);

	NVW_TRY(check_words(&s->given, argc, last));
	NVW_TRY(cli_schedules_from(&s->given, &r.schedules));
	/* The rest of what the host is asked for, now that the schedules are known. */
	r.host.delays = cli_number(&s->given, CLI_delays) == 0 && r.schedules.count == 0;
	r.host.record = r.record || r.schedules.count > 0;
	return execute(s, &r, argv + last + 1);
}

static int position_of_program(int argc, char **argv)
{
	int at = 1;

	while (at < argc && strcmp(argv[at], "--")) {
		at++;
	}
	return at;
}

static int help_or_execute(const struct cli_session *s, int argc, char **argv, int last)
{
	if (s->help) {
		print_help();
		return 0;
	}
	return check_and_execute(s, argc, argv, last);
}

static int exec_main(const struct cli_command *command, int argc, char **argv)
{
	struct cli_session session;
	const int last = position_of_program(argc, argv);
	const int result = NVW_OR(cli_session_begin(&session, CLI_NO_WORKLOAD, last, argv),
		help_or_execute(&session, argc, argv, last));
	cli_session_end(&session);
	return cli_status(result);
}

const struct cli_command cmd_exec = {.main = exec_main};
