/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gnuplot's script for a figure. Colour-blind readers can tell the colours apart (plot_paper.c); in grey print
 * the series differ by their points and dashes, or by the hatching of bars. A heat map
 * goes from dark to light in one order of brightness and has its values written into it.
 *
 * Letters are counted, to see whether names have room: those of the horizontal axis are turned, and the key
 * goes below the figure, where they have not. Series that would cover each other are drawn beside each other
 * where the horizontal axis has names. Where it has numbers each point is at its number: there the series drawn
 * first are wider, and are seen behind the later ones.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "plot.h"
#include "../report/provenance.h"
#include "report/words.h"

enum {
	KEY_WIDE = 20,
	KEY_ROOM = 7,
	AXIS_ROOM = 10,
	COLOURS = PLOT_COLOURS,
	NAME_WIDE = 24,
	KEY_BESIDE = 60, /* in a narrower figure the key is below */
	LINES_MAX = 3,
	MARKED_MAX = 40,
	BESIDE_MAX = 24
};

static const unsigned points[] = {7, 5, 9, 11, 13, 15, 2, 6, 4, 8, 10, 12, 14, 1};
static const char *const dashes[] = {"1", "(14,5)", "(5,3)", "(14,4,3,4)", "(2,3)"};

struct script {
	const struct plot *p;
	FILE *to;
	double x_scale, y_scale; /* values are divided by them */
	unsigned wide;           /* of the axis, in letters */
	bool key_below;
	bool cover;    /* series that cover each other: the first are the widest */
	double beside; /* series are this far apart on the horizontal axis, as place() measures it; 0: they
			  are not */
};

static const char *colour(const struct script *s, unsigned of)
{
	return plot_colour(&s->p->paper, s->p->of.look[of]);
}

static bool is_narrow(const struct script *s)
{
	return s->p->paper.wide < KEY_BESIDE;
}

static unsigned cells_of(const struct plot *p)
{
	return p->at.count * p->of.count;
}

/* As gnuplot reads a text in single quotes, which hide everything but the quote itself. */
static void quote(const char *text, FILE *to)
{
	fputc('\'', to);
	for (; *text; text++) {
		if (*text == '\n') {
			fputs("'.\"\\n\".'", to);
			continue;
		}
		if (*text == '\'') {
			fputc('\'', to);
		}
		fputc(*text, to);
	}
	fputc('\'', to);
}

static void set_text(const struct script *s, const char *what, const char *text, const char *end)
{
	fprintf(s->to, "set %s ", what);
	quote(text, s->to);
	fputs(end, s->to);
}

/* ---- Values -------------------------------------------------------------------------------------- */

/* The least and the most of all values. */
static void range_of(const struct plot *p, double *ret_least, double *ret_most)
{
	*ret_least = INFINITY;
	*ret_most = -INFINITY;
	for (unsigned i = 0; i < cells_of(p); i++) {
		if (p->cell[i].count) {
			*ret_least = fmin(*ret_least, p->cell[i].low);
			*ret_most = fmax(*ret_most, p->cell[i].high);
		}
	}
}

static double largest(const struct plot *p)
{
	double least, most;

	range_of(p, &least, &most);
	return fmax(fabs(least), fabs(most));
}

static bool has_spread(const struct plot *p)
{
	for (unsigned i = 0; i < cells_of(p); i++) {
		if (p->cell[i].count && p->cell[i].high > p->cell[i].low) {
			return true;
		}
	}
	return false;
}

/* ---- Places on the horizontal axis --------------------------------------------------------------- */

/* Whether the horizontal axis has numbers at their places, not names side by side. */
static bool is_scaled(const struct plot *p)
{
	return p->at.numbers && (p->kind == PLOT_LINES || p->kind == PLOT_POINTS);
}

static double number_at(const struct script *s, unsigned at)
{
	if (!is_scaled(s->p)) {
		return at;
	}
	return s->p->at.number[at] / s->x_scale;
}

/* A place along the axis: its logarithm if the axis is logarithmic. */
static double place(const struct script *s, unsigned at)
{
	const double number = number_at(s, at);

	return s->p->log_x ? log(number) : number;
}

/* Where a series has its value: beside the others', if so decided; bars always. */
static double position(const struct script *s, unsigned of, unsigned at)
{
	return number_at(s, at) + (of - (s->p->of.count - 1) / 2.0) * s->beside;
}

