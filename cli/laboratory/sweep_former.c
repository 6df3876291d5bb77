/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table that a sweep finds in its place. It may be replaced if it is of the same command and axes, and if
 * every point of it is a point of this sweep: then nothing is lost. Its columns say of which command it is.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../report/numbers.h"
#include "../figures/plot.h"
#include "sweep.h"

struct former {
	const struct sweep *sweep;
	struct plot_table table;
	unsigned axes;
	unsigned column[SWEEP_AXES_MAX]; /* of the sweep's axes */
};

static int refuse(const char *path, const char *why, const char *what)
{
	return nvw_fail(NVW_E_USAGE, "%s: %s%s: name another --output, or replace it by --overwrite", path,
		why, what);
}

/* ---- Axes ---------------------------------------------------------------------------------------- */

/* Columns before the status. 0: this is no table of a sweep. */
static unsigned count_axes(const struct plot_table *t)
{
	unsigned i = 0;

	while (i < t->columns && strcmp(t->field[i], "status") != 0) {
		i++;
	}
	return i + 1 < t->columns && !strcmp(t->field[i + 1], "reason") ? i : 0;
}

static int match_axes(struct former *f, const char *path)
{
	const struct sweep *const s = f->sweep;

	f->axes = count_axes(&f->table);
	if (!f->axes) {
		return refuse(path, "this is no table of a sweep", "");
	}
	for (unsigned i = 0; i < f->axes; i++) {
		const int axis = sweep_axis_named(s, f->table.field[i]);

		if (axis < 0) {
			return refuse(
				path, "this is the table of another sweep, with an axis ", f->table.field[i]);
		}
		f->column[axis] = i;
	}
	if (f->axes < s->axis_count) {
		return refuse(path, "this is the table of another sweep, with fewer axes", "");
	}
	return 0;
}

/* ---- Points -------------------------------------------------------------------------------------- */

/* The values of a point in the order of the axes, with a line for each. */
static char *text_of_point(const struct sweep *s, const struct sweep_point *p)
{
	char *text = NULL;
	size_t bytes;
	FILE *const to = open_memstream(&text, &bytes);

	for (unsigned i = 0; to && i < s->axis_count; i++) {
		fprintf(to, "%s\n", sweep_value(s, p, i));
	}
	return to && fclose(to) == 0 ? text : NULL;
}

static char *text_of_row(const struct former *f, unsigned row)
{
	char *text = NULL;
	size_t bytes;
	FILE *const to = open_memstream(&text, &bytes);

	for (unsigned i = 0; to && i < f->sweep->axis_count; i++) {
		fprintf(to, "%s\n", plot_field(&f->table, row, f->column[i]));
	}
	return to && fclose(to) == 0 ? text : NULL;
}

static int name_points(const struct sweep *s, json_t *points)
{
	for (unsigned i = 0; i < s->count; i++) {
		char *const text = text_of_point(s, &s->point[i]);

		if (!text) {
			return sweep_no_memory();
		}
		json_object_set_new_nocheck(points, text, json_true());
		free(text);
	}
	return 0;
}

static int check_row(const struct former *f, const char *path, const json_t *points, unsigned row)
{
	char *const text = text_of_row(f, row);

	if (!text) {
		return sweep_no_memory();
	}
	const bool is_point = json_object_get(points, text) != NULL;

	for (char *c = text; (c = strchr(c, '\n'));) {
		*c = c[1] ? ' ' : 0;
	}
	const int r = is_point ? 0 : refuse(path, "the table has a point that this sweep lacks: ", text);

	free(text);
	return r;
}

static int check_rows(const struct former *f, const char *path)
{
	json_t *const points = json_object();
	int r = name_points(f->sweep, points);

	for (unsigned i = 0; i < f->table.rows && r == 0; i++) {
		r = check_row(f, path, points, i);
	}
	json_decref(points);
	return r;
}

/* ---- The whole ----------------------------------------------------------------------------------- */

/* Whether the table has the numbers of another command's reports, and none of this one's. */
static bool has_other_command(const struct former *f)
{
	static const char *const commands[] = {"run", "crash", "torture", "litmus"};
	bool has_other = false;

	for (unsigned i = f->axes; i < f->table.columns; i++) {
		const char *const name = sweep_behind_protocol(f->table.field[i]);

		if (cli_number_is_of("any", name)) {
			continue;
		}
		if (cli_number_is_of(f->sweep->command, name)) {
			return false;
		}
		for (unsigned k = 0; k < sizeof commands / sizeof *commands; k++) {
			has_other = has_other || cli_number_is_of(commands[k], name);
		}
	}
	return has_other;
}

static int check_table(struct former *f, const char *path)
{
	const int r = plot_table_read(path, &f->table);

	if (r == NVW_E_MEMORY) {
		return r;
	}
	if (r) {
		return refuse(path, "this is no table of a sweep", "");
	}
	NVW_TRY(match_axes(f, path));
	if (has_other_command(f)) {
		return refuse(path, "this is the table of another command than ", f->sweep->command);
	}
	return check_rows(f, path);
}

int sweep_check_former(const struct sweep *s, const char *table)
{
	struct former f = {.sweep = s};
	struct stat about;

	if (stat(table, &about) || !S_ISREG(about.st_mode)) {
		return 0; /* nothing is replaced */
	}
	const int r = check_table(&f, table);

	plot_table_end(&f.table);
	return r;
}
