/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of fio. See fio_run.h. */
#include "fio_run.h"

#include <config/machines.h>
#include <nvw/input.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/each.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"
#include "../../host/program.h"
#include "host_machine.h"
#include "../report/words.h"

extern const struct emu_text fio_jobs[]; /* ends with a NULL name */

/* ---- The folder ---------------------------------------------------------------------------------- */

int fio_place_begin(struct fio_place *p)
{
	*p = (struct fio_place){.job = ""};
	NVW_FAIL_IF(host_program_look("fio", NULL, 0) == HOST_PROGRAM_MISSING, NVW_E_USAGE,
		"fio is not in PATH: install the Debian package fio (version 3)");
	NVW_TRY(nvw_folder_make("fio", true, &p->folder));
	NVW_PRINT(p->job, "%s/job.fio", p->folder.path);
	NVW_PRINT(p->output, "%s/output", p->folder.path);
	NVW_PRINT(p->pool, "%s/nvram", p->folder.path);
	NVW_FAIL_ERRNO_IF(setenv("NVRAM", p->pool, 1), "NVRAM");
	return 0;
}

void fio_place_end(struct fio_place *p)
{
	nvw_folder_remove(&p->folder);
	*p = (struct fio_place){.job = ""};
}

/* ---- The job file -------------------------------------------------------------------------------- */

static const char *job_text(const char *name)
{
	const struct emu_text *t = fio_jobs;

	while (t->name && strcmp(t->name, name) != 0) {
		t++;
	}
	return t->text;
}

void fio_add_line(struct fio_lines *lines, const char *key, const char *value)
{
	const unsigned i = NVW_INDEX(k, lines->count, !strcmp(lines->line[k].key, key));

	lines->count += i == lines->count;
	NVW_INVARIANT(lines->count <= NVW_COUNT(lines->line));
	lines->line[i].key = key;
	NVW_PRINT(lines->line[i].value, "%s", value);
}

/* The replacement of a line, or NULL. */
static const char *replaced(const struct fio_lines *lines, const char *line)
{
	NVW_EACH(one, lines->line, lines->count) {
		const size_t n = strlen(one->key);

		if (strncmp(line, one->key, n) == 0 && line[n] == '=') {
			return one->value;
		}
	}
	return NULL;
}

static bool has_key(const char *text, const char *key)
{
	char line[64];

	NVW_PRINT(line, "\n%s=", key);
	return strstr(text, line) != NULL;
}

static void write_lines(FILE *to, const char *text, const struct fio_lines *lines)
{
	for (const char *line = text; *line != '\0';) {
		const char *const value = replaced(lines, line);
		const int n = (int)strcspn(line, "\n");

		if (value) {
			fprintf(to, "%.*s=%s\n", (int)strcspn(line, "="), line, value);
		} else {
			fprintf(to, "%.*s\n", n, line);
		}
		line += n + (line[n] == '\n');
	}
}

int fio_write_job(const struct fio_place *p, const char *job, const struct fio_lines *lines)
{
	const char *const text = job_text(job);

	NVW_INVARIANT(lines->count <= NVW_COUNT(lines->line));
	NVW_EACH(line, lines->line, lines->count) {
		NVW_FAIL_IF(!has_key(text, line->key), NVW_E_USAGE,
			"%s: the job has no line \"%s=\", so the option cannot override it", job, line->key);
	}
	FILE *const to = fopen(p->job, "w");

	NVW_FAIL_ERRNO_IF(!to, "%s", p->job);
	write_lines(to, text, lines);
	NVW_FAIL_ERRNO_IF(fclose(to), "%s", p->job);
	return 0;
}

/* ---- fio's output -------------------------------------------------------------------------------- */

static int keep(const char *path, const char *json)
{
	FILE *const to = fopen(path, "w");
	const bool written = to != NULL && fputs(json, to) >= 0;

	NVW_FAIL_ERRNO_IF((to && fclose(to)) || !written, "%s", path);
	return 0;
}

static int check_version(const struct fio_run *run)
{
	unsigned major = 0;

	NVW_FAIL_IF(sscanf(fio_version(run), "fio-%u", &major) != 1 || major < 3, NVW_E_INPUT,
		"expected fio-3 or a later version, found \"%s\"", fio_version(run));
	return 0;
}

static int parse_json(struct fio_run *run, const char *json)
{
	json_error_t e;

	run->result = json_loads(json, JSON_DISABLE_EOF_CHECK, &e);
	NVW_FAIL_IF(!run->result, NVW_E_INPUT, "fio's JSON: line %d: %s", e.line, e.text);
	NVW_TRY(check_version(run));
	if (run->keep) {
		return keep(run->keep, json);
	}
	return 0;
}

