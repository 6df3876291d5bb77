/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of gnuplot's script share: the figure, its scales, and where things stand in it. See
 * plot_script.c. */
#ifndef CLI_SCRIPT_H
#define CLI_SCRIPT_H

#include "plot.h"

enum {
	AXIS_ROOM = 10, /* letters beside an axis, for its numbers */
	KEY_WIDE = 20,  /* letters of a series' name in the key beside the figure */
	NAME_WIDE = 24  /* letters of a name on an axis */
};

struct script {
	const struct plot *p;
	FILE *to;
	double x_scale, y_scale; /* values are divided by them */
	unsigned wide;           /* of the axis, in letters */
	bool key_below;
	bool cover; /* series that cover each other: the first are the widest */
	/* Series are this far apart on the horizontal axis, as script_place() measures it; 0: they are
	 * not. */
	double beside;
};

/* ---- Texts (script_text.c) ------------------------------------------------------------------------ */

/* The colour of a series. */
const char *script_colour(const struct script *s, unsigned of);
/* The figure is narrower than a key beside it allows. */
bool script_is_narrow(const struct script *s);
/* As gnuplot reads a text in single quotes. */
void script_quote(const char *text, FILE *to);
/* "set WHAT 'TEXT'", and the end of the line. */
void script_set(const struct script *s, const char *what, const char *text, const char *end);

/* ---- Places (script_place.c) ---------------------------------------------------------------------- */

/* The least and the most of all values; INFINITY and -INFINITY without one. */
void plot_range(const struct plot *p, double *ret_least, double *ret_most);
/* The largest, whatever its sign. */
double plot_largest(const struct plot *p);
/* Whether the horizontal axis has numbers at their places, not names side by side. */
bool plot_is_scaled(const struct plot *p);
/* The number of a place on the horizontal axis, as it is written there. */
double script_number(const struct script *s, unsigned at);
/* A place along the axis: its logarithm if the axis is logarithmic. */
double script_place(const struct script *s, unsigned at);
/* Where a series has its value: beside the others', if so decided; bars always. */
double script_position(const struct script *s, unsigned of, unsigned at);
/* Whether points of two series, with their spread, cover each other. */
bool plot_covers(const struct plot *p);
/* How far apart series stand that cover each other: script.beside. */
double script_beside(const struct script *s);

/* ---- Parts of the script --------------------------------------------------------------------------- */

/* Terminal, key, title and the labels of the axes, which choose the scales (script_head.c). */
void script_head(struct script *s, const char *terminal);
/* What the column of the series is called: NULL: by its own name. */
const char *plot_series_name(const struct plot *p);

/* Names and numbers on both axes (script_axes.c); of a heat map the names only. */
void script_axes(const struct script *s);
void script_heat_axes(const struct script *s);

/* The data, and how it is drawn (script_series.c, script_heat.c). */
void script_lines(const struct script *s);
void script_points(const struct script *s);
void script_bars(const struct script *s);
void script_heat(const struct script *s);
/* A cross where rows have failed and none is ok. */
void script_failures(const struct script *s);

#endif