/* How high a value is drawn, in a figure of the height 1. */
static double height(const struct plot *p, double value, double least, double most)
{
	if (p->log_y) {
		least = log(least);
		most = log(most);
		value = log(value);
	} else {
		least = fmin(least, 0);
	}
	if (most <= least) {
		return 0;
	}
	return (value - least) / (most - least);
}

/* Whether the points of two series, with their spread, cover each other. */
static bool cover(
	const struct plot *p, const struct plot_cell *a, const struct plot_cell *b, double least, double most)
{
	const double point = 0.022; /* the height of one */

	return a->count && b->count &&
	       height(p, a->low, least, most) < height(p, b->high, least, most) + point &&
	       height(p, b->low, least, most) < height(p, a->high, least, most) + point;
}

static bool cover_at(const struct plot *p, unsigned at, double least, double most)
{
	for (unsigned a = 0; a < p->of.count; a++) {
		for (unsigned b = 0; b < a; b++) {
			if (cover(p, plot_cell(p, a, at), plot_cell(p, b, at), least, most)) {
				return true;
			}
		}
	}
	return false;
}

static bool any_cover(const struct plot *p)
{
	double least, most;

	range_of(p, &least, &most);
	for (unsigned at = 0; at < p->at.count; at++) {
		if (cover_at(p, at, least, most)) {
			return true;
		}
	}
	return false;
}

/* Lines over names, of several series of which some cover each other: far enough apart for their points, and
 * nearer than their places. */
static double decide_beside(const struct script *s)
{
	const struct plot *const p = s->p;
	const double of_axis = 0.014;

	if (p->kind == PLOT_BARS) {
		return 0.8 / p->of.count;
	}
	if (p->kind != PLOT_LINES || !s->cover || p->at.count > BESIDE_MAX || is_scaled(p)) {
		return 0;
	}
	if (p->at.count < 2) {
		return 0.03; /* of an axis of the width 2 */
	}
	return fmin(of_axis * (p->at.count - 1), 0.6 / p->of.count);
}

/* ---- Names on axes ------------------------------------------------------------------------------- */

/* How the names of an axis are written: in lines, turned by so many degrees, or shortened, and how many of
 * them. */
struct naming {
	unsigned wide, turned, every;
};

static bool break_into_lines(const struct plot_names *n, unsigned wide)
{
	char text[PLOT_LABEL_BYTES];

	for (unsigned i = 0; i < n->count; i++) {
		const unsigned lines = plot_break(n->name[i], wide, text);

		if (!lines || lines > LINES_MAX) {
			return false;
		}
	}
	return true;
}

/* Names one above the other. */
static struct naming names_of_rows(const struct script *s, const struct plot_names *n)
{
	const unsigned places = s->p->paper.high / 2;

	return (struct naming){NAME_WIDE, 0, (n->count + places - 1) / places};
}

/* Names side by side. */
static struct naming names_of_columns(const struct script *s, const struct plot_names *n)
{
	const unsigned room = s->wide / n->count, places = s->wide / 2;

	if (plot_longest(n) < room || (room > 3 && break_into_lines(n, room - 1))) {
		return (struct naming){room - 1, 0, 1};
	}
	return (struct naming){NAME_WIDE - 6, room > 3 ? 35 : 90, (n->count + places - 1) / places};
}

/* A name that has too many lines, or is turned, is shortened. */
static void print_name(const struct script *s, const struct naming *how, const char *name, unsigned i)
{
	char text[PLOT_LABEL_BYTES] = "";
	unsigned lines = 0;

	if (!how->turned) {
		lines = plot_break(name, how->wide, text);
	}
	if (!lines || lines > LINES_MAX) {
		plot_shorten(name, how->wide, text);
	}
	quote(words_if(i % how->every == 0, text), s->to);
}

/* Names are at 0, 1, 2 ... */
static void print_names(
	const struct script *s, char axis, const struct plot_names *n, const struct naming *how)
{
	const char *before = "(";

	NVW_INVARIANT(n->count > 0 && how->every > 0);
	if (how->turned == 35) {
		fputs("set lmargin 12\n", s->to);
	}
	fprintf(s->to, "set %ctics ", axis);
	if (how->turned) {
		fprintf(s->to, "rotate by %u right ", how->turned);
	}
	for (unsigned i = 0; i < n->count; i++) {
		fputs(before, s->to);
		print_name(s, how, n->name[i], i);
		fprintf(s->to, " %u", i);
		before = ", ";
	}
	fputs(")\n", s->to);
}

