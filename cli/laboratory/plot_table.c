/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables and cells. See plot.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvw/input.h>

#include "core/units.h"
#include "plot.h"

enum { TABLE_BYTES_MAX = 1 << 30 };

static int no_memory(void)
{
	return nvw_fail(NVW_E_MEMORY, "no memory for the table");
}

/* ---- CSV ----------------------------------------------------------------------------------- */

/* Cuts out the field at *at and moves to the next one. false if a quote does not end as it should. */
static bool cut(char **at, const char **ret_field, char *ret_end)
{
	char *from = *at, *to = *at;

	*ret_field = to;
	if (*from != '"') {
		from += strcspn(from, ",\r\n");
		to = from;
	} else {
		for (from++; *from && (*from != '"' || from[1] == '"'); from++) {
			from += *from == '"';
			*to++ = *from;
		}
		if (*from++ != '"') {
			return false;
		}
	}
	from += *from == '\r' && from[1] == '\n';
	*ret_end = *from;
	*at = *from ? from + 1 : from;
	*to = 0;
	return *ret_end == ',' || *ret_end == '\n' || !*ret_end;
}

static int add_field(struct plot_table *t, uint64_t *count, uint64_t *capacity, const char *field)
{
	if (*count == *capacity) {
		*capacity = *capacity ? 2 * *capacity : 1024;
		const char **const more = realloc(t->field, *capacity * sizeof *more);

		if (!more) {
			return no_memory();
		}
		t->field = more;
	}
	t->field[(*count)++] = field;
	return 0;
}

static int read_fields(const char *path, struct plot_table *t)
{
	uint64_t count = 0, capacity = 0, line = 1, in_line = 0;
	char *at = t->text, end = '\n';
	int r = 0;

	while (r == 0 && (*at || end == ',')) {
		const char *field;

		if (!cut(&at, &field, &end)) {
			return nvw_fail(NVW_E_INPUT,
				"%s: line %u is not CSV: text behind a quote, or none to end it", path,
				(unsigned)line);
		}
		r = add_field(t, &count, &capacity, field);
		in_line++;
		if (end != ',') {
			t->columns = line == 1 ? (unsigned)in_line : t->columns;
			if (in_line != t->columns) {
				return nvw_fail(NVW_E_INPUT,
					"%s: line %u has %u fields, and the first line %u", path,
					(unsigned)line, (unsigned)in_line, t->columns);
			}
			in_line = 0;
			line++;
		}
	}
	t->rows = t->columns ? (unsigned)(count / t->columns) - 1 : 0;
	return r;
}

int plot_table_read(const char *path, struct plot_table *t)
{
	uint64_t bytes;
	int r;

	*t = (struct plot_table){.text = NULL};
	r = nvw_input_read(path, TABLE_BYTES_MAX, &t->text, &bytes);
	if (r < 0) {
		return r;
	}
	r = strlen(t->text) == bytes ?
		    read_fields(path, t) :
		    nvw_fail(NVW_E_INPUT, "%s: this is not a table in CSV: it has a zero byte", path);
	return r || t->rows ? r : nvw_fail(NVW_E_INPUT, "%s: this table has no rows", path);
}

void plot_table_end(struct plot_table *t)
{
	free(t->field);
	free(t->text);
	*t = (struct plot_table){.text = NULL};
}

