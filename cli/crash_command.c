/* SPDX-License-Identifier: BSD-3-Clause */
/* Options, progress and exit status of "nvwave crash". See crash_command.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crash_command.h"

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
	static const char *const names[] = {[CT_KILL] = "kill", [CT_OBSERVED] = "observed", [CT_PERMITTED] = "permitted"};

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
	for (enum ct_model i = CT_MODEL_STRICT; i <= CT_MODEL_EADR; i++) {
		if (strcmp(text, ct_model_info(i)->name) == 0) {
			o->model = i;
			o->mode = CT_PERMITTED;
			return 1;
		}
	}
	return nvw_fail(NVW_E_USAGE, "--model: expected strict, epoch, buffered-epoch or eadr, found \"%s\"", text);
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
		return nvw_fail(NVW_E_USAGE, "--timeout: expected a time such as 10s or 500ms, found \"%s\"", text);
	}
	o->timeout_ms = (unsigned)ms;
	return 1;
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
};

int crash_option(const char *arg, struct ct_options *options)
{
	for (unsigned i = 0; i < sizeof own_options / sizeof own_options[0]; i++) {
		const size_t n = strlen(own_options[i].prefix);

		if (strncmp(arg, own_options[i].prefix, n) == 0) {
			return own_options[i].set(arg + n, options);
		}
	}
	return 0;
}

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

int crash_execute(const struct ct_subject *subject, const struct ct_options *options,
	const struct crash_heading *heading, bool json)
{
	static struct ct_result result;
	struct ct_options o = *options;
	const bool terminal = isatty(STDERR_FILENO);

	o.progress = terminal ? show_progress : NULL;
	int error = ct_run(subject, &o, &result);

	if (terminal) {
		fputs("\r\033[K", stderr);
	}
	if (!error && json) {
		error = crash_report_json(heading, &result, stdout);
	} else if (!error) {
		crash_report_text(heading, &result, stdout);
	}
	if (!error && fflush(stdout) != 0) {
		error = nvw_fail_errno("cannot write the report");
	}
	if (error) {
		fprintf(stderr, "nvwave: %s\n", nvw_error_message());
		return 2;
	}
	return result.consistent ? 0 : 1;
}
