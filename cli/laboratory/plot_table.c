/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables and cells. See plot.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvw/input.h>

#include "core/array.h"
#include "core/invariant.h"
#include "core/units.h"
#include "confidence.h"
#include "plot.h"
#include "report/words.h"

enum { TABLE_BYTES_MAX = 1 << 30 };

static int no_memory(void)
{
	return nvw_fail(NVW_E_MEMORY, "no memory for the table");
}

/* ---- CSV ----------------------------------------------------------------------------------------- */

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
	if (line == 1) {
		t->columns = fields;
	}
	if (fields != t->columns) {
		return nvw_fail(NVW_E_INPUT, "%s: line %u has %u fields, and the first line %u", path, line,
			fields, t->columns);
	}
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
		if (!NVW_ROOM(t->field, room, count + 1)) {
			return no_memory();
		}
		if (!cut_field(&at, &t->field[count], &end)) {
			return nvw_fail(NVW_E_INPUT,
				"%s: line %u is not CSV: text behind a quote, or none to end it", path, line);
		}
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
	return 0;
}

int plot_table_read(const char *path, struct plot_table *t)
{
	uint64_t bytes;

	*t = (struct plot_table){.text = NULL};
	NVW_TRY(nvw_input_read(path, TABLE_BYTES_MAX, &t->text, &bytes));
	if (strlen(t->text) != bytes) {
		return nvw_fail(NVW_E_INPUT, "%s: this is not a table in CSV: it has a zero byte", path);
	}
	NVW_TRY(read_fields(path, t));
	if (!t->rows) {
		return nvw_fail(NVW_E_INPUT, "%s: this table has no rows", path);
	}
	return 0;
}

void plot_table_end(struct plot_table *t)
{
	free(t->field);
	free(t->text);
	*t = (struct plot_table){.text = NULL};
}

static int column_named(const struct plot_table *t, const char *name)
{
	for (unsigned i = 0; i < t->columns; i++) {
		if (!strcmp(t->field[i], name)) {
			return (int)i;
		}
	}
	return -1;
}

/* As many columns as a message has room for. */
static void list_columns(const struct plot_table *t, char *text, size_t room)
{
	enum { AND_MORE = sizeof " and 4294967295 more" };
	size_t n = 0;

	text[0] = 0;
	for (unsigned i = 0; i < t->columns; i++) {
		if (n + strlen(t->field[i]) + AND_MORE + 2 > room) {
			snprintf(text + n, room - n, " and %u more", t->columns - i);
			return;
		}
		n += (size_t)snprintf(text + n, room - n, "%s%s", words_if(i, ", "), t->field[i]);
	}
}

int plot_column(const struct plot_table *t, const char *what, const char *name, unsigned *ret_column)
{
	const int found = column_named(t, name);
	char columns[400];
	const char **names;
	const char *near;

	if (found >= 0) {
		*ret_column = (unsigned)found;
		return 0;
	}
	names = calloc(t->columns + 1, sizeof *names);
	if (!names) {
		return no_memory();
	}
	memcpy(names, t->field, t->columns * sizeof *names);
	near = nvw_nearest(name, names);
	free(names);
	if (near) {
		return nvw_fail(NVW_E_USAGE, "plot: --%s: the table has no column %s; did you mean %s?", what,
			name, near);
	}
	list_columns(t, columns, sizeof columns);
	return nvw_fail(
		NVW_E_USAGE, "plot: --%s: the table has no column %s; it has %s", what, name, columns);
}

/* ---- Selected rows ------------------------------------------------------------------------------- */

enum { CONDITIONS_MAX = 16 };

struct selection {
	const struct plot_table *table;
	struct {
		unsigned column;
		const char *value;
	} condition[CONDITIONS_MAX];
	unsigned count;
	unsigned x, y, series, of;
	bool has_series, has_of;
	int status, axes; /* column of the status, and number of axes before it; -1, 0: no table of a sweep */
};

