/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and numbers on the axes of a figure. See script.h. */
#include "core/invariant.h"
#include "core/print.h"

#include "script.h"

#include <math.h>
#include <stdio.h>

#include "../report/words.h"

enum { LINES_MAX = 3 };

/* ---- Names --------------------------------------------------------------------------------------- */

/* How the names of an axis are written: in lines, turned by so many degrees, or shortened, and how many of
 * them. */
struct naming {
	unsigned wide, turned, every;
};

static bool break_into_lines(const struct plot_names *n, unsigned wide)
{
	char text[PLOT_LABEL_BYTES];

	NVW_EACH(name, n->name, n->count) {
		const unsigned lines = plot_break(*name, wide, text);

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
	NVW_INVARIANT(n->count > 0);

	const unsigned room = s->wide / n->count, places = s->wide / 2;

	if (plot_longest(n) < room || (room > 3 && break_into_lines(n, room - 1))) {
		return (struct naming){room - 1, 0, 1};
	}
	return (struct naming){NAME_WIDE - 6, room > 3 ? 35 : 90, (n->count + places - 1) / places};
}

/* A name that has too many lines, or is turned, is shortened. */
static void fit_name(const struct naming *how, const char *name, char text[PLOT_LABEL_BYTES])
{
	unsigned lines = 0;

	if (!how->turned) {
		lines = plot_break(name, how->wide, text);
	}
	if (!lines || lines > LINES_MAX) {
		plot_shorten(name, how->wide, text);
	}
}

static void print_name(const struct script *s, const struct naming *how, const char *name, unsigned i)
{
	NVW_INVARIANT(how->every > 0);

	char text[PLOT_LABEL_BYTES] = "";

	fit_name(how, name, text);
	script_quote(words_if(i % how->every == 0, text), s->to);
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
	NVW_FOR(i, n->count) {
		fputs(before, s->to);
		print_name(s, how, n->name[i], i);
		fprintf(s->to, " %u", i);
		before = ", ";
	}
	fputs(")\n", s->to);
}

static void script_column_names(const struct script *s)
{
	const struct naming how = names_of_columns(s, &s->p->at);

	print_names(s, 'x', &s->p->at, &how);
}

void script_heat_axes(const struct script *s)
{
	const struct naming how = names_of_rows(s, &s->p->of);

	script_column_names(s);
	print_names(s, 'y', &s->p->of, &how);
}

/* ---- Numbers ------------------------------------------------------------------------------------- */

/* At the values, which rise. One too near to the last one that has its number on the axis has none. */
static void print_log_tics(const struct script *s)
{
	NVW_INVARIANT(s->p->log_x);

	const struct plot_names *const n = &s->p->at;
	const double first = script_place(s, 0), axis = script_place(s, n->count - 1) - first;

	const char *before = "set xtics (";
	double last_end = -INFINITY; /* of its number, in letters */

	NVW_FOR(i, n->count) {
		char number[32];
		const int letters = NVW_PRINT(number, "%.10g", script_number(s, i));
		double middle = 0;

		if (axis > 0) {
			middle = (script_place(s, i) - first) / axis * s->wide;
		}

		fputs(before, s->to);
		if (middle - letters / 2.0 < last_end + 1) {
			*number = 0;
		} else {
			last_end = middle + letters / 2.0;
		}
		script_quote(number, s->to);
		fprintf(s->to, " %.15g", script_number(s, i));
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
		NVW_EACH(step, steps, 3) {
			const double at = decade * *step;

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
	NVW_INVARIANT(plot_is_scaled(s->p));

	const struct plot *const p = s->p;
	const double least = script_number(s, 0), most = script_number(s, p->at.count - 1);
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

/* ---- Both ---------------------------------------------------------------------------------------- */

static void print_places(const struct script *s)
{
	if (plot_is_scaled(s->p)) {
		print_numbers(s);
		return;
	}
	script_column_names(s);
	fprintf(s->to, "set xrange [-0.6:%.1f]\n", s->p->at.count - 0.4);
}

void script_axes(const struct script *s)
{
	double least, most;

	plot_range(s->p, &least, &most);
	print_places(s);
	print_vertical_axis(s, least, most);
	if (s->p->baseline) {
		fputs("set arrow from graph 0, first 1 to graph 1, first 1 nohead lc rgb '#888888' dt 3 "
		      "back\n",
			s->to);
	}
}
