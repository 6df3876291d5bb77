/* SPDX-License-Identifier: BSD-3-Clause */
/* See plot_rows.h. */
#include "plot_rows.h"

#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/invariant.h"
#include "core/order.h"

/* ---- Selected rows ------------------------------------------------------------------------------- */

static int take_condition(struct selection *s, char *word)
{
	char *const equals = strchr(word, '=');

	NVW_FAIL_IF(!equals || s->count == CONDITIONS_MAX, NVW_E_USAGE,
		"plot: --where: expected at most %d times COLUMN=VALUE, found \"%s\"", CONDITIONS_MAX, word);
	*equals = 0;
	s->condition[s->count].value = equals + 1;
	return plot_column(s->table, "where", word, &s->condition[s->count++].column);
}

int plot_read_where(struct selection *s, char *text)
{
	char *word;

	while ((word = strsep(&text, " "))) {
		if (*word) {
			NVW_TRY(take_condition(s, word));
		}
	}
	return 0;
}

bool plot_is_selected(const struct selection *s, unsigned row)
{
	NVW_INVARIANT(row < s->table->rows);
	return !NVW_ANY(condition, s->condition, s->count,
		strcmp(plot_field(s->table, row, condition->column), condition->value) != 0);
}

bool plot_is_axis(const struct selection *s, unsigned column)
{
	NVW_INVARIANT(column < s->table->columns);
	return column < s->axes;
}

bool plot_is_ok(const struct selection *s, unsigned row)
{
	NVW_INVARIANT(row < s->table->rows);
	return s->status == s->table->columns || !strcmp(plot_field(s->table, row, s->status), "ok");
}

bool plot_has_place(const struct selection *s, unsigned row)
{
	NVW_INVARIANT(row < s->table->rows);
	return plot_is_selected(s, row) &&
	       (plot_is_ok(s, row) ||
		       (plot_is_axis(s, s->x) && (!s->has_series || plot_is_axis(s, s->series))));
}

/* ---- Names of the figure's places ---------------------------------------------------------------- */

unsigned plot_place_of(const struct plot_names *n, const char *name)
{
	return NVW_INDEX(i, n->count, !strcmp(n->name[i], name));
}

static double number_of(const void *name)
{
	const char *const *const text = name, *unit;
	double number;

	(void)plot_number(*text, &number, &unit);
	return number;
}

static int by_number(const void *a, const void *b)
{
	const double x = number_of(a), y = number_of(b);

	return NVW_ORDER(x, y);
}

/* Whether all names are numbers of one unit. */
static bool have_one_unit(struct plot_names *n)
{
	const char *unit;
	double number;

	NVW_EACH(name, n->name, n->count) {
		if (!plot_number(*name, &number, &unit) || (n->unit && strcmp(unit, n->unit) != 0)) {
			return false;
		}
		n->unit = unit;
	}
	return n->count > 0;
}

static int number_names(struct plot_names *n)
{
	n->number = malloc(n->count * sizeof *n->number);
	NVW_ALLOCATED(n->number, "no memory for the table");
	NVW_FOR(i, n->count) {
		(void)plot_number(n->name[i], &n->number[i], &n->unit);
	}
	return 0;
}

static int read_numbers(struct plot_names *n)
{
	n->numbers = have_one_unit(n);
	if (!n->numbers) {
		return 0;
	}
	qsort(n->name, n->count, sizeof *n->name, by_number);
	return number_names(n);
}

int plot_collect(const struct selection *s, int column, bool all, struct plot_names *n)
{
	unsigned room = 0;

	NVW_FOR(row, s->table->rows) {
		const char *const name = column < 0 ? "" : plot_field(s->table, row, (unsigned)column);

		if ((!all && !plot_has_place(s, row)) || plot_place_of(n, name) < n->count) {
			continue;
		}
		NVW_GROWN(n->name, room, n->count + 1, "no memory for the table");
		n->name[n->count++] = name;
	}
	return read_numbers(n);
}

void plot_names_end(struct plot_names *n)
{
	free(n->name);
	free(n->number);
	free(n->look);
}

int plot_choose_looks(const struct selection *s, struct plot_names *of)
{
	struct plot_names all = {0};
	int r = plot_collect(s, s->has_series ? (int)s->series : -1, true, &all);

	of->look = calloc(of->count + 1, sizeof *of->look);
	if (r == 0 && !of->look) {
		r = nvw_fail(NVW_E_MEMORY, "no memory for the table");
	}
	for (unsigned i = 0; r == 0 && i < of->count; i++) {
		of->look[i] = all.count > PLOT_SERIES_MAX ? i : plot_place_of(&all, of->name[i]);
		NVW_INVARIANT(of->look[i] < all.count);
	}
	plot_names_end(&all);
	return r;
}
