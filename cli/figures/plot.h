/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvwave plot: a table becomes a figure, drawn by gnuplot.
 *
 *	plot_table.c    CSV file -> rows
 *	plot_rows.c     which rows are shown, and the names of their places
 *	plot_cells.c    rows -> cells
 *	plot_measure.c  the middle of a cell's rows, how well it is known, relative to a baseline
 *	plot_number.c   values with a unit
 *	plot_label.c    what columns are called in a figure, and their units
 *	plot_words.c    what an axis of a sweep is called, where options and keys are described
 *	plot_paper.c    size, letters and colours
 *	plot_script.c   cells -> gnuplot's script, in parts (script.h)
 *	plot_draw.c     gnuplot's script -> a file
 */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "core/invariant.h"
#include "../options.h"

enum plot_kind { PLOT_LINES, PLOT_POINTS, PLOT_BARS, PLOT_HEAT };
enum { PLOT_SERIES_MAX = 14, PLOT_HEAT_MAX = 64, PLOT_LABEL_BYTES = 320 };

enum plot_middle { PLOT_MEAN, PLOT_MEDIAN };

/* How a figure looks on its page. */
struct plot_paper {
	double wide_mm, high_mm; /* 0: no size was named */
	char *font;
	double letters_pt;
	unsigned palette;
	unsigned wide, high; /* in letters of its text; the formats differ a little */
};

struct plot_table {
	char *text;         /* the file, cut up into fields */
	const char **field; /* columns x (rows + 1); the first row has the names */
	unsigned columns, rows;
};

/* Reads a CSV file whose first line has names. NVW_E_INPUT with the line that cannot be read. */
NVW_CHECKED int plot_table_read(const char *path, struct plot_table *ret_table);
void plot_table_end(struct plot_table *table);
/* The text in a row, 0 to rows - 1, and a column. */
static inline const char *plot_field(const struct plot_table *table, unsigned row, unsigned column)
{
	NVW_INVARIANT(row < table->rows && column < table->columns);
	return table->field[((size_t)row + 1) * table->columns + column];
}
/* The number of columns, if none has the name. */
unsigned plot_column_named(const struct plot_table *table, const char *name);
/* NVW_E_USAGE with the nearest name if there is no such column. */
NVW_CHECKED int plot_column(
	const struct plot_table *table, const char *what, const char *name, unsigned *ret_column);

struct plot_cell {
	unsigned count;  /* of rows that are ok */
	unsigned failed; /* others */
	double *value;   /* sorted */
	unsigned room, first_row;
	double middle;    /* mean, or median */
	double half;      /* of the confidence interval; 0: none */
	double low, high; /* the confidence interval of the mean; of a median the least and the most */
};

struct plot_names {
	const char **name; /* in the figure's order */
	unsigned count;
	bool numbers;     /* all of them, of one unit; then they rise */
	double *number;   /* of each name, in the smallest unit */
	const char *unit; /* "ps", "B" ...; "": none */
	unsigned *look;   /* of series: which colour and points each has, whatever is selected */
};

struct plot {
	const char *path;                             /* of the table */
	const char *x, *y, *series, *title;           /* names of columns; series, title NULL: none */
	const char *x_label, *y_label, *series_label; /* NULL: as the tables of numbers say */
	const char *of_column;                        /* y is a share of it, in per cent; NULL: it is not */
	const char *baseline;                         /* "COLUMN=VALUE", NULL: none */
	enum plot_kind kind;
	enum plot_middle shows;
	struct plot_paper paper;
	bool log_x, log_y;
	bool decides_log_x;                        /* the values of x do, which sets log_x */
	bool x_is_axis, y_is_axis, series_is_axis; /* of a sweep: no number that was measured */
	char x_words[PLOT_LABEL_BYTES], series_words[PLOT_LABEL_BYTES]; /* of axes; "": none */
	struct plot_names at, of; /* values of x, and of series: one "" without it */
	struct plot_cell *cell;   /* cell[series * at.count + x]; count 0: no row that is ok */
	unsigned left_out;        /* rows whose status is not "ok" */
};

