/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave exec -- PROGRAM ARGS: a program that uses libpmem, on the emulated NVRAM. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "core/newfile.h"
#include "../host/kernels.h"
#include "exec_kernels.h"
#include "report/exec_report.h"
#include "report/provenance.h"
#include "core/stop.h"
#include "session.h"

static void print_help(void)
{
	puts("nvwave exec [options] -- PROGRAM [ARGS]\n\n"
	     "Runs a program with its libpmem interposed. Files that it maps are emulated NVRAM of the machine. With --protocol or\n"
	     "--check, the kernels of a CUDA program that nvwave-nvcc has built run on the machine.\n");
	cli_options_help("exec");
	puts("\nExit status: 0 if the program ended with 0 and no race was found, else 1; 2 if it could not be run. The report has the program's own.");
}

struct request {
	bool delays, advice, stacks, compare;
	const char *record, *report;
	const char *emulate; /* the option that asks for kernels on the machine; NULL: none */
	const char *races;   /* the memory model under which they are looked for; NULL: they are not */
};

/* A record must not replace a file that the program had mapped. */
static int check_distinct(const struct host_control *c, const char *path)
{
	struct stat s;

	for (unsigned i = 0; stat(path, &s) == 0 && i < c->file_count; i++) {
		if (c->file[i].device == s.st_dev && c->file[i].inode == s.st_ino) {
			return nvw_fail(NVW_E_INPUT,
				"--record: %s is a file of the program and was not overwritten", path);
		}
	}
	return 0;
}

static int write_log(struct host_session *s, unsigned i, const char *log)
{
	const int error = check_distinct(s->control, log);
	const int fd = error ? -1 : open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	return error ? error : fd < 0 ? nvw_fail_errno("%s", log) : host_session_convert(s, i, fd, log, NULL);
}

/* Writes the logs and the initial content of the files; file i, from the second on, goes to LOG.i. */
static int write_logs(struct host_session *s, const char *path)
{
	const struct host_control *const c = s->control;
	int error = host_session_check_followed(s, NULL);

	if (error) {
		return error;
	}
	if (c->file_count == 0) {
		return nvw_fail(NVW_E_INPUT, "--record: the program mapped no file that can be recorded");
	}
	for (unsigned i = 0; i < c->file_count && !error; i++) {
		char log[4096], image[4200];

		snprintf(log, sizeof log, i ? "%.4000s.%u" : "%.4000s", path, i + 1);
		snprintf(image, sizeof image, "%s.image", log);
		error = write_log(s, i, log);
		error = error ? error : check_distinct(c, image);
		error = error ? error : host_session_save_base(s, i, image);
	}
	return error;
}

/* Checked before the program runs, and not hours later. */
static int check_writable(const char *path)
{
	const bool there = path == NULL || access(path, F_OK) == 0;
	const int fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666) : -1;

	if (path == NULL || (fd < 0 && errno == ENXIO)) { /* a pipe without a reader yet */
		return 0;
	}
	if (fd < 0) {
		return nvw_fail_errno("%s", path);
	}
	close(fd);
	if (!there) {
		unlink(path);
	}
	return 0;
}

static int report(const struct host_session *s, const struct cli_session *session, const json_t *kernels,
	const char *path)
{
	struct nvw_new_file f = {.file = stderr};
	int error = path ? nvw_new_file_begin(path, false, &f) : 0;

	if (error) {
		return error;
	}
	json_t *const made_by = cli_provenance(&session->config, NULL);

	if (session->json) {
		error = exec_report_json(s, made_by, kernels, f.file);
	} else {
		exec_report_text(s, made_by, f.file);
		exec_kernels_text(kernels, f.file);
	}
	json_decref(made_by);
	if (path) {
		return nvw_new_file_end(&f, error);
	}
	return !error && (fflush(stderr) || ferror(stderr)) ?
		       nvw_fail_errno("standard error: cannot write the report") :
		       error;
}

static int begin(const struct cli_session *session, const struct request *r, struct host_session *s)
{
	const struct host_options options = {.machine = &session->config,
		.delays = r->delays,
		.record = r->record != NULL,
		.stacks = r->stacks,
		.compare = r->compare,
		.advice = r->advice};
	int error = check_writable(r->record);

	error = error ? error : check_writable(r->report);
	error = error ? error : host_session_begin(&options, s);
	if (!error && r->emulate) {
		error = host_kernels_emulate(s, &session->config, r->races);
		if (error) {
			host_session_end(s);
		}
	}
	return error;
}

/* The program's own result, or that of its kernels. */
static int conclude(const struct host_session *s, const json_t *kernels)
{
	return nvw_stopping()                          ? STATUS_INPUT :
	       s->status || exec_kernels_race(kernels) ? STATUS_INCONSISTENT :
							 STATUS_CLEAN;
}

static int execute(const struct cli_session *session, const struct request *r, char **argv)
{
	struct host_session s;
	json_t *kernels = NULL;
	int error = begin(session, r, &s), status = STATUS_CLEAN;

	if (error) {
		return cli_fail();
	}
	error = host_session_run(&s, argv);
	if (!error && r->record != NULL) {
		error = write_logs(&s, r->record);
	}
	if (!error && r->emulate) {
		error = exec_kernels_load(&s, r->emulate, &kernels);
	}
	if (s.seconds > 0) {
		const int reported = report(&s, session, kernels, r->report);

		error = error ? error : reported;
	}
	status = error ? cli_fail() : conclude(&s, kernels);
	json_decref(kernels);
	host_session_end(&s);
	return status;
}

/* argv[last] is "--", or argc is last. */
static int check(const struct cli_session *s, int argc, int last)
{
	const uint64_t recording = UINT64_C(1)
				   << (cli_given(&s->given, CLI_record) ? CLI_AT_RECORD : CLI_AT_NO_RECORD);

	if (s->given.argument_count) {
		return nvw_fail(NVW_E_USAGE, "exec: expected -- before the program, found \"%s\"",
			s->given.argument[0]);
	}
	if (last + 1 >= argc) {
		return nvw_fail(NVW_E_USAGE, "exec: expected -- and a program");
	}
	return cli_options_check_use(&s->given, recording);
}

int cmd_exec(int argc, char **argv)
{
	static const char *const models[] = {"claimed", "drf", "hrf"};
	struct cli_session session;
	int last = 1, status = STATUS_CLEAN;

	while (last < argc && strcmp(argv[last], "--") != 0) {
		last++;
	}
	int error = cli_session_begin(&session, CLI_NO_WORKLOAD, last, argv);

	if (!error && session.help) {
		print_help();
	} else {
		const struct request r = {.delays = cli_number(&session.given, CLI_delays) == 0,
			.advice = cli_given(&session.given, CLI_advice),
			.emulate = cli_given(&session.given, CLI_protocol) ? "protocol" :
				   cli_given(&session.given, CLI_races)    ? "check" :
									     NULL,
			.races = cli_given(&session.given, CLI_races) ?
					 models[cli_number(&session.given, CLI_races)] :
					 NULL,
			.record = cli_text(&session.given, CLI_record),
			.stacks = cli_number(&session.given, CLI_callers) == 0,
			.compare = cli_number(&session.given, CLI_compare) == 1,
			.report = cli_text(&session.given, CLI_report)};

		error = error ? error : check(&session, argc, last);
		status = error ? cli_fail() : execute(&session, &r, argv + last + 1);
	}
	cli_session_end(&session);
	return status;
}
