/* SPDX-License-Identifier: BSD-3-Clause */
/* The head of gnuplot's script: how large, where the key is, what the axes are called. See script.h. */
#include "../report/words.h"
#include "core/bounds.h"
#include "core/print.h"

#include "script.h"

#include <math.h>
#include <string.h>

#include "../report/provenance.h"

/* In words, if there are some. NULL: the column's. */
const char *plot_series_name(const struct plot *p)
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

	fputs(places[s->key_below + (s->key_below && script_is_narrow(s))], s->to);
	if (p->series) {
		plot_label(p->series, p->series_is_axis, plot_series_name(p), 0, wide, title, &ignored);
		script_set(s, "key title", title, ends[s->key_below]);
	}
}

/* A ratio has no unit. */
static void drop_unit(char *text)
{
	char *const unit = strrchr(text, '(');

	if (unit && unit > text && !strcmp(strchr(unit, 0) - 1, ")")) {
		unit[-1] = 0;
	}
}

static void relate_to_baseline(struct script *s, char text[PLOT_LABEL_BYTES])
{
	char baseline[PLOT_LABEL_BYTES];

	drop_unit(text);
	s->y_scale = 1;
	NVW_PRINT(baseline, ",\nrelative to %s", s->p->baseline);
	words_add(text, PLOT_LABEL_BYTES, "", baseline);
}

/* Values that are written with units have a common one. */
static void label_unit(struct script *s, char text[PLOT_LABEL_BYTES])
{
	const size_t n = strlen(text);

	snprintf(text + n, PLOT_LABEL_BYTES - n, " (%s)", plot_common_unit(&s->p->at, &s->x_scale));
	plot_wrap(text, s->p->paper.wide - AXIS_ROOM);
}

static void label_x(struct script *s)
{
	const struct plot *const p = s->p;
	double largest = 0;
	char text[PLOT_LABEL_BYTES];

	if (plot_is_scaled(p)) {
		largest = fmax(fabs(p->at.number[0]), fabs(p->at.number[p->at.count - 1]));
	}
	plot_label(p->x, p->x_is_axis, x_name(p), largest, s->p->paper.wide - AXIS_ROOM, text, &s->x_scale);
	if (plot_is_scaled(p) && *p->at.unit) {
		label_unit(s, text);
	}
	script_set(s, "xlabel", text, script_is_narrow(s) ? " offset 0,0.4\n" : "\n");
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
	snprintf(text, PLOT_LABEL_BYTES, p->y_label ? "%s" : "%s (%% of %s)", NVW_OR(p->y_label, p->y),
		p->of_column);
	plot_wrap(text, p->paper.high - 2);
}

/* A meaning of many lines leaves no room for the figure: there the column's name says it. */
static void label_y(struct script *s, char text[PLOT_LABEL_BYTES])
{
	const struct plot *const p = s->p;
	const double most = p->baseline ? 0 : plot_largest(p);

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
	script_set(s, label, text, end);
}

static void print_title(const struct script *s, const char *title)
{
	char text[PLOT_LABEL_BYTES];

	NVW_PRINT(text, "%s", title);
	plot_wrap(text, s->p->paper.wide - 4);
	script_set(s, "title", text, "\n");
}

void script_head(struct script *s, const char *terminal)
{
	const struct plot *const p = s->p;

	fprintf(s->to,
		"# made by nvwave %s from %s\nset encoding utf8\nset terminal %s\n"
		"set termoption noenhanced\nset border 3 linewidth 1\nset tics out nomirror scale %s\n"
		"set grid ytics linetype 1 dashtype solid linewidth 1 lc rgb '#cccccc'\n"
		"set format y '%%.10g'\n",
		cli_version, p->path, terminal, script_is_narrow(s) ? "0.6" : "1");
	print_key(s);
	if (p->title) {
		print_title(s, p->title);
	}
	label_axes(s);
}