/* Takes the rows that where ("COLUMN=VALUE ..." or NULL) selects. NVW_E_USAGE if rows of one cell differ in
 * more than the seed, or if nothing is left. Release by plot_cells_end(), also after an error. */
NVW_CHECKED int plot_cells(struct plot *plot, const struct plot_table *table, const char *where);
void plot_cells_end(struct plot *plot);

static inline unsigned plot_cell_count(const struct plot *p)
{
	return p->at.count * p->of.count;
}

static inline const struct plot_cell *plot_cell(const struct plot *p, unsigned of, unsigned at)
{
	return &p->cell[of * p->at.count + at];
}

/* A number, perhaps with a unit, in the smallest unit of its kind, whose name is *ret_unit: "" of a number
 * alone. False: it is none. */
bool plot_number(const char *text, double *ret, const char **ret_unit);
/* The unit in which numbers with units are written, of *ret_scale smallest units. */
const char *plot_common_unit(const struct plot_names *names, double *ret_scale);
/* Whether there are three numbers or more, each at least twice the one before. */
bool plot_doubles(const struct plot_names *names);

/* What a column is called in the figure, in lines of at most wide letters. given, if not NULL, takes the
 * place of its name. The unit leaves few digits of the largest value; values are divided by *ret_scale. */
void plot_label(const char *column, bool is_axis, const char *given, double largest, unsigned wide,
	char ret_text[PLOT_LABEL_BYTES], double *ret_scale);
/* Breaks lines at blanks, where they have more than wide letters. */
void plot_wrap(char *text, unsigned wide);
/* Breaks a name between its words, into lines of at most wide letters; returns how many. 0: a word is longer.
 */
unsigned plot_break(const char *name, unsigned wide, char ret_text[PLOT_LABEL_BYTES]);
/* Leaves out the middle of a name that has more than so many letters. */
void plot_shorten(const char *name, unsigned letters, char ret_text[PLOT_LABEL_BYTES]);
/* Letters of a text in UTF-8. */
unsigned plot_letters(const char *text);
/* The longest of the names. */
unsigned plot_longest(const struct plot_names *names);

/* gnuplot's script, whose figure is for its standard output, or for path if names_output. NVW_E_USAGE if it
 * cannot be drawn so. */
NVW_CHECKED int plot_script(const struct plot *plot, const char *path, bool names_output, FILE *to);

/* What an axis of a sweep is called where its values are numbers: as the option, or the machine's key, is
 * described. False: as the column. */
bool plot_words(
	const struct plot_table *table, const char *column, bool numbers, char ret_text[PLOT_LABEL_BYTES]);

/* "85mm", "85mmx60mm", "3.3in"; "Times,8" or "Times"; NULL: the standard. NVW_E_USAGE. Release by
 * plot_paper_end(), also after an error. */
NVW_CHECKED int plot_paper(
	const char *size, const char *font, unsigned palette, struct plot_paper *ret_paper);
void plot_paper_end(struct plot_paper *paper);
/* Colour i of the palette, which begins again behind the last one. */
enum { PLOT_COLOURS = 7 };
const char *plot_colour(const struct plot_paper *paper, unsigned i);
/* How thick lines and how large points are, compared with the standard. */
double plot_thickness(const struct plot_paper *paper);
/* gnuplot's terminal. The end of the file's name decides on the format: .svg, .png or .pdf. NVW_E_USAGE for
 * others. */
enum { PLOT_TERMINAL_BYTES = 256 };
NVW_CHECKED int plot_terminal(
	const struct plot_paper *paper, const char *path, char ret_terminal[PLOT_TERMINAL_BYTES]);
/* NVW_E_USAGE if there is no gnuplot. */
NVW_CHECKED int plot_find_gnuplot(void);
/* Writes the figure and, if script is not NULL, the script that draws it. */
NVW_CHECKED int plot_draw(const struct plot *plot, const char *path, const char *script);

#endif