static int take_condition(struct selection *s, char *word)
{
	char *const equals = strchr(word, '=');

	if (!equals || s->count == CONDITIONS_MAX) {
		return nvw_fail(NVW_E_USAGE,
			"plot: --where: expected at most %d times COLUMN=VALUE, found \"%s\"", CONDITIONS_MAX,
			word);
	}
	*equals = 0;
	s->condition[s->count].value = equals + 1;
	return plot_column(s->table, "where", word, &s->condition[s->count++].column);
}

/* Takes the text, whose parts the conditions are. */
static int read_where(struct selection *s, char *text)
{
	char *word;

	while ((word = strsep(&text, " "))) {
		if (*word) {
			NVW_TRY(take_condition(s, word));
		}
	}
	return 0;
}

static bool is_selected(const struct selection *s, unsigned row)
{
	for (unsigned i = 0; i < s->count; i++) {
		if (strcmp(plot_field(s->table, row, s->condition[i].column), s->condition[i].value) != 0) {
			return false;
		}
	}
	return true;
}

/* Columns before the status are a sweep's axes. */
static bool is_axis(const struct selection *s, unsigned column)
{
	return column < (unsigned)s->axes;
}

static bool is_number(const char *text, double *ret)
{
	const char *unit;

	return plot_number(text, ret, &unit) && !*unit;
}

static bool is_ok(const struct selection *s, unsigned row)
{
	return s->status < 0 || !strcmp(plot_field(s->table, row, (unsigned)s->status), "ok");
}

/* Whether there is a place for the row: one that failed has none where the place is a result. */
static bool has_place(const struct selection *s, unsigned row)
{
	return is_selected(s, row) &&
	       (is_ok(s, row) || (is_axis(s, s->x) && (!s->has_series || is_axis(s, s->series))));
}

/* ---- Names of the figure's places ---------------------------------------------------------------- */

static unsigned place_of(const struct plot_names *n, const char *name)
{
	unsigned i = 0;

	while (i < n->count && strcmp(n->name[i], name) != 0) {
		i++;
	}
	return i;
}

static int by_number(const void *a, const void *b)
{
	const char *unit;
	double x, y;

	(void)plot_number(*(const char *const *)a, &x, &unit);
	(void)plot_number(*(const char *const *)b, &y, &unit);
	return (x > y) - (x < y);
}

/* Whether all names are numbers of one unit. */
static bool have_one_unit(struct plot_names *n)
{
	const char *unit;
	double number;

	for (unsigned i = 0; i < n->count; i++) {
		if (!plot_number(n->name[i], &number, &unit) || (n->unit && strcmp(unit, n->unit) != 0)) {
			return false;
		}
		n->unit = unit;
	}
	return n->count > 0;
}

static int read_numbers(struct plot_names *n)
{
	n->numbers = have_one_unit(n);
	if (!n->numbers) {
		return 0;
	}
	qsort(n->name, n->count, sizeof *n->name, by_number);
	n->number = malloc(n->count * sizeof *n->number);
	if (!n->number) {
		return no_memory();
	}
	for (unsigned i = 0; i < n->count; i++) {
		(void)plot_number(n->name[i], &n->number[i], &n->unit);
	}
	return 0;
}

/* Of the rows that have a place, or of all. */
static int collect(const struct selection *s, int column, bool all, struct plot_names *n)
{
	unsigned room = 0;

	for (unsigned row = 0; row < s->table->rows; row++) {
		const char *const name = column < 0 ? "" : plot_field(s->table, row, (unsigned)column);

		if ((!all && !has_place(s, row)) || place_of(n, name) < n->count) {
			continue;
		}
		if (!NVW_ROOM(n->name, room, n->count + 1)) {
			return no_memory();
		}
		n->name[n->count++] = name;
	}
	return read_numbers(n);
}

static void names_end(struct plot_names *n)
{
	free(n->name);
	free(n->number);
	free(n->look);
}

