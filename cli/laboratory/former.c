/* SPDX-License-Identifier: BSD-3-Clause */
/* See former.h. */
#include "former.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../report/numbers.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "core/print.h"
#include "core/text_stream.h"
#include "sweep.h"

struct former {
	const struct table_plan *plan;
	const char *path;
	struct plot_table table; /* no rows: there is no file, and nothing is replaced */
	unsigned axes;
	unsigned column[TABLE_AXES_MAX]; /* of the plan's axes */
};

/* ---- The plan ------------------------------------------------------------------------------------ */

/* The values with a line for each; freed by the caller. */
static char *text_of(const char *const *values, unsigned count)
{
	struct text_stream t;

	NVW_INVARIANT(count > 0);
	if (!text_begin(&t)) {
		return NULL;
	}
	NVW_EACH(value, values, count) {
		fprintf(t.to, "%s\n", *value);
	}
	return text_end(&t);
}

int table_plan_add(struct table_plan *plan, const char *const *values)
{
	NVW_INVARIANT(plan->axes > 0 && plan->axes <= TABLE_AXES_MAX);

	char *const text = text_of(values, plan->axes);

	if (!plan->points) {
		plan->points = json_object();
	}
	const int failed = !text || json_object_set_new_nocheck(plan->points, text, json_true());

	free(text);
	NVW_FAIL_IF(failed, NVW_E_MEMORY, "no memory for the points of a table");
	return 0;
}

void table_plan_end(struct table_plan *plan)
{
	json_decref(plan->points);
	plan->points = NULL;
}

/* ---- Axes ---------------------------------------------------------------------------------------- */

static int refuse(const struct former *f, const char *why, const char *what)
{
	return nvw_fail(NVW_E_USAGE, "%s: %s%s: name another --output, or replace it by --overwrite", f->path,
		why, what);
}

static int refuse_kind(const struct former *f)
{
	char why[80];

	NVW_PRINT(why, "this is no table of a %s", f->plan->kind);
	return refuse(f, why, "");
}

static int refuse_axes(const struct former *f, const char *which, const char *axis)
{
	char why[120];

	NVW_PRINT(why, "this is the table of another %s, with %s", f->plan->kind, which);
	return refuse(f, why, axis);
}

/* Columns before the status. 0: this is no table of a sweep, nor of a benchmark. */
static unsigned count_axes(const struct plot_table *t)
{
	const unsigned status = plot_column_named(t, "status");

	if (status + 1 >= t->columns || strcmp(t->field[status + 1], "reason") != 0) {
		return 0;
	}
	return status;
}

/* The count if there is no such axis. */
static unsigned axis_named(const struct table_plan *plan, const char *name)
{
	return NVW_INDEX(i, plan->axes, !strcmp(plan->axis[i], name));
}

static int match_axes(struct former *f)
{
	NVW_INVARIANT(f->plan->axes > 0 && f->plan->axes <= TABLE_AXES_MAX);
	f->axes = count_axes(&f->table);
	if (!f->axes) {
		return refuse_kind(f);
	}
	NVW_FOR(i, f->axes) {
		const unsigned axis = axis_named(f->plan, f->table.field[i]);

		if (axis == f->plan->axes) {
			return refuse_axes(f, "an axis ", f->table.field[i]);
		}
		f->column[axis] = i;
	}
	if (f->axes < f->plan->axes) {
		return refuse_axes(f, "fewer axes", "");
	}
	return 0;
}

static int open_table(struct former *f)
{
	struct stat about;

	if (stat(f->path, &about) || !S_ISREG(about.st_mode)) {
		return 0;
	}
	const int error = plot_table_read(f->path, &f->table);

	if (error == NVW_E_MEMORY) {
		return error;
	}
	if (error) {
		return refuse_kind(f);
	}
	return match_axes(f);
}

//* Lines become words. */
static void join_lines(char *text)
{
	while ((text = strchr(text, '\n'))) {
		*text = text[1] ? ' ' : 0;
	}
}

static int refuse_point(const struct former *f, char *text)
{
	char why[80];

	join_lines(text);
	NVW_PRINT(why, "the table has a point that this %s lacks: ", f->plan->kind);
	return refuse(f, why, text);
}

static int check_row(const struct former *f, unsigned row)
{
	const char *values[TABLE_AXES_MAX];

	NVW_INVARIANT(row < f->table.rows);
	NVW_FOR(i, f->plan->axes) {
		values[i] = plot_field(&f->table, row, f->column[i]);
	}
	char *const text = text_of(values, f->plan->axes);

	NVW_ALLOCATED(text, "no memory for the points of a table");
	const bool is_point = json_object_get(f->plan->points, text) != NULL;
	const int error = is_point ? 0 : refuse_point(f, text);

	free(text);
	return error;
}

/* ---- All of it ----------------------------------------------------------------------------------- */

/* Whether the table has the numbers of another command's reports, and none of this one's. */
static bool has_other_command(const struct former *f)
{
	static const char *const commands[] = {"run", "crash", "torture", "litmus"};
	bool has_other = false;

	NVW_INVARIANT(f->axes <= f->table.columns);
	for (unsigned i = f->axes; i < f->table.columns; i++) {
		const char *const name = sweep_behind_protocol(f->table.field[i]);

		if (cli_number_is_of("any", name)) {
			continue;
		}
		if (cli_number_is_of(f->plan->command, name)) {
			return false;
		}
		has_other = has_other ||
			    NVW_ANY(one, commands, NVW_COUNT(commands), cli_number_is_of(*one, name));
	}
	return has_other;
}

static int check_table(const struct former *f)
{
	if (f->table.rows > 0 && f->plan->command && has_other_command(f)) {
		return refuse(f, "this is the table of another command than ", f->plan->command);
	}
	NVW_FOR(i, f->table.rows) {
		NVW_TRY(check_row(f, i));
	}
	return 0;
}

int former_check(const struct table_plan *plan, const char *path)
{
	struct former f = {.plan = plan, .path = path};
	const int error = NVW_OR(open_table(&f), check_table(&f));

	plot_table_end(&f.table);
	return error;
}
