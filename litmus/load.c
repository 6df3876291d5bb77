/* SPDX-License-Identifier: BSD-3-Clause */
/* Litmus tests from files, tables and folders. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <nvw/input.h>

#include "parse.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/print.h"

enum { COLUMNS_MAX = 32, FILE_BYTES_MAX = 16 << 20 };

/* ---- Whole files ------------------------------------------------------------------------------------ */

static int read_all(const char *path, char **ret_text)
{
	uint64_t bytes;

	NVW_FAIL_IF(nvw_input_read(path, FILE_BYTES_MAX, ret_text, &bytes), NVW_E_INPUT, "%s",
		nvw_error_message());
	if (!memchr(*ret_text, 0, bytes)) {
		return 0;
	}
	free(*ret_text);
	return nvw_fail(NVW_E_INPUT, "%s: found a 0 byte: the file is not text", path);
}

/* ---- Tables ----------------------------------------------------------------------------------------- */

enum column { NAME, MODEL, THREADS, INIT, OUTCOME, VERDICT, RACE_FREE, COLUMNS };
static const char *const columns[] = {"name", "model", "threads", "init", "outcome", "verdict", "race_free"};

struct table {
	const char *file;
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

/* The position of a name among the cells; -1: none. */
static int find(char *const *cells, unsigned count, const char *name)
{
	NVW_INVARIANT(count <= COLUMNS_MAX);
	for (unsigned i = count; i--;) {
		if (!strcmp(cells[i], name)) {
			return (int)i;
		}
	}
	return -1;
}

static int read_header(struct table *t, char *line)
{
	char *cells[COLUMNS_MAX];
	const unsigned n = cut(line, cells);

	NVW_INVARIANT(t->line == 1);
	NVW_FOR(c, COLUMNS) {
		t->column[c] = find(cells, n, columns[c]);
		LITMUS_FAIL_IF(t, t->column[c] < 0 && c != INIT && c != RACE_FREE,
			"expected a header line with a column \"%s\"", columns[c]);
	}
	return 0;
}

/* Reads a column with take(), which must use it up. "-" is an empty column. */
static int read_column(const struct table *t, struct litmus_test *test, const char *text, enum column column,
	int (*take)(struct litmus_reader *))
{
	NVW_INVARIANT(column < NVW_COUNT(columns));

	struct litmus_reader r = {.file = t->file, .line = t->line, .at = text, .test = test};

	if (!strcmp(text, "-")) {
		return 0;
	}
	NVW_TRY(take(&r));
	litmus_skip(&r);
	LITMUS_FAIL_IF(t, *r.at, "column \"%s\": expected its end, found \"%.24s\"", columns[column], r.at);
	return 0;
}

/* The row's cells in the order of enum column. */
static int read_cells(const struct table *t, char *line, const char *ret_cell[COLUMNS])
{
	char *cells[COLUMNS_MAX];
	const unsigned n = cut(line, cells);

	NVW_INVARIANT(t->line > 1);
	NVW_FOR(c, COLUMNS) {
		const int at = t->column[c];

		LITMUS_FAIL_IF(t, at >= (int)n, "the row has %u columns and lacks \"%s\"", n, columns[c]);
		ret_cell[c] = at < 0 ? "-" : cells[at];
	}
	return 0;
}

static int read_model(struct litmus_reader *r, const char *text)
{
	if (!strcmp(text, "-") || !*text) {
		return 0;
	}
	NVW_PRINT(r->test->model, "%s", text);
	return litmus_check_model(r);
}

static int read_row(const struct table *t, char *line, struct litmus_test *test)
{
	struct litmus_reader reader = {.file = t->file, .line = t->line, .test = test};
	const char *cell[COLUMNS];

	NVW_TRY(read_cells(t, line, cell));
	NVW_PRINT(test->name, "%s", cell[NAME]);
	test->line = t->line;
	test->is_racy = !strcmp(cell[RACE_FREE], "false");
	NVW_TRY(read_model(&reader, cell[MODEL]));
	NVW_TRY(read_column(t, test, cell[INIT], INIT, litmus_take_init));
	NVW_TRY(read_column(t, test, cell[THREADS], THREADS, litmus_take_threads));
	NVW_TRY(read_column(t, test, cell[OUTCOME], OUTCOME, litmus_take_outcome));
	NVW_TRY(read_column(t, test, cell[VERDICT], VERDICT, litmus_take_verdict));
	return litmus_complete(&reader);
}

static int add_row(const struct table *t, char *line, struct litmus_list *list)
{
	struct litmus_test *test;

	NVW_TRY(litmus_list_add(list, t->file, &test));
	NVW_TRY(read_row(t, line, test));
	list->count++;
	return 0;
}

static int parse_table(const char *path, char *text, struct litmus_list *list)
{
	struct table t = {.file = path};

	for (char *line; (line = strsep(&text, "\n"));) {
		t.line++;
		line[strcspn(line, "\r")] = 0;
		if (t.line == 1) {
			NVW_TRY(read_header(&t, line));
		} else if (*line) {
			NVW_TRY(add_row(&t, line, list));
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

static bool is_of_tests(const char *path)
{
	return ends_with(path, ".litmus") || ends_with(path, ".tsv");
}

static int load_entry(const char *folder, const char *name, struct litmus_list *list, unsigned depth)
{
	char path[4096];
	struct stat s;

	if (*name == '.' || NVW_PRINT(path, "%s/%s", folder, name) >= (int)sizeof path || stat(path, &s)) {
		return 0;
	}
	if (S_ISDIR(s.st_mode) && depth < 16) {
		return load_folder(path, list, depth + 1);
	}
	return is_of_tests(path) ? load_file(path, list) : 0;
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
	NVW_TRY(S_ISDIR(s.st_mode) ? load_folder(path, list, 0) : load_file(path, list));
	NVW_FAIL_IF(list->count == before, NVW_E_INPUT, "%s: expected litmus tests, found none", path);
	return 0;
}