/* A series looks alike in all figures of a table, if its values are not too many. */
static int choose_looks(const struct selection *s, struct plot_names *of)
{
	struct plot_names all = {.name = NULL};
	int r = collect(s, s->has_series ? (int)s->series : -1, true, &all);

	of->look = calloc(of->count + 1, sizeof *of->look);
	if (r == 0 && !of->look) {
		r = no_memory();
	}
	for (unsigned i = 0; r == 0 && i < of->count; i++) {
		of->look[i] = all.count > PLOT_SERIES_MAX ? i : place_of(&all, of->name[i]);
	}
	names_end(&all);
	return r;
}

/* ---- Cells --------------------------------------------------------------------------------------- */

/* Rows of one cell are repetitions: they differ in the seed only. */
static int check_same(const struct selection *s, unsigned row, unsigned other)
{
	for (int i = 0; i < s->axes; i++) {
		const unsigned c = (unsigned)i;

		if (c != s->x && c != s->y && !(s->has_series && c == s->series) &&
			strcmp(s->table->field[c], "seed") &&
			strcmp(plot_field(s->table, row, c), plot_field(s->table, other, c)) != 0) {
			return nvw_fail(NVW_E_USAGE,
				"plot: rows with the same place in the figure differ in %s (%s and %s): "
				"choose one by --where=%s=%s, or take --series=%s",
				s->table->field[c], plot_field(s->table, other, c),
				plot_field(s->table, row, c), s->table->field[c],
				plot_field(s->table, other, c), s->table->field[c]);
		}
	}
	return 0;
}

static struct plot_cell *cell_of(struct plot *p, const struct selection *s, unsigned row)
{
	const unsigned at = place_of(&p->at, plot_field(s->table, row, s->x));
	unsigned of = 0;

	if (s->has_series) {
		of = place_of(&p->of, plot_field(s->table, row, s->series));
	}
	NVW_INVARIANT(at < p->at.count && of < p->of.count);
	return &p->cell[of * p->at.count + at];
}

static int read_value(
	const struct selection *s, const char *option, unsigned row, unsigned column, double *ret)
{
	const char *const text = plot_field(s->table, row, column);

	if (!is_number(text, ret)) {
		return nvw_fail(NVW_E_USAGE, "plot: --%s: row %u of %s is \"%s\", which is no number", option,
			row + 1, s->table->field[column], text);
	}
	return 0;
}

/* Of a share the whole is above 0. */
static int read_y(const struct selection *s, unsigned row, double *ret)
{
	double whole;

	NVW_TRY(read_value(s, "y", row, s->y, ret));
	if (!s->has_of) {
		return 0;
	}
	NVW_TRY(read_value(s, "of", row, s->of, &whole));
	if (!(whole > 0)) {
		return nvw_fail(NVW_E_USAGE, "plot: --of: row %u of %s is \"%s\": a share needs more than 0",
			row + 1, s->table->field[s->of], plot_field(s->table, row, s->of));
	}
	*ret *= 100 / whole;
	return 0;
}

