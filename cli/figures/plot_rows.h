/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of a table that a figure shows, and the names of their places. */
#ifndef CLI_PLOT_ROWS_H
#define CLI_PLOT_ROWS_H

#include "plot.h"

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
	unsigned status; /* its column; the number of columns: this is no table of a sweep */
	unsigned axes;   /* before the status */
};

/* Takes the conditions of --where, whose text it cuts up and keeps. */
NVW_CHECKED int plot_read_where(struct selection *s, char *text);
bool plot_is_selected(const struct selection *s, unsigned row);
bool plot_is_ok(const struct selection *s, unsigned row);
/* Columns before the status are a sweep's axes. */
bool plot_is_axis(const struct selection *s, unsigned column);
/* Whether there is a place for the row: one that failed has none where the place is a result. */
bool plot_has_place(const struct selection *s, unsigned row);

/* The names in a column, those that have a place or all; column -1: one name, "". */
NVW_CHECKED int plot_collect(const struct selection *s, int column, bool all, struct plot_names *n);
/* The place of a name; the count if there is none. */
unsigned plot_place_of(const struct plot_names *n, const char *name);
/* A series looks alike in all figures of a table, if its values are not too many. */
NVW_CHECKED int plot_choose_looks(const struct selection *s, struct plot_names *of);
void plot_names_end(struct plot_names *n);

#endif
