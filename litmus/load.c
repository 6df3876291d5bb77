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
#include "core/each.h"
#include "core/invariant.h"

enum { COLUMNS_MAX = 32, FILE_BYTES_MAX = 16 << 20 };

/* ---- Whole files ------------------------------------------------------------------------------------ */

static int read_all(const char *path, char **ret_text)
{
	uint64_t bytes;
	char *text;

	NVW_FAIL_IF(
		nvw_input_read(path, FILE_BYTES_MAX, &text, &bytes), NVW_E_INPUT, "%s", nvw_error_message());
	if (memchr(text, 0, bytes)) {
		free(text);
		return nvw_fail(NVW_E_INPUT, "%s: found a 0 byte: the file is not text", path);
	}
	*ret_text = text;
	return 0;
}

/* ---- Tables ----------------------------------------------------------------------------------------- */

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
			if (!strcmp(cells[i], columns[c])) {
				t->column[c] = (int)i;
			}
		}
		NVW_FAIL_IF(t->column[c] < 0 && c != INIT && c != RACE_FREE, NVW_E_INPUT,
			"%s:%u: expected a header line with a column \"%s\"", t->path, t->line, columns[c]);
	}
	return 0;
}

/* Reads a column with take(), which must use it up. "-" is an empty column. */
static int read_column(const struct table *t, struct litmus_test *test, const char *text, enum column column,
	int (*take)(struct litmus_reader *))
{
	NVW_INVARIANT(column < NVW_COUNT(columns));

	struct litmus_reader r = {.file = t->path, .line = t->line, .at = text, .test = test};

	if (!strcmp(text, "-")) {
		return 0;
	}
	NVW_TRY(take(&r));
	litmus_skip(&r);
	NVW_FAIL_IF(*r.at, NVW_E_INPUT, "%s:%u: column \"%s\": expected its end, found \"%.24s\"", t->path,
		t->line, columns[column], r.at);
	return 0;
}

static int read_row(const struct table *t, char *line, struct litmus_test *test)
{
	struct litmus_reader reader = {.file = t->path, .line = t->line, .test = test};
	char *cells[COLUMNS_MAX], none[] = "-";
	const unsigned n = cut(line, cells);
	const char *cell[COLUMNS];

	for (unsigned c = 0; c < COLUMNS; c++) {
		NVW_FAIL_IF(t->column[c] >= (int)n, NVW_E_INPUT,
			"%s:%u: the row has %u columns and lacks \"%s\"", t->path, t->line, n, columns[c]);
		cell[c] = t->column[c] < 0 ? none : cells[t->column[c]];
	}
	snprintf(test->file, sizeof test->file, "%s", t->path);
	snprintf(test->name, sizeof test->name, "%s", cell[NAME]);
	snprintf(test->model, sizeof test->model, "%s", strcmp(cell[MODEL], "-") ? cell[MODEL] : "");
	test->line = t->line;
	test->is_racy = !strcmp(cell[RACE_FREE], "false");
	if (*test->model) {
		NVW_TRY(litmus_check_model(&reader));
	}
	NVW_TRY(read_column(t, test, cell[INIT], INIT, litmus_take_init));
	NVW_TRY(read_column(t, test, cell[THREADS], THREADS, litmus_take_threads));
	NVW_TRY(read_column(t, test, cell[OUTCOME], OUTCOME, litmus_take_outcome));
	NVW_TRY(read_column(t, test, cell[VERDICT], VERDICT, litmus_take_verdict));
	return litmus_complete(&reader);
}

static int parse_table(const char *path, char *text, struct litmus_list *list)
{
	struct table t = {.path = path};

	for (char *line; (line = strsep(&text, "\n"));) {
		t.line++;
		line[strcspn(line, "\r")] = 0;
		if (t.line == 1) {
			NVW_TRY(read_header(&t, line));
		} else if (*line) {
			struct litmus_test *const test = litmus_list_add(list);

			if (!test) {
				return NVW_E_MEMORY;
			}
			NVW_TRY(read_row(&t, line, test));
			list->count++;
		}
	}
	return 0;
}

/* ---- Files and folders ------------------------------------------------------------------------------ */

static bool ends_with(const char *name, const char *end)
{
	return strlen(name) > strlen(end) && !strcmp(name + strlen(name) - strlen(end), end);
}

static int load_file(const char *path, struct litmus_list *list)
{
	char *text = NULL;
	int error;

	NVW_TRY(read_all(path, &text));
	error = ends_with(path, ".tsv") ? parse_table(path, text, list) : litmus_parse(path, text, list);
	free(text);
	return error;
}

static int load_folder(const char *path, struct litmus_list *list, unsigned depth);

static int load_entry(const char *folder, const char *name, struct litmus_list *list, unsigned depth)
{
	char path[4096];
	struct stat s;

	if (*name == '.' || snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path ||
		stat(path, &s)) {
		return 0;
	}
	if (S_ISDIR(s.st_mode) && depth < 16) {
		return load_folder(path, list, depth + 1);
	}
	if (ends_with(path, ".litmus") || ends_with(path, ".tsv")) {
		return load_file(path, list);
	}
	return 0;
}

static int load_folder(const char *path, struct litmus_list *list, unsigned depth)
{
	struct dirent **entries;
	const int n = scandir(path, &entries, NULL, alphasort);
	int error = 0;

	NVW_FAIL_IF(n < 0, NVW_E_INPUT, "%s: %s", path, strerror(errno));
	NVW_EACH(entry, entries, n) {
		if (!error) {
			error = load_entry(path, (*entry)->d_name, list, depth);
		}
		free(*entry);
	}
	free(entries);
	return error;
}

int litmus_load(const char *path, struct litmus_list *list)
{
	const unsigned before = list->count;
	struct stat s;

	NVW_FAIL_IF(stat(path, &s), NVW_E_INPUT, "%s: %s", path, strerror(errno));
	if (S_ISDIR(s.st_mode)) {
		NVW_TRY(load_folder(path, list, 0));
	} else {
		NVW_TRY(load_file(path, list));
	}
	NVW_FAIL_IF(list->count == before, NVW_E_INPUT, "%s: expected litmus tests, found none", path);
	return 0;
}
