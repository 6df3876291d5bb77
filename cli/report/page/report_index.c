/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a folder of crash reports. See report_index.h. */
#include "report_index.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <config/config.h>
#include <crashtest/group.h>

#include "core/bounds.h"
#include "core/folder.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/order.h"
#include "core/print.h"

#include "../words.h"

enum { PATH_BYTES = 4096, PAGE_HEAD_BYTES = 1 << 20 };

static bool ends_in(const char *name, const char *end)
{
	const size_t n = strlen(name), e = strlen(end);

	return n > e && strcmp(name + n - e, end) == 0;
}

/* ---- What a report is ---------------------------------------------------------------------------- */

enum ct_verdict report_index_verdict(const json_t *row)
{
	enum ct_verdict verdict = CT_VERDICT_UNDECIDED;

	ct_verdict_named(member_text(json_object_get(row, "report"), "verdict"), &verdict);
	return verdict;
}

static bool are_findings(const json_t *findings)
{
	JSON_EACH(f, findings) {
		if (!json_is_string(json_object_get(f, "text"))) {
			return false;
		}
	}
	return json_is_array(findings);
}

static int check_report(const char *path, const json_t *o)
{
	static const char *const texts[] = {"workload", "mode", "model", "machine", "protocol", "mutation"};
	enum ct_verdict verdict;

	NVW_FAIL_IF(!ct_verdict_named(member_text(o, "verdict"), &verdict), NVW_E_INPUT,
		"%s: not a report of nvwave crash: it has no verdict", path);
	NVW_EACH_IN(text, texts) {
		NVW_FAIL_IF(!json_is_string(json_object_get(o, *text)), NVW_E_INPUT,
			"%s: not a report of nvwave crash: it has no %s", path, *text);
	}
	NVW_FAIL_IF(!are_findings(json_object_get(o, "findings")), NVW_E_INPUT,
		"%s: not a report of nvwave crash: it has no findings", path);
	return 0;
}

/* ---- Subjects ------------------------------------------------------------------------------------ */

/* The machine and the protocol of every run that names none. */
static bool is_usual_machine(const json_t *o)
{
	struct emu_config usual;

	emu_config_default(&usual);
	return strcmp(member_text(o, "machine"), usual.name) == 0 &&
	       strcmp(member_text(o, "protocol"), usual.protocol) == 0;
}

/* What is compared from one report to the next: a test of the same thing in the same way. */
static json_t *subject_of(const json_t *o)
{
	const bool on_machine = *member_text(o, "machine") != '\0' && !is_usual_machine(o);
	const char *const mutation = member_text(o, "mutation");

	return json_sprintf("%s%s%s, %s mode, %s%s%s%s%s", member_text(o, "workload"),
		words_if(*mutation, ", mutation "), mutation, member_text(o, "mode"), member_text(o, "model"),
		words_if(on_machine, ", "), words_if(on_machine, member_text(o, "machine")),
		words_if(on_machine, ", protocol "), words_if(on_machine, member_text(o, "protocol")));
}

/* ---- Reading ------------------------------------------------------------------------------------- */

struct reading {
	const char *folder;
	json_t *rows;
};

static int add_row(struct reading *r, const char *file, const struct stat *s, json_t *report)
{
	const double time = (double)s->st_mtim.tv_sec + (double)s->st_mtim.tv_nsec / 1e9;
	json_t *const row = json_pack("{s:s, s:s, s:f, s:o, s:O}", "file", file, "page",
		ends_in(file, ".html") ? file : "", "time", time, "subject", subject_of(report), "report",
		report);

	NVW_FAIL_IF(!row || json_array_append_new(r->rows, row) != 0, NVW_E_MEMORY, "no memory for reports");
	return 0;
}

static int add_reports(struct reading *r, const char *path, const struct stat *s, json_t *all)
{
	const char *const file = strrchr(path, '/') + 1;

	if (!json_is_array(all)) {
		NVW_TRY(check_report(path, all));
		return add_row(r, file, s, all);
	}
	JSON_EACH(report, all) {
		NVW_TRY(check_report(path, report));
		NVW_TRY(add_row(r, file, s, report));
	}
	return 0;
}

static int read_json(struct reading *r, const char *path, const struct stat *s)
{
	json_error_t e;
	json_t *const all = json_load_file(path, 0, &e);

	NVW_FAIL_IF(!all, NVW_E_INPUT, "%s: line %d: %s", path, e.line, e.text);
	const int error = add_reports(r, path, s, all);

	json_decref(all);
	return error;
}