static void print_column_names(const struct script *s)
{
	const struct naming how = names_of_columns(s, &s->p->at);

	print_names(s, 'x', &s->p->at, &how);
}

/* At the values, which rise. One too near to the last one that has its number on the axis has none. */
static void print_log_tics(const struct script *s)
{
	const struct plot_names *const n = &s->p->at;
	const double first = place(s, 0), axis = place(s, n->count - 1) - first;

	const char *before = "set xtics (";
	double last_end = -INFINITY; /* of its number, in letters */

	for (unsigned i = 0; i < n->count; i++) {
		char number[32];
		const int letters = snprintf(number, sizeof number, "%.10g", number_at(s, i));
		double middle = 0;

		if (axis > 0) {
			middle = (place(s, i) - first) / axis * s->wide;
		}

		fputs(before, s->to);
		if (middle - letters / 2.0 < last_end + 1) {
			*number = 0;
		} else {
			last_end = middle + letters / 2.0;
		}
		quote(number, s->to);
		fprintf(s->to, " %.15g", number_at(s, i));
		before = ", ";
	}
	fputs(")\n", s->to);
}

/* 1, 2, 5, 10, 20 ... between the two. */
static void print_decades(const struct script *s, char axis, double least, double most)
{
	static const double steps[] = {1, 2, 5};
	const char *before = "(";

	fprintf(s->to, "set %ctics ", axis);
	for (double decade = pow(10, floor(log10(least))); decade <= most; decade *= 10) {
		for (unsigned i = 0; i < 3; i++) {
			const double at = decade * steps[i];

			if (at >= least * 0.999 && at <= most * 1.001) {
				fprintf(s->to, "%s'%.10g' %.10g", before, at, at);
				before = ", ";
			}
		}
	}
	fputs(*before == '(' ? "autofreq\n" : ")\n", s->to);
}

/* A horizontal axis of numbers, with a margin; in logarithms, with tics at the values, or at decades if these
 * are results. */
static void print_numbers(const struct script *s)
{
	const struct plot *const p = s->p;
	const double least = number_at(s, 0), most = number_at(s, p->at.count - 1);
	double margin = 1, factor = 1.15;

	if (most > least) {
		margin = 0.03 * (most - least);
		factor = pow(most / least, 0.04);
	}
	if (p->log_x) {
		fprintf(s->to, "set logscale x\nset xrange [%.15g:%.15g]\n", least / factor, most * factor);
		if (p->kind == PLOT_POINTS && !p->x_is_axis) {
			print_decades(s, 'x', least / factor, most * factor);
		} else {
			print_log_tics(s);
		}
	} else {
		fprintf(s->to, "set xrange [%.15g:%.15g]\nset format x '%%.10g'\n", least - margin,
			most + margin);
	}
}

/* The next of 1, 2, 5, 10 ... below or above. */
static double round_step(double value, bool up)
{
	const double decade = pow(10, floor(log10(value))), steps[] = {1, 2, 5, 10};
	unsigned i = 0;

	while (i < 3 && (up ? decade * steps[i] < value * 0.999 : decade * steps[i + 1] <= value * 1.001)) {
		i++;
	}
	return decade * steps[i];
}

/* Three decades at most have tics between them, and room for their numbers. */
static void print_log_values(const struct script *s, double least, double most)
{
	const double low = round_step(least, false), high = round_step(most, true);

	fputs("set logscale y\n", s->to);
	if (high / low <= 1000 && high > low) {
		fprintf(s->to, "set yrange [%.10g:%.10g]\n", low * 0.999, high); /* with its tic */
		print_decades(s, 'y', low, high);
	}
}

static void print_vertical_axis(const struct script *s, double least, double most)
{
	if (s->p->log_y) {
		print_log_values(s, least / s->y_scale, most / s->y_scale);
	} else if (least < 0) {
		fputs("set xzeroaxis linetype -1\n", s->to);
	} else if (s->p->of_column && most <= 100 && most > 40) {
		fputs("set yrange [0:100]\n", s->to);
	} else {
		fputs(most <= 0 ? "set yrange [0:1]\n" : "set yrange [0:*]\n", s->to);
	}
}

