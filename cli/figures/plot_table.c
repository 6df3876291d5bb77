/* SPDX-License-Identifier: BSD-3-Clause */
/* CSV: a file becomes rows of fields. See plot.h. */
#include <stdlib.h>
#include <string.h>

#include <nvw/input.h>

#include "../report/words.h"
#include "core/array.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/units.h"
#include "plot.h"
#include "plot_rows.h"

enum { TABLE_BYTES_MAX = 1 << 30 };

/* Copies a quoted field over its begin; false if no quote ends it. */
static bool unquote(char **from, char **to)
{
	while (*++*from) {
		if (**from == '"' && *++*from != '"') {
			return true;
		}
		*(*to)++ = **from;
	}
	return false;
}

/* Cuts out the field at *at and moves to the next one. false if a quote does not end as it should. */
static bool cut_field(char **at, const char **ret_field, char *ret_end)
{
	char *from = *at, *to = *at;

	*ret_field = to;
	if (*from != '"') {
		from += strcspn(from, ",\r\n");
		to = from;
	} else if (!unquote(&from, &to)) {
		return false;
	}
	from += *from == '\r' && from[1] == '\n';
	*ret_end = *from;
	*at = from + (*from != 0);
	*to = 0;
	return *ret_end == ',' || *ret_end == '\n' || !*ret_end;
}

/* Ends a line of so many fields. */
static int end_line(const char *path, struct plot_table *t, unsigned line, unsigned fields)
{
	NVW_INVARIANT(line >= 1 && fields >= 1);
	if (line == 1) {
		t->columns = fields;
	}
	NVW_FAIL_IF(fields != t->columns, NVW_E_INPUT, "%s: line %u has %u fields, and the first line %u",
		path, line, fields, t->columns);
	return 0;
}

/* Spreadsheets begin a table in UTF-8 with a byte-order mark. */
static char *behind_mark(char *text)
{
	static const char mark[] = "\xef\xbb\xbf";

	return strncmp(text, mark, 3) ? text : text + 3;
}

static int read_fields(const char *path, struct plot_table *t)
{
	uint64_t count = 0, room = 0;
	unsigned line = 1, in_line = 0;
	char *at = behind_mark(t->text), end = '\n';

	while (*at || end == ',') {
		NVW_GROWN(t->field, room, count + 1, "no memory for the table");
		NVW_FAIL_IF(!cut_field(&at, &t->field[count], &end), NVW_E_INPUT,
			"%s: line %u is not CSV: text behind a quote, or none to end it", path, line);
		count++;
		in_line++;
		if (end != ',') {
			NVW_TRY(end_line(path, t, line++, in_line));
			in_line = 0;
		}
	}
	if (t->columns) {
		t->rows = (unsigned)(count / t->columns) - 1;
	}
	NVW_INVARIANT(count == (uint64_t)t->columns * (t->rows + 1));
	return 0;
}

static int read_text(const char *path, struct plot_table *t)
{
	uint64_t bytes;

	NVW_TRY(nvw_input_read(path, TABLE_BYTES_MAX, &t->text, &bytes));
	NVW_FAIL_IF(strlen(t->text) != bytes, NVW_E_INPUT,
		"%s: this is not a table in CSV: it has a zero byte", path);
	return 0;
}

int plot_table_read(const char *path, struct plot_table *t)
{
	*t = (struct plot_table){0};
	NVW_TRY(read_text(path, t));
	NVW_TRY(read_fields(path, t));
	NVW_FAIL_IF(!t->rows, NVW_E_INPUT, "%s: this table has no rows", path);
	return 0;
}

void plot_table_end(struct plot_table *t)
{
	free(t->field);
	free(t->text);
	*t = (struct plot_table){0};
}

unsigned plot_column_named(const struct plot_table *t, const char *name)
{
	return NVW_INDEX(i, t->columns, !strcmp(t->field[i], name));
}

/* As many columns as a message has room for. */
static void list_columns(const struct plot_table *t, char *text, size_t room)
{
	enum { AND_MORE = sizeof " and 4294967295 more" };
	size_t n = 0;

	NVW_INVARIANT(room > AND_MORE);
	text[0] = 0;
	NVW_FOR(i, t->columns) {
		if (n + strlen(t->field[i]) + AND_MORE + 2 > room) {
			snprintf(text + n, room - n, " and %u more", t->columns - i);
			return;
		}
		n += (size_t)snprintf(text + n, room - n, "%s%s", words_if(i, ", "), t->field[i]);
	}
}

int plot_column(const struct plot_table *t, const char *what, const char *name, unsigned *ret_column)
{
	char columns[400];
	const char **names;
	const char *near;

	*ret_column = plot_column_named(t, name);
	if (*ret_column < t->columns) {
		return 0;
	}
	names = calloc(t->columns + 1, sizeof *names);
	NVW_ALLOCATED(names, "no memory for the table");
	memcpy(names, t->field, t->columns * sizeof *names);
	near = nvw_nearest(name, names);
	free(names);
	NVW_FAIL_IF(near, NVW_E_USAGE, "plot: --%s: the table has no column %s; did you mean %s?", what, name,
		near);
	list_columns(t, columns, sizeof columns);
	return nvw_fail(
		NVW_E_USAGE, "plot: --%s: the table has no column %s; it has %s", what, name, columns);
}