/* The characters that html_text() writes by name, in place. */
static void plain_text(char *text)
{
	static const struct {
		const char *name;
		char character;
	} names[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&amp;", '&'}};
	char *to = text;

	for (const char *at = text; *at != '\0'; to++) {
		unsigned i = 0;
		NVW_INVARIANT(to <= at);

		while (i < 4 && strncmp(at, names[i].name, strlen(names[i].name)) != 0) {
			i++;
		}
		*to = i < 4 ? names[i].character : *at;
		at += i < 4 ? strlen(names[i].name) : 1;
	}
	*to = '\0';
}

static int read_page_text(struct reading *r, const char *path, const struct stat *s, char *page)
{
	char *const begin = strstr(page, REPORT_PAGE_MARK);
	char *const data = begin ? begin + strlen(REPORT_PAGE_MARK) : NULL;
	char *const end = data ? strchr(data, '"') : NULL;
	json_error_t error;

	if (strstr(page, REPORT_INDEX_MARK)) {
		return 0;
	}
	NVW_FAIL_IF(!end, NVW_E_INPUT,
		"%s: not a page of nvwave crash, or one of an earlier revision, which needs its JSON "
		"report beside it",
		path);
	*end = '\0';
	plain_text(data);
	json_t *const report = json_loads(data, 0, &error);

	NVW_FAIL_IF(!report, NVW_E_INPUT, "%s: its report is damaged: %s", path, error.text);
	const int result = add_reports(r, path, s, report);

	json_decref(report);
	return result;
}

/* The head of a file as text. *ret is freed by the caller. */
static int read_head(const char *path, char **ret)
{
	FILE *const f = fopen(path, "re");

	NVW_FAIL_ERRNO_IF(!f, "%s", path);
	char *const text = malloc(PAGE_HEAD_BYTES);

	if (!text) {
		fclose(f);
		return nvw_fail(NVW_E_MEMORY, "no memory for a page");
	}
	text[fread(text, 1, PAGE_HEAD_BYTES - 1, f)] = '\0';
	fclose(f);
	*ret = text;
	return 0;
}

static int read_page(struct reading *r, const char *path, const struct stat *s)
{
	char *page = NULL;

	NVW_TRY(read_head(path, &page));
	const int result = read_page_text(r, path, s, page);

	free(page);
	return result;
}

/* A page whose JSON report is beside it is read there. */
static bool has_json(const char *page)
{
	char json[PATH_BYTES + 8];

	NVW_PRINT(json, "%.*sjson", (int)(strlen(page) - strlen("html")), page);
	return access(json, F_OK) == 0;
}

static int read_file(void *context, const char *name)
{
	struct reading *const r = context;
	char path[PATH_BYTES];
	struct stat s;

	NVW_PRINT(path, "%s/%s", r->folder, name);
	NVW_FAIL_ERRNO_IF(stat(path, &s) != 0, "%s", path);
	if (!S_ISREG(s.st_mode)) {
		return 0;
	}
	if (ends_in(name, ".json")) {
		return read_json(r, path, &s);
	}
	if (ends_in(name, ".html") && !has_json(path)) {
		return read_page(r, path, &s);
	}
	return 0;
}

/* ---- Pages and order ----------------------------------------------------------------------------- */

static void find_page(const struct reading *r, json_t *row)
{
	const char *const file = member_text(row, "file");
	char page[PATH_BYTES], path[2 * PATH_BYTES];

	if (!ends_in(file, ".json")) {
		return;
	}
	NVW_PRINT(page, "%.*shtml", (int)(strlen(file) - strlen("json")), file);
	NVW_PRINT(path, "%s/%s", r->folder, page);
	if (access(path, F_OK) == 0) {
		member_set_text(row, "page", page);
	}
}

/* The newest first; of one time, that of the last name. */
static int by_time(const void *a, const void *b)
{
	const json_t *const x = *(json_t *const *)a, *const y = *(json_t *const *)b;
	const int order = NVW_ORDER(member_real(y, "time"), member_real(x, "time"));

	return NVW_OR(order, strcmp(member_text(y, "file"), member_text(x, "file")));
}

static int sort(struct reading *r)
{
	const size_t n = json_array_size(r->rows);
	json_t **const list = malloc(n * sizeof *list), *const sorted = json_array();
	int error = !list || !sorted;

	for (size_t i = 0; i < n && !error; i++) {
		list[i] = json_array_get(r->rows, i);
	}
	if (!error) {
		qsort(list, n, sizeof *list, by_time);
	}
	for (size_t i = 0; i < n && !error; i++) {
		error = json_array_append(sorted, list[i]);
	}
	free(list);
	if (error) {
		json_decref(sorted);
		return nvw_fail(NVW_E_MEMORY, "no memory for reports");
	}
	json_decref(r->rows);
	r->rows = sorted;
	return 0;
}

/* ---- Changes ------------------------------------------------------------------------------------- */

/* Two findings are one if their words are, numbers aside, and the functions of both stores. */
static bool is_same(const json_t *a, const json_t *b)
{
	const json_t *const x = json_object_get(a, "cause"), *const y = json_object_get(b, "cause");

	return ct_shape_hash(member_text(a, "text")) == ct_shape_hash(member_text(b, "text")) &&
	       strcmp(member_text(x, "lost_function"), member_text(y, "lost_function")) == 0 &&
	       strcmp(member_text(x, "early_function"), member_text(y, "early_function")) == 0;
}

static bool has_finding(const json_t *findings, const json_t *finding)
{
	JSON_EACH(f, findings) {
		if (is_same(f, finding)) {
			return true;
		}
	}
	return false;
}

/* The texts of the findings that others has not. */
static json_t *only_in(const json_t *findings, const json_t *others)
{
	json_t *const texts = json_array();

	JSON_EACH(f, findings) {
		if (!has_finding(others, f)) {
			json_array_append(texts, json_object_get(f, "text"));
		}
	}
	return texts;
}

const char *report_index_coverage(const json_t *o, char buffer[REPORT_COVERAGE_TEXT])
{
	const json_t *const source = json_object_get(o, "source");
	const uint64_t instants = member_count(o, "instants"),
		       exhausted = member_count(o, "instants_exhausted");
	int n = snprintf(buffer, REPORT_COVERAGE_TEXT, "%s states tested",
		GROUPED(member_count(o, "states_distinct")));

	if (instants > 0) {
		n += snprintf(buffer + n, REPORT_COVERAGE_TEXT - (size_t)n, ", %s of %s instants exhausted%s",
			GROUPED(exhausted), GROUPED(instants), SHARE(exhausted, instants));
	}
	if (member_count(source, "statements") > 0) {
		snprintf(buffer + n, REPORT_COVERAGE_TEXT - (size_t)n, ", %s of %s statements executed",
			GROUPED(member_count(source, "executed")),
			GROUPED(member_count(source, "statements")));
	}
	return buffer;
}

static json_t *changes(const json_t *row, const json_t *before)
{
	const json_t *const now = json_object_get(row, "report"), *const then =
									  json_object_get(before, "report");
	const json_t *const found = json_object_get(now, "findings"), *const known = json_object_get(
									      then, "findings");
	const bool other = strcmp(member_text(then, "verdict"), member_text(now, "verdict")) != 0;
	char covered[REPORT_COVERAGE_TEXT], was[REPORT_COVERAGE_TEXT];
	const bool same = strcmp(report_index_coverage(now, covered), report_index_coverage(then, was)) == 0;

	return json_pack("{s:O, s:o, s:o, s:s, s:s}", "since", json_object_get(before, "file"), "new",
		only_in(found, known), "gone", only_in(known, found), "verdict",
		words_if(other, ct_verdict_words(report_index_verdict(before))), "coverage",
		words_if(!same, was));
}

/* The next older one of its subject. */
static const json_t *last_of(const json_t *rows, size_t i)
{
	const char *const subject = member_text(json_array_get(rows, i), "subject");

	NVW_INVARIANT(i < json_array_size(rows));
	for (size_t k = i + 1; k < json_array_size(rows); k++) {
		const json_t *const row = json_array_get(rows, k);

		if (strcmp(member_text(row, "subject"), subject) == 0) {
			return row;
		}
	}
	return NULL;
}

static void compare_all(json_t *rows)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const json_t *const before = last_of(rows, i);

		if (before) {
			json_object_set_new(row, "changes", changes(row, before));
		}
	}
}

