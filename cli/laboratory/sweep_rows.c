/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows: what is kept of a point's report, and the files that have a row per point. The files depend on the
 * results only: not on how many points ran side by side, which came from the journal, or how long they took.
 * That is a file of its own.
 */
#include <stdlib.h>
#include <string.h>

#include "core/invariant.h"
#include "core/member.h"
#include "core/newfile.h"
#include "core/print.h"
#include "sweep.h"
#include "report/words.h"

enum { NAME_BYTES = 256, REASON_BYTES = 512 };

/* ---- A report becomes values --------------------------------------------------------------------- */

/* What depends on this computer, or repeats the point's description. */
static bool is_left_out(const char *name)
{
	static const char *const names[] = {"made_by", "repeat", "command", "options", "seconds",
		"explore_seconds", "cpu_seconds", "version", "workers", NULL};

	return text_is_one_of(name, strlen(name), names) || !strncmp(name, "host_", 5);
}

static void flatten(json_t *to, const char *prefix, json_t *from);

/* Lists are counted. A summary by protocols needs no names where there is one. */
static void add_value(json_t *to, const char *name, json_t *value)
{
	if (!strcmp(name, "summary") && json_object_size(value) == 1) {
		flatten(to, "", json_object_iter_value(json_object_iter(value)));
	} else if (json_is_object(value)) {
		flatten(to, words_if(strcmp(name, "stats"), name), value);
	} else if (json_is_array(value)) {
		member_set_count(to, name, json_array_size(value));
	} else if (!json_is_null(value)) {
		json_object_set(to, name, value);
	}
}

static void flatten(json_t *to, const char *prefix, json_t *from)
{
	JSON_EACH_MEMBER(key, value, from) {
		char name[NAME_BYTES];

		NVW_PRINT(name, "%s%s%s", prefix, words_if(*prefix, "."), key);
		if (!is_left_out(key)) {
			add_value(to, name, value);
		}
	}
}

/* Options whose defaults other options have moved: columns, so that rows that differ in them can be told
 * apart. */
static void add_effective(json_t *to, const char *prefix, json_t *report)
{
	JSON_EACH_MEMBER(option, value, json_object_get(json_object_get(report, "made_by"), "effective")) {
		char name[NAME_BYTES];

		NVW_PRINT(name, "%s%seffective.%s", prefix, words_if(*prefix, "."), option);
		json_object_set(to, name, value);
	}
}

static void take_report(json_t *to, const char *prefix, json_t *report)
{
	flatten(to, prefix, report);
	add_effective(to, prefix, report);
}

/* Reports of several protocols are a list, each element with the name of its protocol. */
static void take_one(json_t *values, json_t *report)
{
	take_report(values, "", report);
	json_object_set(values, "nvwave", json_object_get(json_object_get(report, "made_by"), "version"));
}

json_t *sweep_values(json_t *report)
{
	json_t *const values = json_object();

	if (json_is_object(report)) {
		take_one(values, report);
	}
	JSON_EACH(element, report) {
		const char *const name = member_text(element, "protocol");

		take_report(values, words_if(json_array_size(report) > 1, name), element);
	}
	return values;
}

/* ---- Why a point failed -------------------------------------------------------------------------- */

/* The last line that is not blank, without "nvwave: ". */
static void last_line(const char *text, char reason[REASON_BYTES])
{
	size_t end = strlen(text), begin;

	while (end && (text[end - 1] == '\n' || text[end - 1] == ' ')) {
		end--;
	}
	for (begin = end; begin && text[begin - 1] != '\n'; begin--) {
	}
	if (!strncmp(text + begin, "nvwave: ", 8)) {
		begin += 8;
	}
	snprintf(reason, REASON_BYTES, "%.*s", (int)(end - begin), text + begin);
}

