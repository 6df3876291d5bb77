/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of a table become the cells of a figure. See plot.h. */
#include <stdlib.h>
#include <string.h>

#include "../report/words.h"
#include "core/array.h"
#include "core/each.h"
#include "core/invariant.h"
#include "plot_measure.h"
#include "plot_rows.h"

/* ---- Rows ---------------------------------------------------------------------------------------- */

static bool is_number(const char *text, double *ret)
{
	const char *unit;

	return plot_number(text, ret, &unit) && !*unit;
}

/* Rows of one cell are repetitions: they differ in the seed only. */
static int check_same(const struct selection *s, unsigned row, unsigned other)
{
	NVW_INVARIANT(row < s->table->rows && other < s->table->rows);
	NVW_FOR(c, s->axes) {
		NVW_FAIL_IF(c != s->x && c != s->y && !(s->has_series && c == s->series) &&
				    strcmp(s->table->field[c], "seed") &&
				    strcmp(plot_field(s->table, row, c), plot_field(s->table, other, c)) != 0,
			NVW_E_USAGE,
			"plot: rows with the same place in the figure differ in %s (%s and %s): "
			"choose one by --where=%s=%s, or take --series=%s",
			s->table->field[c], plot_field(s->table, other, c), plot_field(s->table, row, c),
			s->table->field[c], plot_field(s->table, other, c), s->table->field[c]);
	}
	return 0;
}

static struct plot_cell *cell_of(struct plot *p, const struct selection *s, unsigned row)
{
	const unsigned at = plot_place_of(&p->at, plot_field(s->table, row, s->x));
	unsigned of = 0;

	if (s->has_series) {
		of = plot_place_of(&p->of, plot_field(s->table, row, s->series));
	}
	NVW_INVARIANT(at < p->at.count && of < p->of.count);
	return &p->cell[of * p->at.count + at];
}

static int read_value(
	const struct selection *s, const char *option, unsigned row, unsigned column, double *ret)
{
	NVW_INVARIANT(column < s->table->columns);

	const char *const text = plot_field(s->table, row, column);

	NVW_FAIL_IF(!is_number(text, ret), NVW_E_USAGE,
		"plot: --%s: row %u of %s is \"%s\", which is no number", option, row + 1,
		s->table->field[column], text);
	return 0;
}

/* The whole of a share is above 0. */
static int read_y(const struct selection *s, unsigned row, double *ret)
{
	double whole;

	NVW_INVARIANT(row < s->table->rows);
	NVW_TRY(read_value(s, "y", row, s->y, ret));
	if (!s->has_of) {
		return 0;
	}
	NVW_TRY(read_value(s, "of", row, s->of, &whole));
	NVW_FAIL_IF(!(whole > 0), NVW_E_USAGE,
		"plot: --of: row %u of %s is \"%s\": a share needs more than 0", row + 1,
		s->table->field[s->of], plot_field(s->table, row, s->of));
	*ret *= 100 / whole;
	return 0;
}

static int add_row(struct plot *p, const struct selection *s, unsigned row)
{
	struct plot_cell *const c = cell_of(p, s, row);
	double value;

	if (!plot_is_ok(s, row)) {
		c->failed++;
		return 0;
	}
	NVW_GROWN(c->value, c->room, c->count + 1, "no memory for the table");
	NVW_TRY(read_y(s, row, &value));
	if (!c->count) {
		c->first_row = row;
	} else if (p->kind != PLOT_POINTS) {
		NVW_TRY(check_same(s, row, c->first_row));
	}
	c->value[c->count++] = value;
	return 0;
}

/* ---- The whole ----------------------------------------------------------------------------------- */

static int check_size(const struct plot *p)
{
	NVW_FAIL_IF(p->kind != PLOT_HEAT && p->of.count > PLOT_SERIES_MAX, NVW_E_USAGE,
		"plot: --series=%s has %u values, and a figure at most %d: use --where or "
		"--kind=heat",
		p->series, p->of.count, PLOT_SERIES_MAX);
	NVW_FAIL_IF(p->kind == PLOT_HEAT && (p->of.count > PLOT_HEAT_MAX || p->at.count > PLOT_HEAT_MAX),
		NVW_E_USAGE, "plot: --kind=heat takes at most %d values on each axis", PLOT_HEAT_MAX);
	return 0;
}