static void print_axes(const struct script *s)
{
	const struct plot *const p = s->p;
	double least, most;

	range_of(p, &least, &most);
	if (is_scaled(p)) {
		print_numbers(s);
	} else {
		print_column_names(s);
		fprintf(s->to, "set xrange [-0.6:%.1f]\n", p->at.count - 0.4);
	}
	print_vertical_axis(s, least, most);
	if (p->baseline) {
		fputs("set arrow from graph 0, first 1 to graph 1, first 1 nohead lc rgb '#888888' dt 3 "
		      "back\n",
			s->to);
	}
}

/* ---- Head ---------------------------------------------------------------------------------------- */

/* In words, if there are some. NULL: the column's. */
static const char *series_name(const struct plot *p)
{
	return p->series_label || !*p->series_words ? p->series_label : p->series_words;
}

static const char *x_name(const struct plot *p)
{
	return p->x_label || !*p->x_words ? p->x_label : p->x_words;
}

static void print_key(const struct script *s)
{
	static const char *const places[] = {"set key outside right top vertical Left reverse samplen 3\n",
		"set key bottom center outside horizontal Left reverse samplen 3\n",
		"set key bottom center outside horizontal Left reverse samplen 2\n"};
	static const char *const ends[] = {" left\n", " center\n"};
	const struct plot *const p = s->p;
	const unsigned wide = s->key_below ? p->paper.wide : KEY_WIDE;
	char title[PLOT_LABEL_BYTES];
	double ignored;

	fputs(places[s->key_below + (s->key_below && is_narrow(s))], s->to);
	if (p->series) {
		plot_label(p->series, p->series_is_axis, series_name(p), 0, wide, title, &ignored);
		set_text(s, "key title", title, ends[s->key_below]);
	}
}

/* A ratio has no unit. */
static void relate_to_baseline(struct script *s, char text[PLOT_LABEL_BYTES])
{
	char *const unit = strrchr(text, '(');

	if (unit && unit > text && text[strlen(text) - 1] == ')') {
		unit[-1] = 0;
	}
	s->y_scale = 1;
	snprintf(text + strlen(text), PLOT_LABEL_BYTES - strlen(text), ",\nrelative to %s", s->p->baseline);
}

/* Values that are written with units have a common one. */
static void label_unit(struct script *s, char text[PLOT_LABEL_BYTES])
{
	const char *const unit = plot_common_unit(&s->p->at, &s->x_scale);
	const size_t n = strlen(text);

	snprintf(text + n, PLOT_LABEL_BYTES - n, " (%s)", unit);
	plot_wrap(text, s->p->paper.wide - AXIS_ROOM);
}

static void label_x(struct script *s)
{
	const struct plot *const p = s->p;
	double largest = 0;
	char text[PLOT_LABEL_BYTES];

	if (is_scaled(p)) {
		largest = fmax(fabs(p->at.number[0]), fabs(p->at.number[p->at.count - 1]));
	}
	plot_label(p->x, p->x_is_axis, x_name(p), largest, s->p->paper.wide - AXIS_ROOM, text, &s->x_scale);
	if (is_scaled(p) && *p->at.unit) {
		label_unit(s, text);
	}
	set_text(s, "xlabel", text, is_narrow(s) ? " offset 0,0.4\n" : "\n");
}

static unsigned lines_of(const char *text)
{
	unsigned lines = 1;

	for (; *text; text++) {
		lines += *text == '\n';
	}
	return lines;
}

/* A share has no unit but per cent. */
static void label_share(struct script *s, char text[PLOT_LABEL_BYTES])
{
	const struct plot *const p = s->p;

	s->y_scale = 1;
	snprintf(text, PLOT_LABEL_BYTES, p->y_label ? "%s" : "%s (%% of %s)", p->y_label ? p->y_label : p->y,
		p->of_column);
	plot_wrap(text, p->paper.high - 2);
}

/* A meaning of many lines leaves no room for the figure: there the column's name says it. */
static void label_y(struct script *s, char text[PLOT_LABEL_BYTES])
{
	const struct plot *const p = s->p;
	const double most = p->baseline ? 0 : largest(p);

	if (p->of_column) {
		label_share(s, text);
		return;
	}
	plot_label(p->y, p->y_is_axis, p->y_label, most, p->paper.high - 2, text, &s->y_scale);
	if (lines_of(text) > 2 && !p->y_label) {
		plot_label(p->y, p->y_is_axis, p->y, most, p->paper.high - 2, text, &s->y_scale);
	}
}

