/* SPDX-License-Identifier: BSD-3-Clause */
/* See former.h. */
#include "former.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/invariant.h"
#include "core/print.h"
#include "core/text_stream.h"

static int no_memory(void)
{
	return nvw_fail(NVW_E_MEMORY, "no memory for the points of a table");
}

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
	return failed ? no_memory() : 0;
}

void table_plan_end(struct table_plan *plan)
{
	json_decref(plan->points);
	plan->points = NULL;
}

/* ---- Axes ---------------------------------------------------------------------------------------- */

int former_refuse(const struct former *f, const char *why, const char *what)
{
	return nvw_fail(NVW_E_USAGE, "%s: %s%s: name another --output, or replace it by --overwrite", f->path,
		why, what);
}

static int refuse_kind(const struct former *f)
{
	char why[80];

	NVW_PRINT(why, "this is no table of a %s", f->plan->kind);
	return former_refuse(f, why, "");
}

static int refuse_axes(const struct former *f, const char *which, const char *axis)
{
	char why[120];

	NVW_PRINT(why, "this is the table of another %s, with %s", f->plan->kind, which);
	return former_refuse(f, why, axis);
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

int former_open(const struct table_plan *plan, const char *path, struct former *f)
{
	struct stat about;

	*f = (struct former){.plan = plan, .path = path};
	if (stat(path, &about) || !S_ISREG(about.st_mode)) {
		return 0;
	}
	const int error = plot_table_read(path, &f->table);

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
	return former_refuse(f, why, text);
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

int former_check_points(const struct former *f)
{
	NVW_FOR(i, f->table.rows) {
		NVW_TRY(check_row(f, i));
	}
	return 0;
}

void former_end(struct former *f)
{
	plot_table_end(&f->table);
}