static int add_row(struct plot *p, const struct selection *s, unsigned row)
{
	struct plot_cell *const c = cell_of(p, s, row);
	double value;

	if (!is_ok(s, row)) {
		c->failed++;
		return 0;
	}
	if (!NVW_ROOM(c->value, c->room, c->count + 1)) {
		return no_memory();
	}
	NVW_TRY(read_y(s, row, &value));
	if (!c->count) {
		c->first_row = row;
	} else if (p->kind != PLOT_POINTS) {
		NVW_TRY(check_same(s, row, c->first_row));
	}
	c->value[c->count++] = value;
	return 0;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* From the least row to the most. */
static bool draws_all(const struct plot *p)
{
	return p->kind == PLOT_POINTS || p->shows == PLOT_MEDIAN;
}

static void measure_median(struct plot_cell *c)
{
	c->middle = (c->value[(c->count - 1) / 2] + c->value[c->count / 2]) / 2;
	c->low = c->value[0];
	c->high = c->value[c->count - 1];
}

/* What cannot be below 0 is not drawn there, nor what has no logarithm. */
static double cut_low(const struct plot *p, const struct plot_cell *c, double low)
{
	if (p->log_y && low <= 0) {
		return c->middle / 10;
	}
	return c->value[0] >= 0 ? fmax(low, 0) : low;
}

/* Nor has a part more than the whole. */
static double cut_high(const struct plot *p, const struct plot_cell *c, double high)
{
	return p->of_column && c->value[c->count - 1] <= 100 ? fmin(high, 100) : high;
}

static void measure_mean(const struct plot *p, struct plot_cell *c)
{
	const struct confidence mean = confidence_of(c->value, c->count);

	c->middle = c->low = c->high = mean.mean;
	if (mean.half > 0) {
		c->low = cut_low(p, c, mean.mean - mean.half);
		c->high = cut_high(p, c, mean.mean + mean.half);
		c->half = mean.half;
	}
}

static void measure_cells(struct plot *p)
{
	for (unsigned i = 0; i < p->at.count * p->of.count; i++) {
		struct plot_cell *const c = &p->cell[i];

		if (!c->count) {
			continue;
		}
		qsort(c->value, c->count, sizeof *c->value, by_size);
		if (draws_all(p)) {
			measure_median(c);
		} else {
			measure_mean(p, c);
		}
	}
}

/* ---- Baseline ------------------------------------------------------------------------------------ */

/* The place that the baseline names, in the series or on the horizontal axis. */
static bool is_value_of(const char *text, const char *column)
{
	const size_t n = strlen(column);

	return !strncmp(text, column, n) && text[n] == '=';
}

/* The place that the baseline names, in the series or on the horizontal axis. */
static int find_baseline(const struct plot *p, bool *ret_series, unsigned *ret_place)
{
	const struct plot_names *names = &p->at;

	*ret_series = p->series && is_value_of(p->baseline, p->series);
	if (*ret_series) {
		names = &p->of;
	} else if (!is_value_of(p->baseline, p->x)) {
		return nvw_fail(NVW_E_USAGE,
			"plot: --baseline: expected a value of the columns of --x or --series, found \"%s\"",
			p->baseline);
	}
	*ret_place = place_of(names, strchr(p->baseline, '=') + 1);
	if (*ret_place == names->count) {
		return nvw_fail(NVW_E_USAGE, "plot: --baseline: no row has %s", p->baseline);
	}
	return 0;
}

/* Of a mean, the interval is that of the relative errors of both. */
static void divide_cell(const struct plot *p, struct plot_cell *c, const struct plot_cell *by, bool is_base)
{
	const struct confidence ratio = confidence_ratio((struct confidence){c->middle, c->half},
		(struct confidence){by->middle, is_base ? 0 : by->half});

	if (!(by->middle > 0) || !by->count) {
		c->count = 0;
		return;
	}
	c->low /= by->middle;
	c->high /= by->middle;
	c->middle = ratio.mean;
	if (p->shows == PLOT_MEAN) {
		const double half = is_base ? 0 : ratio.half;

		c->low = cut_low(p, c, c->middle - half);
		c->high = c->middle + half;
	}
}

static struct plot_cell *base_of(struct plot *p, unsigned cell, bool is_series, unsigned place)
{
	const unsigned at = cell % p->at.count, of = cell / p->at.count;

	return is_series ? &p->cell[place * p->at.count + at] : &p->cell[of * p->at.count + place];
}

/* Cells without a baseline, or with one of 0, vanish: what is relative to nothing is no failure. The baseline's
 * own come last. */
static int divide(struct plot *p)
{
	const unsigned cells = p->at.count * p->of.count;
	bool is_series;
	unsigned place;

	NVW_TRY(find_baseline(p, &is_series, &place));
	for (unsigned turn = 0; turn < 2; turn++) {
		for (unsigned i = 0; i < cells; i++) {
			struct plot_cell *const base = base_of(p, i, is_series, place);
			const bool is_base = base == &p->cell[i];

			if (is_base == (turn == 1)) {
				divide_cell(p, &p->cell[i],
					&(struct plot_cell){.count = base->count,
						.middle = base->middle,
						.half = base->half},
					is_base);
			}
		}
	}
	return 0;
}

/* ---- The whole ----------------------------------------------------------------------------------- */

static int check_size(const struct plot *p)
{
	if (p->kind != PLOT_HEAT && p->of.count > PLOT_SERIES_MAX) {
		return nvw_fail(NVW_E_USAGE,
			"plot: --series=%s has %u values, and a figure at most %d: use --where or "
			"--kind=heat",
			p->series, p->of.count, PLOT_SERIES_MAX);
	}
	if (p->kind == PLOT_HEAT && (p->of.count > PLOT_HEAT_MAX || p->at.count > PLOT_HEAT_MAX)) {
		return nvw_fail(
			NVW_E_USAGE, "plot: --kind=heat takes at most %d values on each axis", PLOT_HEAT_MAX);
	}
	return 0;
}

static int fill(struct plot *p, struct selection *s, unsigned ok)
{
	NVW_TRY(collect(s, (int)s->x, false, &p->at));
	NVW_TRY(collect(s, s->has_series ? (int)s->series : -1, false, &p->of));
	NVW_TRY(choose_looks(s, &p->of));
	if (!ok) {
		return nvw_fail(NVW_E_USAGE, "plot: %s: no row is left to be drawn%s", p->path,
			words_if(p->left_out, ": none of the chosen points is ok"));
	}
	NVW_TRY(check_size(p));
	p->cell = calloc((size_t)p->at.count * p->of.count, sizeof *p->cell);
	if (!p->cell) {
		return no_memory();
	}
	for (unsigned row = 0; row < s->table->rows; row++) {
		if (has_place(s, row)) {
			NVW_TRY(add_row(p, s, row));
		}
	}
	return 0;
}

static int name_columns(struct selection *s, const struct plot *p)
{
	s->status = column_named(s->table, "status");
	if (s->status > 0) {
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

	for (unsigned row = 0; row < s->table->rows; row++) {
		if (is_selected(s, row)) {
			ok += is_ok(s, row);
			*ret_left_out += !is_ok(s, row);
		}
	}
	return ok;
}

/* Axes of a sweep have no meaning in the list of numbers. */
static void name_axes(struct plot *p, const struct plot_table *t)
{
	if (!p->x_is_axis || !plot_words(t, p->x, p->at.numbers, p->x_words)) {
		*p->x_words = 0;
	}
	if (!p->series_is_axis || !plot_words(t, p->series, p->of.numbers, p->series_words)) {
		*p->series_words = 0;
	}
}

static int select_cells(struct plot *p, const struct plot_table *t, char *where)
{
	struct selection s = {.table = t};

	NVW_TRY(name_columns(&s, p));
	NVW_TRY(read_where(&s, where));
	p->x_is_axis = is_axis(&s, s.x);
	p->y_is_axis = is_axis(&s, s.y);
	p->series_is_axis = s.has_series && is_axis(&s, s.series);
	NVW_TRY(fill(p, &s, count_rows(&s, &p->left_out)));
	measure_cells(p);
	name_axes(p, t);
	if (p->decides_log_x && (p->kind == PLOT_LINES || (p->kind == PLOT_POINTS && p->x_is_axis))) {
		p->log_x = plot_doubles(&p->at);
	}
	if (p->baseline) {
		NVW_TRY(divide(p));
	}
	return 0;
}

int plot_cells(struct plot *p, const struct plot_table *t, const char *where)
{
	NVW_INVARIANT(p->x != NULL && p->y != NULL);

	char *const text = strdup(words_or(where, ""));

	if (!text) {
		return no_memory();
	}
	const int r = select_cells(p, t, text);

	free(text);
	return r;
}

void plot_cells_end(struct plot *p)
{
	for (unsigned i = 0; p->cell && i < p->at.count * p->of.count; i++) {
		free(p->cell[i].value);
	}
	free(p->cell);
	names_end(&p->at);
	names_end(&p->of);
}