static void label_axes(struct script *s)
{
	const struct plot *const p = s->p;
	const char *label = "ylabel", *end = "\n";
	char text[PLOT_LABEL_BYTES];

	label_x(s);
	label_y(s, text);
	if (p->baseline) {
		relate_to_baseline(s, text);
	}
	if (p->kind == PLOT_HEAT) {
		label = "cblabel";
		end = strchr(text, '\n') ? " offset 2\n" : "\n";
	} else if (strchr(text, '\n')) {
		end = " offset -1\n"; /* beside the numbers, which have a margin for two lines */
		fputs("set lmargin 11\n", s->to);
	}
	set_text(s, label, text, end);
}

static void print_head(struct script *s, const char *terminal)
{
	const struct plot *const p = s->p;
	char text[PLOT_LABEL_BYTES];

	fprintf(s->to,
		"# made by nvwave %s from %s\nset encoding utf8\nset terminal %s\n"
		"set termoption noenhanced\nset border 3 linewidth 1\nset tics out nomirror scale %s\n"
		"set grid ytics linetype 1 dashtype solid linewidth 1 lc rgb '#cccccc'\n"
		"set format y '%%.10g'\n",
		cli_version, p->path, terminal, is_narrow(s) ? "0.6" : "1");
	print_key(s);
	if (p->title) {
		snprintf(text, sizeof text, "%s", p->title);
		plot_wrap(text, s->p->paper.wide - 4);
		set_text(s, "title", text, "\n");
	}
	label_axes(s);
}

/* ---- Lines, points and bars ---------------------------------------------------------------------- */