/* ---- The whole ----------------------------------------------------------------------------------- */

static void find_pages(struct reading *r)
{
	JSON_EACH(row, r->rows) {
		find_page(r, row);
	}
}

static int read_and_compare(struct reading *r)
{
	NVW_TRY(nvw_each_entry(r->folder, NULL, read_file, r));
	NVW_FAIL_IF(json_array_size(r->rows) == 0, NVW_E_USAGE,
		"%s: there is no report: expected files of nvwave crash --output-format=json, or "
		"pages of --html",
		r->folder);
	find_pages(r);
	NVW_TRY(sort(r));
	compare_all(r->rows);
	return 0;
}

int report_index_read(const char *folder, json_t **ret_reports)
{
	struct reading r = {.folder = folder, .rows = json_array()};

	*ret_reports = NULL;
	NVW_ALLOCATED(r.rows, "no memory for reports");
	const int error = read_and_compare(&r);

	*ret_reports = r.rows; /* sorting replaces the list */
	return error;
}

const char *report_index_time(const json_t *row, char buffer[REPORT_TIME_TEXT])
{
	const time_t time = (time_t)member_real(row, "time");
	struct tm utc;

	gmtime_r(&time, &utc);
	strftime(buffer, REPORT_TIME_TEXT, "%Y-%m-%d %H:%M:%S UTC", &utc);
	return buffer;
}
