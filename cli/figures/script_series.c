/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines, points and bars: the data of each series, and how it is drawn. See script.h. */
#include "script.h"
#include "core/invariant.h"

#include <math.h>

enum { COLOURS = PLOT_COLOURS, MARKED_MAX = 40 };

static const unsigned points[] = {7, 5, 9, 11, 13, 15, 2, 6, 4, 8, 10, 12, 14, 1};
static const char *const dashes[] = {"1", "(14,5)", "(5,3)", "(14,4,3,4)", "(2,3)"};

/* ---- Data ---------------------------------------------------------------------------------------- */

static void print_cell(const struct script *s, const struct plot_cell *c, double at)
{
	NVW_INVARIANT(c->count > 0);
	if (s->p->kind != PLOT_POINTS) {
		fprintf(s->to, "%.15g %.9g %.9g %.9g\n", at, c->middle / s->y_scale, c->low / s->y_scale,
			c->high / s->y_scale);
		return;
	}
	fprintf(s->to, "%.15g %.9g %.9g %.9g\n", at, c->value[0] / s->y_scale, c->low / s->y_scale,
		c->high / s->y_scale);
	for (unsigned k = 1; k < c->count; k++) {
		fprintf(s->to, "%.15g %.9g\n", at, c->value[k] / s->y_scale);
	}
}

/* One block of data per series: place, middle, lower and upper end of its line. Lines end at a place whose
 * rows have failed. */
static void print_point(const struct script *s, const struct plot_cell *c, unsigned of, unsigned at)
{
	NVW_INVARIANT(of < s->p->of.count);
	if (c->count) {
		print_cell(s, c, script_position(s, of, at));
	} else if (c->failed) {
		fputc('\n', s->to);
	}
}

static void print_data(const struct script *s, unsigned of)
{
	fprintf(s->to, "$data%u << EOD\n", of);
	NVW_FOR(i, s->p->at.count) {
		print_point(s, plot_cell(s->p, of, i), of, i);
	}
	fputs("EOD\n", s->to);
}

/* A cross at the bottom where rows have failed and none is ok. */
void script_failures(const struct script *s)
{
	const struct plot *const p = s->p;

	NVW_FOR(i, plot_cell_count(p)) {
		const unsigned of = i / p->at.count, at = i % p->at.count;

		if (p->cell[i].count || !p->cell[i].failed) {
			continue;
		}
		if (p->kind == PLOT_HEAT) {
			fprintf(s->to, "set label '×' at first %u, first %u center front\n", at, of);
		} else {
			fprintf(s->to, "set label '×' at first %.15g, graph 0.03 center front tc rgb '%s'\n",
				script_position(s, of, at), script_colour(s, of));
		}
	}
}

/* ---- Drawing ------------------------------------------------------------------------------------- */

static void print_title(const struct script *s, unsigned of)
{
	const struct plot *const p = s->p;

	NVW_INVARIANT(of < p->of.count);
	if (p->series) {
		fputs(" title ", s->to);
		script_quote(p->of.name[of], s->to);
	} else {
		fputs(" notitle", s->to);
	}
}

static bool plot_has_spread(const struct plot *p)
{
	return NVW_ANY(cell, p->cell, plot_cell_count(p), cell->count && cell->high > cell->low);
}

/* From the least to the most value of every place. */
static void print_spread(const struct script *s, bool in_colour)
{
	for (unsigned i = 0; plot_has_spread(s->p) && i < s->p->of.count; i++) {
		fprintf(s->to,
			", \\\n  $data%u using 1:3:(0):($4-$3) with vectors nohead lw 1.5 dt 1 lc rgb '%s' "
			"notitle",
			i, in_colour ? script_colour(s, i) : "#000000");
	}
}

/* The begin of the plot of a series. */
static void print_series(const struct script *s, unsigned of, const char *style)
{
	NVW_INVARIANT(of < s->p->of.count);
	fprintf(s->to, "%s$data%u using 1:2 with %s", of == 0 ? "plot " : ", \\\n  ", of, style);
}

static void print_all_data(const struct script *s)
{
	script_axes(s);
	script_failures(s);
	NVW_FOR(i, s->p->of.count) {
		print_data(s, i);
	}
}

/* How much wider than the last one a series is drawn. */
static double wider_of(const struct script *s, unsigned of)
{
	const double widest = 3, last = s->p->of.count - 1, behind = last - of;

	return s->cover && s->beside <= 0 ? fmin(behind * 1.2, widest * behind / last) : 0;
}

void script_lines(const struct script *s)
{
	const bool marked = s->p->at.count <= MARKED_MAX;
	const double thick = plot_thickness(&s->p->paper);

	print_all_data(s);
	NVW_FOR(i, s->p->of.count) {
		const unsigned look = s->p->of.look[i], k = look % COLOURS;

		print_series(s, i, marked ? "linespoints" : "lines");
		fprintf(s->to, " lc rgb '%s' lw %.3g dt %s", script_colour(s, i), 2.5 + wider_of(s, i),
			dashes[(k + look / COLOURS) % 5]);
		if (marked) {
			fprintf(s->to, " pt %u ps %.3g", points[look % (NVW_COUNT(points))],
				(1 + wider_of(s, i) / 4) * thick);
		}
		print_title(s, i);
	}
	print_spread(s, true);
	fputc('\n', s->to);
}

/* Open marks, so that one shows that another one covers. */
void script_points(const struct script *s)
{
	static const unsigned open[COLOURS] = {6, 4, 8, 10, 12, 2, 1};

	print_all_data(s);
	NVW_FOR(i, s->p->of.count) {
		const unsigned look = s->p->of.look[i], k = look % COLOURS;

		print_series(s, i, "points");
		fprintf(s->to, " lc rgb '%s' lw 2 pt %u ps %.3g", script_colour(s, i),
			open[(k + look / COLOURS) % COLOURS], 1.2 * plot_thickness(&s->p->paper));
		print_title(s, i);
	}
	fputc('\n', s->to);
}

void script_bars(const struct script *s)
{
	static const char *const fills[COLOURS] = {
		"solid 1", "pattern 4", "pattern 1", "pattern 5", "pattern 2", "pattern 7", "pattern 6"};

	fprintf(s->to, "set boxwidth %.6f\n", s->beside * 0.92);
	print_all_data(s);
	NVW_FOR(i, s->p->of.count) {
		const unsigned look = s->p->of.look[i], k = look % COLOURS;

		print_series(s, i, "boxes");
		fprintf(s->to, " fill %s border lt -1 lc rgb '%s'", fills[(k + look / COLOURS) % COLOURS],
			script_colour(s, i));
		print_title(s, i);
	}
	print_spread(s, false);
	fputc('\n', s->to);
}
