/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvwave plot: a table becomes a figure, drawn by gnuplot.
 *
 *	plot_table.c  CSV file -> rows -> cells: a median, least and most of the rows with one x and one series
 *	plot_draw.c   cells -> gnuplot's script -> a file
 */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "options.h"

enum plot_kind { PLOT_LINES, PLOT_BARS, PLOT_HEAT };
enum { PLOT_SERIES_MAX = 14, PLOT_HEAT_MAX = 64 };

struct plot_table {
	char *text;         /* the file, cut up into fields */
	const char **field; /* columns x (rows + 1); the first row has the names */
	unsigned columns, rows;
};

/* A CSV file with a line of names. NVW_E_INPUT with its line if it cannot be read. */
NVW_CHECKED int plot_table_read(const char *path, struct plot_table *ret_table);
void plot_table_end(struct plot_table *table);
/* Of row 0 to rows - 1. */
const char *plot_field(const struct plot_table *table, unsigned row, unsigned column);
/* NVW_E_USAGE with the nearest name if there is no such column. */
NVW_CHECKED int plot_column(
	const struct plot_table *table, const char *what, const char *name, unsigned *ret_column);

struct plot_cell {
	unsigned count;
	double *value; /* sorted */
	unsigned first_row;
	double median, least, most;
};

struct plot_names {
	const char **name; /* in the figure's order */
	unsigned count;
	bool numbers;
};

struct plot {
	const char *path;                   /* of the table */
	const char *x, *y, *series, *title; /* names of columns; series, title NULL: none */
	const char *baseline;               /* "COLUMN=VALUE", NULL: none */
	enum plot_kind kind;
	bool log_x, log_y;
	struct plot_names at, of; /* values of x, and of series: one "" without it */
	struct plot_cell *cell;   /* cell[series * at.count + x]; count 0: no row */
	unsigned left_out;        /* rows whose status is not "ok" */
};

/* Takes the rows that where ("COLUMN=VALUE ..." or NULL) selects. NVW_E_USAGE if rows of one cell differ in more than
 * the seed, or if nothing is left. Release by plot_cells_end(), also after an error. */
NVW_CHECKED int plot_cells(struct plot *plot, const struct plot_table *table, const char *where);
void plot_cells_end(struct plot *plot);

/* The end of the file's name decides on the format: .svg, .png or .pdf. NVW_E_USAGE for others. */
NVW_CHECKED int plot_format(const char *path, const char **ret_terminal);
/* NVW_E_USAGE if there is no gnuplot. */
NVW_CHECKED int plot_find_gnuplot(void);
/* Writes the figure and, if script is not NULL, the script that draws it. */
NVW_CHECKED int plot_draw(const struct plot *plot, const char *path, const char *script);

#endif