/* There may be warnings before the object. */
static int parse_output(struct fio_run *run, const char *text)
{
	NVW_FAIL_IF(!text, NVW_E_INPUT, "fio wrote no results");
	const char *const json = text[0] == '{' ? text : strstr(text, "\n{");

	NVW_FAIL_IF(!json, NVW_E_INPUT, "fio's output: expected a JSON object, found \"%.60s\"", text);
	return parse_json(run, json);
}

static int read_output(const struct fio_place *p, struct fio_run *run)
{
	char *text = NULL;
	uint64_t bytes;

	(void)!nvw_input_read(p->output, UINT32_MAX, &text, &bytes);
	const int error = parse_output(run, text);

	free(text);
	return error;
}

const char *fio_version(const struct fio_run *run)
{
	return words_or(member_string(run->result, "fio version"), "none");
}

/* ---- The run ------------------------------------------------------------------------------------- */

/* The argv of fio; word[] holds composed words. */
static void make_arguments(const struct fio_place *p, const struct fio_run *run, char word[2][320],
	char *argv[FIO_ARGUMENTS_MAX + 8])
{
	/* Not const, as argv is not. */
	static char fio[] = "fio", quiet[] = "--eta=never", format[] = "--output-format=json";
	unsigned n = 0;

	NVW_PRINT(word[0], "--output=%s", p->output);
	NVW_PRINT(word[1], "--aux-path=%s", p->folder.path);
	argv[n++] = fio;
	argv[n++] = quiet;
	argv[n++] = format;
	argv[n++] = word[0];
	argv[n++] = word[1];
	for (unsigned i = 0; i < FIO_ARGUMENTS_MAX && run->argument[i]; i++) {
		argv[n++] = (char *)(uintptr_t)run->argument[i];
	}
	argv[n++] = (char *)(uintptr_t)p->job;
	argv[n] = NULL;
	NVW_INVARIANT(n < FIO_ARGUMENTS_MAX + 8);
}

int fio_check(const struct fio_place *p, int status)
{
	NVW_FAIL_IF(WIFSIGNALED(status), NVW_E_INPUT, "fio was killed by signal %d (%s)", WTERMSIG(status),
		strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status) == 0) {
		return 0;
	}
	char *text = NULL;
	uint64_t bytes;

	(void)!nvw_input_read(p->output, UINT32_MAX, &text, &bytes);
	const char *const said = words_or(strstr(words_or(text, ""), "fio: "), "");

	nvw_fail(NVW_E_INPUT, "fio exited with status %d%s%.*s", WEXITSTATUS(status), words_if(*said, ": "),
		(int)strcspn(said, "\n"), said);
	free(text);
	return NVW_E_INPUT;
}

int fio_run(const struct fio_place *p, struct fio_run *run)
{
	NVW_INVARIANT(run->machine && !run->result);

	const struct host_options options = {
		.machine = cli_host_machine(run->machine), .delays = run->delays};
	char word[2][320], *argv[FIO_ARGUMENTS_MAX + 8];
	struct host_session s;

	run->result = NULL;
	unlink(p->output);
	NVW_TRY(host_session_begin(&options, &s));
	make_arguments(p, run, word, argv);
	s.quiet = true;
	int error = host_session_run(&s, argv);

	error = NVW_OR(error, fio_check(p, s.status));
	error = NVW_OR(error, read_output(p, run));
	host_session_sum(&s, &run->sum);
	host_session_end(&s);
	return error;
}

void fio_run_end(struct fio_run *run)
{
	json_decref(run->result);
	run->result = NULL;
}

static const json_t *find_job(const struct fio_run *run, const char *name)
{
	JSON_EACH(job, json_object_get(run->result, "jobs")) {
		if (!strcmp(member_text(job, "jobname"), name)) {
			return job;
		}
	}
	return NULL;
}

int fio_measured(const struct fio_run *run, const char *name, const char *direction, struct fio_measured *m)
{
	NVW_INVARIANT(run->result);

	json_t *const job = (json_t *)(uintptr_t)find_job(run, name);
	json_error_t e;

	NVW_FAIL_IF(
		job == NULL, NVW_E_INPUT, "fio's JSON: expected results of the job \"%s\", found none", name);
	*m = (struct fio_measured){0};
	if (json_unpack_ex(job, &e, 0, "{s:{s:F, s:F, s:F, s:{s:{s:F, s:F}}}}", direction, "total_ios",
		    &m->count, "iops", &m->iops, "bw_bytes", &m->bytes_per_s, "clat_ns", "percentile",
		    "50.000000", &m->p50_ns, "99.000000", &m->p99_ns)) {
		return nvw_fail(NVW_E_INPUT, "fio's JSON: job \"%s\", %s: %s", name, direction, e.text);
	}
	return 0;
}