/* One block of data per series: place, middle, lower and upper end of its line. Lines end at a place whose rows have failed. */
static void print_cell(const struct script *s, const struct plot_cell *c, double at)
{
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

/* One block of data per series: place, middle, lower and upper end of its line. Lines end at a place whose rows have failed. */
static void print_data(const struct script *s, unsigned of)
{
	const struct plot *const p = s->p;

	fprintf(s->to, "$data%u << EOD\n", of);
	for (unsigned i = 0; i < p->at.count; i++) {
		const struct plot_cell *const c = plot_cell(p, of, i);

		if (c->count) {
			print_cell(s, c, position(s, of, i));
		} else if (c->failed) {
			fputc('\n', s->to);
		}
	}
	fputs("EOD\n", s->to);
}

/* A cross at the bottom where rows have failed and none is ok. */
static void print_failures(const struct script *s)
{
	const struct plot *const p = s->p;

	for (unsigned i = 0; i < cells_of(p); i++) {
		const unsigned of = i / p->at.count, at = i % p->at.count;

		if (p->cell[i].count || !p->cell[i].failed) {
			continue;
		}
		if (p->kind == PLOT_HEAT) {
			fprintf(s->to, "set label '×' at first %u, first %u center front\n", at, of);
		} else {
			fprintf(s->to, "set label '×' at first %.15g, graph 0.03 center front tc rgb '%s'\n",
				position(s, of, at), colour(s, of));
		}
	}
}

static void print_title(const struct script *s, unsigned of)
{
	if (s->p->series) {
		fputs(" title ", s->to);
		quote(s->p->of.name[of], s->to);
	} else {
		fputs(" notitle", s->to);
	}
}

/* From the least to the most value of every place. */
static void print_spread(const struct script *s, bool in_colour)
{
	for (unsigned i = 0; has_spread(s->p) && i < s->p->of.count; i++) {
		fprintf(s->to,
			", \\\n  $data%u using 1:3:(0):($4-$3) with vectors nohead lw 1.5 dt 1 lc rgb '%s' "
			"notitle",
			i, in_colour ? colour(s, i) : "#000000");
	}
}

/* The begin of the plot of a series. */
static void print_series(const struct script *s, unsigned of, const char *style)
{
	fprintf(s->to, "%s$data%u using 1:2 with %s", of == 0 ? "plot " : ", \\\n  ", of, style);
}

static void print_all_data(const struct script *s)
{
	print_axes(s);
	print_failures(s);
	for (unsigned i = 0; i < s->p->of.count; i++) {
		print_data(s, i);
	}
}

/* How much wider than the last one a series is drawn. */
static double wider_of(const struct script *s, unsigned of)
{
	const double widest = 3;
	const unsigned behind = s->p->of.count - 1 - of;

	if (!s->cover || s->beside > 0) {
		return 0;
	}
	return fmin(behind * 1.2, widest * behind / (s->p->of.count - 1));
}

static void print_lines(const struct script *s)
{
	const bool marked = s->p->at.count <= MARKED_MAX;
	const double thick = plot_thickness(&s->p->paper);

	print_all_data(s);
	for (unsigned i = 0; i < s->p->of.count; i++) {
		const unsigned look = s->p->of.look[i], k = look % COLOURS;

		print_series(s, i, marked ? "linespoints" : "lines");
		fprintf(s->to, " lc rgb '%s' lw %.3g dt %s", colour(s, i), 2.5 + wider_of(s, i),
			dashes[(k + look / COLOURS) % 5]);
		if (marked) {
			fprintf(s->to, " pt %u ps %.3g", points[look % (sizeof points / sizeof *points)],
				(1 + wider_of(s, i) / 4) * thick);
		}
		print_title(s, i);
	}
	print_spread(s, true);
	fputc('\n', s->to);
}

/* Open marks, so that one shows that another one covers. */
static void print_points(const struct script *s)
{
	static const unsigned open[COLOURS] = {6, 4, 8, 10, 12, 2, 1};

	print_all_data(s);
	for (unsigned i = 0; i < s->p->of.count; i++) {
		const unsigned look = s->p->of.look[i], k = look % COLOURS;

		print_series(s, i, "points");
		fprintf(s->to, " lc rgb '%s' lw 2 pt %u ps %.3g", colour(s, i),
			open[(k + look / COLOURS) % COLOURS], 1.2 * plot_thickness(&s->p->paper));
		print_title(s, i);
	}
	fputc('\n', s->to);
}

static void print_bars(const struct script *s)
{
	static const char *const fills[COLOURS] = {
		"solid 1", "pattern 4", "pattern 1", "pattern 5", "pattern 2", "pattern 7", "pattern 6"};

	fprintf(s->to, "set boxwidth %.6f\n", s->beside * 0.92);
	print_all_data(s);
	for (unsigned i = 0; i < s->p->of.count; i++) {
		const unsigned look = s->p->of.look[i], k = look % COLOURS;

		print_series(s, i, "boxes");
		fprintf(s->to, " fill %s border lt -1 lc rgb '%s'", fills[(k + look / COLOURS) % COLOURS],
			colour(s, i));
		print_title(s, i);
	}
	print_spread(s, false);
	fputc('\n', s->to);
}

/* ---- Heat ---------------------------------------------------------------------------------------- */

/* Four digits, which are enough for a reader and leave room. */
static int value_text(double value, char text[32])
{
	return snprintf(text, 32, fabs(value) >= 1000 ? "%.0f" : "%.3g", value);
}

/* Whether every cell has room for its value. */
static bool has_room(const struct script *s)
{
	const struct plot *const p = s->p;
	char text[32];

	for (unsigned i = 0; i < cells_of(p); i++) {
		if (p->cell[i].count &&
			(unsigned)value_text(p->cell[i].middle / s->y_scale, text) >= s->wide / p->at.count) {
			return false;
		}
	}
	return p->of.count <= s->p->paper.high / 2 && s->wide >= p->at.count;
}

/* The values are written into their cells, light on dark and dark on light. */
static void print_values(const struct script *s, double middle)
{
	const struct plot *const p = s->p;
	char text[32];

	for (unsigned i = 0; i < cells_of(p); i++) {
		const double value = p->cell[i].middle / s->y_scale;

		if (p->cell[i].count) {
			value_text(value, text);
			fprintf(s->to, "set label '%s' at first %u, first %u center front tc rgb '%s'\n",
				text, i % p->at.count, i / p->at.count,
				value < middle ? "#ffffff" : "#000000");
		}
	}
}

/* The middle of all values, which decides on the colour of their texts. */
static double print_range(const struct script *s)
{
	const struct plot *const p = s->p;
	double least = INFINITY, most = -INFINITY;

	for (unsigned i = 0; i < cells_of(p); i++) {
		if (p->cell[i].count) {
			least = fmin(least, p->cell[i].middle / s->y_scale);
			most = fmax(most, p->cell[i].middle / s->y_scale);
		}
	}
	if (least == most) {
		fprintf(s->to, "set cbrange [%.9g:%.9g]\n", least - 1, most + 1);
		return least + 1;
	}
	return least + 0.5 * (most - least);
}

static void print_heat(const struct script *s)
{
	const struct plot *const p = s->p;
	const struct naming how = names_of_rows(s, &p->of);
	char label[PLOT_LABEL_BYTES];
	double ignored;

	print_column_names(s);
	print_names(s, 'y', &p->of, &how);
	plot_label(p->series, p->series_is_axis, series_name(p), 0, s->p->paper.high, label, &ignored);
	set_text(s, "ylabel", label, "\n");
	fprintf(s->to,
		"set xrange [-0.5:%.1f]\nset yrange [-0.5:%.1f]\nunset key\nunset grid\n"
		"set palette defined (0 '#00204c', 1 '#31446b', 2 '#666970', 3 '#958f78', 4 '#cbba69', "
		"5 '#ffe945')\n",
		p->at.count - 0.5, p->of.count - 0.5);
	const double middle = print_range(s);

	print_failures(s);
	if (has_room(s)) {
		print_values(s, middle);
	}
	fputs("$cells << EOD\n", s->to);
	for (unsigned i = 0; i < cells_of(p); i++) {
		if (p->cell[i].count) {
			fprintf(s->to, "%u %u %.9g\n", i % p->at.count, i / p->at.count,
				p->cell[i].middle / s->y_scale);
		}
	}
	fputs("EOD\nplot $cells using 1:2:(0.5):(0.5):3 with boxxyerror fc palette fs solid noborder\n",
		s->to);
}

/* ---- The whole ----------------------------------------------------------------------------------- */

static int check_plot(const struct plot *p)
{
	double least, most;

	range_of(p, &least, &most);
	if (p->baseline && !(least <= most)) {
		return nvw_fail(NVW_E_USAGE, "plot: --baseline=%s: nothing is left: it has no values above 0",
			p->baseline);
	}
	if (p->log_y && least <= 0) {
		return nvw_fail(NVW_E_USAGE, "plot: --scale: %s has values that are not above 0", p->y);
	}
	if (p->log_x && p->kind == PLOT_BARS) {
		return nvw_fail(NVW_E_USAGE, "plot: --scale: bars stand side by side: a logarithmic "
					     "horizontal axis needs lines or points");
	}
	if (p->log_x && (!p->at.numbers || p->at.number[0] <= 0)) {
		return nvw_fail(NVW_E_USAGE,
			"plot: --scale: the horizontal axis of %s has more than numbers above 0", p->x);
	}
	if (p->kind == PLOT_POINTS && !p->at.numbers) {
		return nvw_fail(
			NVW_E_USAGE, "plot: --kind=points: expected numbers in the column %s of --x", p->x);
	}
	return 0;
}

/* The key is beside the figure if its names are short. */
static void lay_out(struct script *s)
{
	const struct plot *const p = s->p;
	const unsigned longest = plot_longest(&p->of);

	s->wide = s->p->paper.wide - AXIS_ROOM;
	if (p->kind == PLOT_HEAT) {
		s->wide -= (unsigned)nvw_min(longest, NAME_WIDE) + AXIS_ROOM;
	} else if (p->series && (longest > KEY_WIDE || p->paper.wide < KEY_BESIDE)) {
		s->key_below = true;
	} else if (p->series && longest) {
		s->wide -= longest + KEY_ROOM;
	}
}

int plot_script(const struct plot *p, const char *path, bool names_output, FILE *to)
{
	static void (*const print[])(const struct script *) = {[PLOT_LINES] = print_lines,
		[PLOT_POINTS] = print_points,
		[PLOT_BARS] = print_bars,
		[PLOT_HEAT] = print_heat};
	struct script s = {.p = p, .to = to};
	char terminal[PLOT_TERMINAL_BYTES];

	NVW_INVARIANT(p->at.count > 0 && p->of.count > 0);
	NVW_TRY(plot_terminal(&p->paper, path, terminal));
	NVW_TRY(check_plot(p));
	lay_out(&s);
	print_head(&s, terminal);
	s.cover = p->of.count > 1 && any_cover(p);
	s.beside = decide_beside(&s);
	if (names_output) {
		set_text(&s, "output", path, "\n");
	}
	print[p->kind](&s);
	if (fflush(to)) {
		return nvw_fail_errno("cannot write gnuplot's script");
	}
	return 0;
}
