/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports and tables become rows of axes, numbers and texts. See compare.h. */
#include <stdlib.h>
#include <string.h>

#include <nvw/input.h>

#include "core/each.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"

#include "compare.h"
#include "../figures/plot.h"
#include "sweep.h"

enum { TEXT_BYTES_MAX = 1 << 30 };

/* ---- Rows ---------------------------------------------------------------------------------------- */

static json_t *add_row(json_t *rows)
{
	json_t *const row = json_pack("{s:{}, s:{}, s:{}}", "axes", "numbers", "texts");

	json_array_append_new(rows, row);
	return row;
}

/* The simulated time is there twice, in two units. */
static void end_row(json_t *row)
{
	json_t *const numbers = json_object_get(row, "numbers");

	if (json_object_get(numbers, "sim_time")) {
		json_object_del(numbers, "sim_time_ns");
	}
}

static void add_axis(json_t *row, const char *axis, const char *value)
{
	if (strcmp(axis, "seed") != 0) {
		member_set_text(json_object_get(row, "axes"), axis, value);
	}
}

/* The revision is what users compare; a reason follows from its status. */
static bool is_left_out(const char *name)
{
	return !strcmp(name, "nvwave") || !strcmp(name, "reason");
}

static void add_text(json_t *row, const char *name, const char *text)
{
	member_set_text(json_object_get(row, "texts"), name, text);
}

static void add_value(json_t *row, const char *name, const json_t *value)
{
	if (is_left_out(name)) {
		return;
	}
	if (json_is_number(value) && strcmp(name, "seed") != 0) {
		member_set_real(json_object_get(row, "numbers"), name, json_number_value(value));
	} else if (json_is_string(value)) {
		add_text(row, name, json_string_value(value));
	} else if (json_is_integer(value)) {
		char text[24];

		NVW_PRINT(text, "%lld", (long long)json_integer_value(value));
		add_text(row, name, text);
	} else if (json_is_boolean(value)) {
		add_text(row, name, json_is_true(value) ? "true" : "false");
	}
}

/* ---- CSV ----------------------------------------------------------------------------------------- */

static json_t *typed(const char *text)
{
	char *end;
	const double number = strtod(text, &end);

	return *text && !*end ? json_real(number) : json_string(text);
}

static void read_row(const struct plot_table *t, unsigned at, unsigned status, json_t *rows)
{
	NVW_INVARIANT(status < t->columns);

	const bool is_ok = !strcmp(plot_field(t, at, status), "ok");
	json_t *const row = add_row(rows);

	NVW_FOR(i, status) {
		add_axis(row, t->field[i], plot_field(t, at, i));
	}
	add_text(row, "status", plot_field(t, at, status));
	for (unsigned i = status + 1; is_ok && i < t->columns; i++) {
		json_t *const value = typed(plot_field(t, at, i));

		if (*plot_field(t, at, i)) {
			add_value(row, t->field[i], value);
		}
		json_decref(value);
	}
	end_row(row);
}

static int read_table(const char *path, const struct plot_table *t, json_t *rows)
{
	const unsigned status = plot_column_named(t, "status");

	NVW_FAIL_IF(status == 0 || status == t->columns, NVW_E_INPUT,
		"%s: this is no table of nvwave sweep or bench: it has no column status behind its "
		"axes",
		path);
	NVW_FOR(row, t->rows) {
		read_row(t, row, status, rows);
	}
	return 0;
}

static int read_csv(const char *path, json_t *rows)
{
	struct plot_table table;
	int r = plot_table_read(path, &table);

	if (r == 0) {
		r = read_table(path, &table, rows);
	}
	plot_table_end(&table);
	return r;
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static bool is_row(const json_t *value)
{
	return json_is_string(json_object_get(value, "status")) &&
	       json_is_string(json_object_get(value, "reason"));
}

static void read_axis(json_t *row, const char *axis, const json_t *value)
{
	char *const text =
		json_is_string(value) ? strdup(json_string_value(value)) : json_dumps(value, JSON_ENCODE_ANY);

	add_axis(row, axis, text ? text : "");
	free(text);
}

/* Keys before the status are axes. */
static void read_line(json_t *line, json_t *rows)
{
	const bool is_ok = !strcmp(member_string(line, "status"), "ok");
	json_t *const row = add_row(rows);
	bool is_behind = false;

	JSON_EACH_MEMBER(key, value, line) {
		is_behind = is_behind || !strcmp(key, "status");
		if (!is_behind) {
			read_axis(row, key, value);
		} else if (is_ok || !strcmp(key, "status")) {
			add_value(row, key, value);
		}
	}
	end_row(row);
}

static void read_report(json_t *report, json_t *rows)
{
	json_t *const values = sweep_values(report), *const row = add_row(rows);

	JSON_EACH_MEMBER(key, value, values) {
		add_value(row, key, value);
	}
	end_row(row);
	json_decref(values);
}

static int read_value(const char *path, json_t *value, json_t *rows)
{
	const char *const output = member_string(value, "output");

	if (is_row(value)) {
		read_line(value, rows);
		return 0;
	}
	NVW_FAIL_IF(json_is_array(json_object_get(value, "summary")) && output, NVW_E_INPUT,
		"%s: this is the report of a sweep, which has no values of points: name its table "
		"%s.csv",
		path, output);
	NVW_FAIL_IF(!json_object_size(value) && !json_array_size(value), NVW_E_INPUT,
		"%s: expected a report of nvwave, or rows of a sweep", path);
	read_report(value, rows);
	return 0;
}

/* One report, or a line for each row. */
static int read_json(const char *path, const char *text, json_t *rows)
{
	const char *const blanks = " \t\r\n";

	for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
		json_error_t error;
		json_t *const value = json_loads(text, JSON_DISABLE_EOF_CHECK, &error);

		NVW_FAIL_IF(!value, NVW_E_INPUT, "%s: this is not JSON: %s", path, error.text);
		const int r = read_value(path, value, rows);

		json_decref(value);
		NVW_TRY(r);
		text += error.position;
	}
	return 0;
}

static int read_text(const char *path, char *text, json_t *rows)
{
	if (*text == '{' || *text == '[') {
		return read_json(path, text, rows);
	}
	return read_csv(path, rows);
}

int compare_read(const char *path, json_t **ret_rows)
{
	char *text;
	uint64_t bytes;

	*ret_rows = json_array();
	NVW_TRY(nvw_input_read(path, TEXT_BYTES_MAX, &text, &bytes));
	const int r = read_text(path, text, *ret_rows);

	free(text);
	return r;
}