static int fill(struct plot *p, struct selection *s, unsigned ok)
{
	NVW_TRY(plot_collect(s, (int)s->x, false, &p->at));
	NVW_TRY(plot_collect(s, s->has_series ? (int)s->series : -1, false, &p->of));
	NVW_TRY(plot_choose_looks(s, &p->of));
	NVW_FAIL_IF(!ok, NVW_E_USAGE, "plot: %s: no row is left to be drawn%s", p->path,
		words_if(p->left_out, ": none of the chosen points is ok"));
	NVW_TRY(check_size(p));
	p->cell = calloc((size_t)p->at.count * p->of.count, sizeof *p->cell);
	NVW_ALLOCATED(p->cell, "no memory for the table");
	NVW_FOR(row, s->table->rows) {
		if (plot_has_place(s, row)) {
			NVW_TRY(add_row(p, s, row));
		}
	}
	return 0;
}

static int name_columns(struct selection *s, const struct plot *p)
{
	s->status = plot_column_named(s->table, "status");
	if (s->status < s->table->columns) {
		s->axes = s->status;
	}
	NVW_TRY(plot_column(s->table, "x", p->x, &s->x));
	NVW_TRY(plot_column(s->table, "y", p->y, &s->y));
	if (p->of_column) {
		s->has_of = true;
		NVW_TRY(plot_column(s->table, "of", p->of_column, &s->of));
	}
	if (p->series) {
		s->has_series = true;
		return plot_column(s->table, "series", p->series, &s->series);
	}
	return 0;
}

/* How many of the selected rows are ok, and are not. */
static unsigned count_rows(const struct selection *s, unsigned *ret_left_out)
{
	unsigned ok = 0;

	NVW_FOR(row, s->table->rows) {
		if (plot_is_selected(s, row)) {
			ok += plot_is_ok(s, row);
			*ret_left_out += !plot_is_ok(s, row);
		}
	}
	return ok;
}

/* Axes of a sweep have no meaning in the list of numbers. */
static void name_axis(const struct plot_table *t, bool is_axis, const char *column, bool numbers,
	char words[PLOT_LABEL_BYTES])
{
	if (!is_axis || !plot_words(t, column, numbers, words)) {
		*words = 0;
	}
}

static void name_axes(struct plot *p, const struct plot_table *t)
{
	name_axis(t, p->x_is_axis, p->x, p->at.numbers, p->x_words);
	name_axis(t, p->series_is_axis, p->series, p->of.numbers, p->series_words);
}

static int select_cells(struct plot *p, const struct plot_table *t, char *where)
{
	struct selection s = {.table = t};

	NVW_TRY(name_columns(&s, p));
	NVW_TRY(plot_read_where(&s, where));
	p->x_is_axis = plot_is_axis(&s, s.x);
	p->y_is_axis = plot_is_axis(&s, s.y);
	p->series_is_axis = s.has_series && plot_is_axis(&s, s.series);
	NVW_TRY(fill(p, &s, count_rows(&s, &p->left_out)));
	plot_measure_cells(p);
	name_axes(p, t);
	if (p->decides_log_x && (p->kind == PLOT_LINES || (p->kind == PLOT_POINTS && p->x_is_axis))) {
		p->log_x = plot_doubles(&p->at);
	}
	if (p->baseline) {
		NVW_TRY(plot_divide(p));
	}
	return 0;
}

int plot_cells(struct plot *p, const struct plot_table *t, const char *where)
{
	NVW_INVARIANT(p->x && p->y);

	char *const text = strdup(words_or(where, ""));

	NVW_ALLOCATED(text, "no memory for the table");
	const int r = select_cells(p, t, text);

	free(text);
	return r;
}

void plot_cells_end(struct plot *p)
{
	if (p->cell) {
		NVW_EACH(cell, p->cell, plot_cell_count(p)) {
			free(cell->value);
		}
	}
	free(p->cell);
	plot_names_end(&p->at);
	plot_names_end(&p->of);
}
