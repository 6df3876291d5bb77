/* SPDX-License-Identifier: BSD-3-Clause */
/* Litmus tests from files, tables and folders. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <nvw/input.h>

#include "parse.h"

enum { COLUMNS_MAX = 32, FILE_BYTES_MAX = 16 << 20 };

/* ---- Whole files -------------------------------------------------------------------------------------------- */

static int read_all(const char *path, char **ret_text)
{
	uint64_t bytes;
	char *text;

	if (nvw_input_read(path, FILE_BYTES_MAX, &text, &bytes)) {
		return nvw_fail(NVW_E_INPUT, "%s", nvw_error_message());
	}
	if (memchr(text, 0, bytes)) {
		free(text);
		return nvw_fail(NVW_E_INPUT, "%s: found a 0 byte: the file is not text", path);
	}
	*ret_text = text;
	return 0;
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */

enum column { NAME, MODEL, THREADS, INIT, OUTCOME, VERDICT, RACE_FREE, COLUMNS };
static const char *const columns[] = {"name", "model", "threads", "init", "outcome", "verdict", "race_free"};

struct table {
	const char *path;
	unsigned line;
	int column[COLUMNS]; /* position; -1: not in the table */
};

/* Splits the line at its tabs. */
static unsigned cut(char *line, char *cells[COLUMNS_MAX])
{
	unsigned n = 0;

	for (char *cell; n < COLUMNS_MAX && (cell = strsep(&line, "\t"));) {
		cells[n++] = cell;
	}
	return n;
}

static int read_header(struct table *t, char *line)
{
	char *cells[COLUMNS_MAX];
	const unsigned n = cut(line, cells);

	for (unsigned c = 0; c < COLUMNS; c++) {
		t->column[c] = -1;
		for (unsigned i = 0; i < n; i++) {
			t->column[c] = strcmp(cells[i], columns[c]) ? t->column[c] : (int)i;
		}
		if (t->column[c] < 0 && c != INIT && c != RACE_FREE) {
			return nvw_fail(NVW_E_INPUT, "%s:%u: expected a header line with a column \"%s\"",
				t->path, t->line, columns[c]);
		}
	}
	return 0;
}

/* Reads a column with take(), which must use it up. "-" is an empty column. */
static int read_column(const struct table *t, struct litmus_test *test, const char *text, enum column column,
	int (*take)(struct litmus_reader *))
{
	struct litmus_reader r = {.file = t->path, .line = t->line, .at = text, .test = test};
	int error;

	if (!strcmp(text, "-")) {
		return 0;
	}
	error = take(&r);
	if (error) {
		return error;
	}
	litmus_skip(&r);
	return *r.at ? nvw_fail(NVW_E_INPUT, "%s:%u: column \"%s\": expected its end, found \"%.24s\"",
			       t->path, t->line, columns[column], r.at) :
		       0;
}

static int read_row(const struct table *t, char *line, struct litmus_test *test)
{
	char *cells[COLUMNS_MAX], none[] = "-";
	const unsigned n = cut(line, cells);
	const char *cell[COLUMNS];
	int error;

	for (unsigned c = 0; c < COLUMNS; c++) {
		if (t->column[c] >= (int)n) {
			return nvw_fail(NVW_E_INPUT, "%s:%u: the row has %u columns and lacks \"%s\"",
				t->path, t->line, n, columns[c]);
		}
		cell[c] = t->column[c] < 0 ? none : cells[t->column[c]];
	}
	snprintf(test->file, sizeof test->file, "%s", t->path);
	snprintf(test->name, sizeof test->name, "%s", cell[NAME]);
	snprintf(test->model, sizeof test->model, "%s", strcmp(cell[MODEL], "-") ? cell[MODEL] : "");
	test->line = t->line;
	test->is_racy = !strcmp(cell[RACE_FREE], "false");
	error = !*test->model ? 0 :
				litmus_check_model(&(struct litmus_reader){
					.file = t->path, .line = t->line, .test = test});
	error = error ? error : read_column(t, test, cell[INIT], INIT, litmus_take_init);
	error = error ? error : read_column(t, test, cell[THREADS], THREADS, litmus_take_threads);
	error = error ? error : read_column(t, test, cell[OUTCOME], OUTCOME, litmus_take_outcome);
	error = error ? error : read_column(t, test, cell[VERDICT], VERDICT, litmus_take_verdict);
	return error ? error :
		       litmus_complete(
			       &(struct litmus_reader){.file = t->path, .line = t->line, .test = test});
}

static int parse_table(const char *path, char *text, struct litmus_list *list)
{
	struct table t = {.path = path};
	int error = 0;

	for (char *line; !error && (line = strsep(&text, "\n"));) {
		t.line++;
		line[strcspn(line, "\r")] = 0;
		if (t.line == 1) {
			error = read_header(&t, line);
		} else if (*line) {
			struct litmus_test *const test = litmus_list_add(list);

			error = test ? read_row(&t, line, test) : NVW_E_MEMORY;
			list->count += !error;
		}
	}
	return error;
}

/* ---- Files and folders ------------------------------------------------------------------------------------------------ */

static bool ends_with(const char *name, const char *end)
{
	return strlen(name) > strlen(end) && !strcmp(name + strlen(name) - strlen(end), end);
}

static int load_file(const char *path, struct litmus_list *list)
{
	char *text = NULL;
	int error = read_all(path, &text);

	if (error) {
		return error;
	}
	error = ends_with(path, ".tsv") ? parse_table(path, text, list) : litmus_parse(path, text, list);
	free(text);
	return error;
}

static int load_folder(const char *path, struct litmus_list *list, unsigned depth)
{
	struct dirent **entries;
	const int n = scandir(path, &entries, NULL, alphasort);
	int error = n < 0 ? nvw_fail(NVW_E_INPUT, "%s: %s", path, strerror(errno)) : 0;

	for (int i = 0; i < n; i++) {
		char below[4096];
		struct stat s;

		if (!error && entries[i]->d_name[0] != '.' &&
			snprintf(below, sizeof below, "%s/%s", path, entries[i]->d_name) <
				(int)sizeof below &&
			!stat(below, &s)) {
			if (S_ISDIR(s.st_mode) && depth < 16) {
				error = load_folder(below, list, depth + 1);
			} else if (ends_with(below, ".litmus") || ends_with(below, ".tsv")) {
				error = load_file(below, list);
			}
		}
		free(entries[i]);
	}
	if (n >= 0) {
		free(entries);
	}
	return error;
}

int litmus_load(const char *path, struct litmus_list *list)
{
	const unsigned before = list->count;
	struct stat s;
	int error;

	if (stat(path, &s)) {
		return nvw_fail(NVW_E_INPUT, "%s: %s", path, strerror(errno));
	}
	error = S_ISDIR(s.st_mode) ? load_folder(path, list, 0) : load_file(path, list);
	return error || list->count > before ?
		       error :
		       nvw_fail(NVW_E_INPUT, "%s: expected litmus tests, found none", path);
}