const char *plot_field(const struct plot_table *t, unsigned row, unsigned column)
{
	return t->field[((size_t)row + 1) * t->columns + column];
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
		n += (size_t)snprintf(text + n, room - n, "%s%s", i ? ", " : "", t->field[i]);
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

/* ---- Selected rows ------------------------------------------------------------------------- */

enum { CONDITIONS_MAX = 16 };

struct selection {
	const struct plot_table *table;
	char *text;
	struct {
		unsigned column;
		const char *value;
	} condition[CONDITIONS_MAX];
	unsigned count;
	unsigned x, y, series;
	bool has_series;
	int status, axes; /* column of the status, and number of axes before it; -1, 0: no table of a sweep */
};

static int read_where(struct selection *s, const char *where)
{
	char *rest, *word;
	int r = 0;

	s->text = where ? strdup(where) : NULL;
	rest = s->text;
	while (r == 0 && (word = strsep(&rest, " "))) {
		char *const equals = strchr(word, '=');

		if (!*word) {
			continue;
		}
		if (!equals || s->count == CONDITIONS_MAX) {
			r = nvw_fail(NVW_E_USAGE,
				"plot: --where: expected at most %d times COLUMN=VALUE, found \"%s\"",
				CONDITIONS_MAX, word);
		} else {
			*equals = 0;
			s->condition[s->count].value = equals + 1;
			r = plot_column(s->table, "where", word, &s->condition[s->count].column);
			s->count++;
		}
	}
	return r;
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
	char *end;

	*ret = strtod(text, &end);
	return *text && !*end && isfinite(*ret);
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

/* ---- Names of the figure's places ---------------------------------------------------------- */

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
	const double x = strtod(*(const char *const *)a, NULL), y = strtod(*(const char *const *)b, NULL);

	return (x > y) - (x < y);
}

static int collect(const struct selection *s, int column, struct plot_names *n)
{
	double number;

	n->numbers = column >= 0;
	for (unsigned row = 0; row < s->table->rows; row++) {
		const char *const name = column < 0 ? "" : plot_field(s->table, row, (unsigned)column);

		if (!has_place(s, row) || place_of(n, name) < n->count) {
			continue;
		}
		const char **const more = realloc(n->name, (n->count + 1) * sizeof *more);

		if (!more) {
			return no_memory();
		}
		n->name = more;
		n->name[n->count++] = name;
		n->numbers = n->numbers && is_number(name, &number);
	}
	if (n->numbers && n->count) {
		qsort(n->name, n->count, sizeof *n->name, by_number);
	}
	return 0;
}

/* ---- Cells --------------------------------------------------------------------------------- */

/* Rows of one cell are repetitions: they differ in the seed only. */
static int check_same(const struct selection *s, unsigned row, unsigned other)
{
	for (int i = 0; i < s->axes; i++) {
		const unsigned c = (unsigned)i;

		if (c != s->x && c != s->y && !(s->has_series && c == s->series) &&
			strcmp(s->table->field[c], "seed") &&
			strcmp(plot_field(s->table, row, c), plot_field(s->table, other, c)) != 0) {
			return nvw_fail(NVW_E_USAGE,
				"plot: rows with the same place in the figure differ in %s (%s and %s): choose one by "
				"--where=%s=%s, or take --series=%s",
				s->table->field[c], plot_field(s->table, other, c),
				plot_field(s->table, row, c), s->table->field[c],
				plot_field(s->table, other, c), s->table->field[c]);
		}
	}
	return 0;
}

static int add_row(struct plot *p, const struct selection *s, unsigned row)
{
	const unsigned at = place_of(&p->at, plot_field(s->table, row, s->x));
	const unsigned of = s->has_series ? place_of(&p->of, plot_field(s->table, row, s->series)) : 0;
	struct plot_cell *const c = &p->cell[of * p->at.count + at];
	const char *const text = plot_field(s->table, row, s->y);
	double *more;
	double value;

	if (!is_ok(s, row)) {
		c->failed++;
		return 0;
	}
	more = realloc(c->value, (c->count + 1) * sizeof *more);
	if (!more) {
		return no_memory();
	}
	c->value = more;
	if (!is_number(text, &value)) {
		return nvw_fail(NVW_E_USAGE, "plot: --y: row %u of %s is \"%s\", which is no number", row + 1,
			s->table->field[s->y], text);
	}
	if (c->count && p->kind != PLOT_POINTS) {
		const int r = check_same(s, row, c->first_row);

		if (r < 0) {
			return r;
		}
	} else if (!c->count) {
		c->first_row = row;
	}
	c->value[c->count++] = value;
	return 0;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(struct plot *p)
{
	for (unsigned i = 0; i < p->at.count * p->of.count; i++) {
		struct plot_cell *const c = &p->cell[i];

		if (c->count) {
			qsort(c->value, c->count, sizeof *c->value, by_size);
			c->median = (c->value[(c->count - 1) / 2] + c->value[c->count / 2]) / 2;
			c->least = c->value[0];
			c->most = c->value[c->count - 1];
		}
	}
}

/* ---- Baseline ------------------------------------------------------------------------------ */

/* The place that the baseline names, in the series or on the horizontal axis. */
static int find_baseline(const struct plot *p, bool *ret_series, unsigned *ret_place)
{
	const char *const equals = strchr(p->baseline, '=');
	const size_t n = equals ? (size_t)(equals - p->baseline) : 0;
	const bool is_x = equals && strlen(p->x) == n && !strncmp(p->baseline, p->x, n);

	*ret_series = equals && p->series && strlen(p->series) == n && !strncmp(p->baseline, p->series, n);
	if (!is_x && !*ret_series) {
		return nvw_fail(NVW_E_USAGE,
			"plot: --baseline: expected a value of the columns of --x or --series, found "
			"\"%s\"",
			p->baseline);
	}
	const struct plot_names *const names = *ret_series ? &p->of : &p->at;

	*ret_place = place_of(names, equals + 1);
	return *ret_place < names->count ?
		       0 :
		       nvw_fail(NVW_E_USAGE, "plot: --baseline: no row has %s", p->baseline);
}

/* Cells without a baseline, or with one of 0, vanish. */
static int divide(struct plot *p)
{
	double *const by = malloc(p->at.count * p->of.count * sizeof *by);
	bool is_series = false;
	unsigned place = 0;
	int r = by ? find_baseline(p, &is_series, &place) : no_memory();

	for (unsigned i = 0; r == 0 && i < p->at.count * p->of.count; i++) {
		const struct plot_cell *const base = is_series ?
							     &p->cell[place * p->at.count + i % p->at.count] :
							     &p->cell[i / p->at.count * p->at.count + place];

		by[i] = base->count ? base->median : 0;
	}
	for (unsigned i = 0; r == 0 && i < p->at.count * p->of.count; i++) {
		struct plot_cell *const c = &p->cell[i];

		c->count = by[i] > 0 ? c->count : 0; /* what is relative to nothing is no failure */
		c->median /= by[i];
		c->least /= by[i];
		c->most /= by[i];
	}
	free(by);
	return r;
}

/* ---- The whole ----------------------------------------------------------------------------- */

static int fill(struct plot *p, struct selection *s, unsigned ok)
{
	int r = collect(s, (int)s->x, &p->at);

	r = r ? r : collect(s, s->has_series ? (int)s->series : -1, &p->of);
	if (r == 0 && !ok) {
		r = nvw_fail(NVW_E_USAGE, "plot: %s: no row is left to be drawn%s", p->path,
			p->left_out ? ": none of the chosen points is ok" : "");
	}
	if (r == 0 && p->kind != PLOT_HEAT && p->of.count > PLOT_SERIES_MAX) {
		r = nvw_fail(NVW_E_USAGE,
			"plot: --series=%s has %u values, and a figure at most %d: use --where or "
			"--kind=heat",
			p->series, p->of.count, PLOT_SERIES_MAX);
	}
	if (r == 0 && p->kind == PLOT_HEAT && (p->of.count > PLOT_HEAT_MAX || p->at.count > PLOT_HEAT_MAX)) {
		r = nvw_fail(
			NVW_E_USAGE, "plot: --kind=heat takes at most %d values on each axis", PLOT_HEAT_MAX);
	}
	if (r < 0) {
		return r;
	}
	p->cell = calloc((size_t)p->at.count * p->of.count, sizeof *p->cell);
	r = p->cell ? 0 : no_memory();
	for (unsigned row = 0; row < s->table->rows && r == 0; row++) {
		r = has_place(s, row) ? add_row(p, s, row) : 0;
	}
	return r;
}

int plot_cells(struct plot *p, const struct plot_table *t, const char *where)
{
	struct selection s = {
		.table = t, .has_series = p->series != NULL, .status = column_named(t, "status")};
	unsigned selected = 0;
	int r = plot_column(t, "x", p->x, &s.x);

	s.axes = s.status < 0 ? 0 : s.status;
	r = r ? r : plot_column(t, "y", p->y, &s.y);
	r = r || !p->series ? r : plot_column(t, "series", p->series, &s.series);
	r = r ? r : read_where(&s, where);
	for (unsigned row = 0; r == 0 && row < t->rows; row++) {
		selected += is_selected(&s, row);
		p->left_out += is_selected(&s, row) && !is_ok(&s, row);
	}
	p->x_is_axis = is_axis(&s, s.x);
	p->y_is_axis = is_axis(&s, s.y);
	p->series_is_axis = s.has_series && is_axis(&s, s.series);
	r = r ? r : fill(p, &s, selected - p->left_out);
	if (r == 0) {
		measure(p);
		r = p->baseline ? divide(p) : 0;
	}
	free(s.text);
	return r;
}

void plot_cells_end(struct plot *p)
{
	for (unsigned i = 0; p->cell && i < p->at.count * p->of.count; i++) {
		free(p->cell[i].value);
	}
	free(p->cell);
	free(p->at.name);
	free(p->of.name);
}