/* The report's own words: a finding, a verdict, or what is said of a program. */
static const char *wrong_text(json_t *report, json_t *values)
{
	const json_t *const finding = json_array_get(json_object_get(report, "findings"), 0);
	const char *const texts[] = {member_string(finding, "text"), member_string(values, "what"),
		member_string(values, "verdict")};

	NVW_EACH_IN(text, texts) {
		if (*text) {
			return *text;
		}
	}
	return NULL;
}

static void explain_wrong(json_t *report, json_t *values, const char *err, char reason[REASON_BYTES])
{
	last_line(err, reason);
	if (!*reason) {
		snprintf(reason, REASON_BYTES, "%s", words_or(wrong_text(report, values), "exit status 1"));
	}
}

static const char *judge(int exit_status, bool timed_out, const char *err, json_t *report, json_t *values,
	char reason[REASON_BYTES])
{
	*reason = 0;
	if (timed_out) {
		snprintf(reason, REASON_BYTES, "it took longer than --timeout");
		return "timeout";
	}
	if (WIFSIGNALED(exit_status)) {
		snprintf(reason, REASON_BYTES, "SIG%s", sigabbrev_np(WTERMSIG(exit_status)));
		return "died";
	}
	if (WEXITSTATUS(exit_status) > 1) {
		last_line(err, reason);
		return "error";
	}
	if (!values) {
		snprintf(reason, REASON_BYTES, "its report is not JSON");
		return "error";
	}
	if (WEXITSTATUS(exit_status) == 1) {
		explain_wrong(report, values, err, reason);
		return "wrong";
	}
	return "ok";
}

json_t *sweep_row(int exit_status, bool timed_out, double seconds, const char *out, const char *err)
{
	char reason[REASON_BYTES];
	json_t *const report = json_loads(out, 0, NULL);
	json_t *values = report ? sweep_values(report) : NULL;
	const char *const status = judge(exit_status, timed_out, err, report, values, reason);

	if (strcmp(status, "ok") && strcmp(status, "wrong")) {
		json_decref(values);
		values = json_object();
	}
	json_decref(report);
	return json_pack("{s:s, s:s, s:f, s:o}", "status", status, "reason", reason, "seconds", seconds,
		"values", values);
}

/* ---- Columns ------------------------------------------------------------------------------------- */

/* Names of all values, in the order in which the points' reports have them, without those of axes. */
static json_t *columns(const struct sweep *s)
{
	json_t *const names = json_object();

	NVW_EACH(point, s->point, s->count) {
		JSON_EACH_MEMBER(key, value, json_object_get(point->row, "values")) {
			if (sweep_axis_named(s, key) < 0) {
				json_object_set_new(names, key, json_null());
			}
		}
	}
	return names;
}

static void print_quoted(const char *text, FILE *to)
{
	fputc('"', to);
	for (; *text; text++) {
		fputs(words_if(*text == '"', "\""), to);
		fputc(strchr("\r\n", *text) ? ' ' : *text, to);
	}
	fputc('"', to);
}

void sweep_csv_field(const char *text, FILE *to)
{
	if (strpbrk(text, ",\"\r\n")) {
		print_quoted(text, to);
	} else {
		fputs(text, to);
	}
}

void sweep_csv_value(const json_t *value, FILE *to)
{
	if (json_is_integer(value)) {
		fprintf(to, "%lld", (long long)json_integer_value(value));
	} else if (json_is_real(value)) {
		fprintf(to, "%.15g", json_real_value(value));
	} else if (json_is_string(value)) {
		sweep_csv_field(json_string_value(value), to);
	} else if (json_is_boolean(value)) {
		fputs(json_is_true(value) ? "true" : "false", to);
	}
}

static void print_head(const struct sweep *s, json_t *names, FILE *to)
{
	NVW_EACH(axis, s->axis, s->axis_count) {
		sweep_csv_field(axis->name, to);
		fputc(',', to);
	}
	fputs("status,reason", to);
	JSON_EACH_MEMBER(key, value, names) {
		fputc(',', to);
		sweep_csv_field(key, to);
	}
	fputc('\n', to);
}

