/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of a folder of reports. See report_index.h. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/member.h"
#include "core/newfile.h"
#include "core/print.h"
#include "html_text.h"
#include "config/machines.h"
#include "../provenance.h"
#include "report_index.h"
#include "../words.h"

enum { PATH_BYTES = 4096, HEAD_BYTES = 4096 };

extern const struct emu_text report_style[]; /* report.css */

/* ---- One report ---------------------------------------------------------------------------------- */

static void print_address(FILE *f, const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

	for (; *name; name++) {
		fprintf(f, strchr(plain, *name) ? "%c" : "%%%02X", (unsigned char)*name);
	}
}

static void link_to(FILE *f, const char *name)
{
	if (!*name) {
		return;
	}
	fputs(" <a href=\"./", f);
	print_address(f, name);
	html_print(f, "\"> %s</a>", name);
}

static void heading(FILE *f, const json_t *row)
{
	const enum ct_verdict verdict = report_index_verdict(row);
	char time[REPORT_TIME_TEXT];

	html_print(f,
		"<section class=\"card\"><h3><span class=\"verdict %s\">%s</span> %s</h3>"
		"<p class=\"soft\">%s",
		html_look(verdict), ct_verdict_words(verdict), member_text(row, "subject"),
		report_index_time(row, time));
	if (*member_text(row, "page") != '\0' &&
		strcmp(member_text(row, "page"), member_text(row, "file")) != 0) {
		link_to(f, member_text(row, "page"));
	}
	link_to(f, member_text(row, "file"));
	fputs("</p>", f);
}

static void texts(FILE *f, const char *style, const char *what, const json_t *list)
{
	JSON_EACH(text, list) {
		html_print(f, "<p class=\"%s\"><b>%s</b>: %s</p>", style, what, json_string_value(text));
	}
}

static void change(FILE *f, const char *what, const char *before)
{
	if (*before != '\0') {
		html_print(f, "<p>%s: %s</p>", what, before);
	}
}

static bool is_unchanged(const json_t *changes)
{
	return json_array_size(json_object_get(changes, "new")) == 0 &&
	       json_array_size(json_object_get(changes, "gone")) == 0 &&
	       *member_text(changes, "verdict") == '\0' && *member_text(changes, "coverage") == '\0';
}

static void what_changed(FILE *f, const json_t *row)
{
	const json_t *const changes = json_object_get(row, "changes");

	if (!changes) {
		fputs("<p class=\"soft\">The first report of this subject.</p>", f);
		return;
	}
	fputs("<p class=\"soft\">Since", f);
	link_to(f, member_text(changes, "since"));
	fprintf(f, "%s</p>", is_unchanged(changes) ? ": nothing has changed." : ":");
	texts(f, "lost", "new", json_object_get(changes, "new"));
	texts(f, "kept", "gone", json_object_get(changes, "gone"));
	change(f, "the verdict was", member_text(changes, "verdict"));
	change(f, "the coverage was", member_text(changes, "coverage"));
}

/* In the order in which to mend them. */
static void findings(FILE *f, const json_t *report)
{
	const json_t *const all = json_object_get(report, "findings");

	if (json_array_size(all) == 0) {
		return;
	}
	fputs("<ol>", f);
	JSON_EACH(finding, all) {
		const json_t *const cause = json_object_get(finding, "cause");

		html_print(f, "<li>%s", member_text(finding, "text"));
		if (*member_text(cause, "lost") != '\0' && *member_text(cause, "early") != '\0') {
			html_print(f,
				" <code class=\"soft\">%s</code> <span class=\"soft\">must be durable "
				"before</span> <code class=\"soft\">%s</code>",
				member_text(cause, "lost"), member_text(cause, "early"));
		}
		fputs("</li>", f);
	}
	fputs("</ol>", f);
}

static void report(FILE *f, const json_t *row)
{
	const json_t *const o = json_object_get(row, "report");
	char covered[REPORT_COVERAGE_TEXT];

	heading(f, row);
	findings(f, o);
	fprintf(f, "<p>%s</p>", report_index_coverage(o, covered));
	what_changed(f, row);
	html_print(f, "<p class=\"soft\"><code>%s</code></p></section>", member_text(o, "repeat"));
}

/* ---- The page ------------------------------------------------------------------------------------ */

static void page(FILE *f, const json_t *reports)
{
	fprintf(f,
		"<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">%s<meta name=\"viewport\" "
		"content=\"width=device-width\"><title>Crash "
		"reports</title><style>%s</style></head><body><main><h1>Crash reports</h1><p "
		"class=\"soft\">%s, newest first by the files' times; each with what has changed since the "
		"last one of the same subject.</p>",
		REPORT_INDEX_MARK, report_style[0].text, GROUPED(json_array_size(reports)));
	JSON_EACH(row, reports) {
		report(f, row);
	}
	fprintf(f, "<footer>nvwave %s</footer></main></body></html>\n", cli_version);
}

/* A file of this name is replaced only if it is such a page. */
static int check_place(const char *path)
{
	char head[HEAD_BYTES];
	struct stat s;

	if (stat(path, &s) != 0) {
		return 0;
	}
	FILE *const f = S_ISREG(s.st_mode) ? fopen(path, "re") : NULL;
	const size_t n = f ? fread(head, 1, sizeof head - 1, f) : 0;

	head[n] = '\0';
	if (f) {
		fclose(f);
	}
	NVW_FAIL_IF(!strstr(head, REPORT_INDEX_MARK), NVW_E_USAGE,
		"%s: it is no page of nvwave report, and is not replaced", path);
	return 0;
}

int report_index_page(const char *folder, const json_t *reports)
{
	char path[PATH_BYTES];
	struct nvw_new_file f;

	NVW_PRINT(path, "%s/index.html", folder);
	NVW_TRY(check_place(path));
	NVW_TRY(nvw_new_file_begin(path, false, &f));
	page(f.file, reports);
	return nvw_new_file_end(&f, 0);
}