static void print_axes(const struct sweep *s, const struct sweep_point *p, FILE *to)
{
	NVW_FOR(i, s->axis_count) {
		sweep_csv_field(sweep_value(s, p, i), to);
		fputc(',', to);
	}
}

static void print_outcome(const json_t *row, FILE *to)
{
	sweep_csv_value(json_object_get(row, "status"), to);
	fputc(',', to);
	sweep_csv_value(json_object_get(row, "reason"), to);
}

static void print_row(const struct sweep *s, const struct sweep_point *p, json_t *names, FILE *to)
{
	json_t *const values = json_object_get(p->row, "values");

	print_axes(s, p, to);
	print_outcome(p->row, to);
	JSON_EACH_MEMBER(key, value, names) {
		fputc(',', to);
		sweep_csv_value(json_object_get(values, key), to);
	}
	fputc('\n', to);
}

int sweep_write_csv(const struct sweep *s, const char *path)
{
	struct nvw_new_file f;

	NVW_INVARIANT(s->count > 0);
	NVW_TRY(nvw_new_file_begin(path, false, &f));
	json_t *const names = columns(s);
	print_head(s, names, f.file);
	NVW_EACH(point, s->point, s->count) {
		print_row(s, point, names, f.file);
	}
	json_decref(names);
	return nvw_new_file_end(&f, 0);
}

/* ---- The computer -------------------------------------------------------------------------------- */

int sweep_write_host(const struct sweep *s, const char *path)
{
	struct nvw_new_file f;

	NVW_TRY(nvw_new_file_begin(path, false, &f));
	NVW_EACH(axis, s->axis, s->axis_count) {
		sweep_csv_field(axis->name, f.file);
		fputc(',', f.file);
	}
	fputs("status,host_seconds,processor_seconds\n", f.file);
	NVW_EACH(p, s->point, s->count) {
		print_axes(s, p, f.file);
		sweep_csv_value(json_object_get(p->row, "status"), f.file);
		fputc(',', f.file);
		sweep_csv_value(json_object_get(p->row, "seconds"), f.file);
		fputc(',', f.file);
		sweep_csv_value(json_object_get(p->row, "processor_seconds"), f.file);
		fputc('\n', f.file);
	}
	return nvw_new_file_end(&f, 0);
}

/* ---- JSON lines ---------------------------------------------------------------------------------- */

/* A number where the whole text is one. */
static bool is_integer(const char *text)
{
	const size_t n = strspn(text, "-0123456789");
	char *end;

	strtoll(text, &end, 10);
	return n > 0 && n < 19 && !text[n] && !*end;
}

static json_t *typed(const char *text)
{
	if (is_integer(text)) {
		return json_integer(strtoll(text, NULL, 10));
	}
	return json_string(text);
}

static json_t *line_of(const struct sweep *s, const struct sweep_point *p)
{
	json_t *const line = json_object();

	NVW_FOR(k, s->axis_count) {
		json_object_set_new(line, s->axis[k].name, typed(sweep_value(s, p, k)));
	}
	json_object_set(line, "status", json_object_get(p->row, "status"));
	json_object_set(line, "reason", json_object_get(p->row, "reason"));
	json_object_update_missing(line, json_object_get(p->row, "values"));
	return line;
}

int sweep_write_json_lines(const struct sweep *s, const char *path)
{
	struct nvw_new_file f;
	int r = 0;

	NVW_TRY(nvw_new_file_begin(path, false, &f));
	for (unsigned i = 0; i < s->count && r == 0; i++) {
		json_t *const line = line_of(s, &s->point[i]);

		if (json_dumpf(line, f.file, JSON_COMPACT | JSON_REAL_PRECISION(15)) ||
			fputc('\n', f.file) == EOF) {
			r = nvw_fail_errno("%s", path);
		}
		json_decref(line);
	}
	return nvw_new_file_end(&f, r);
}
