/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table that a command finds where it is to write its own. It may be replaced if it has the same axes,
 * and if every point of it is a point of the new one: then nothing is lost. Axes are the columns before those
 * of the status and its reason.
 */
#ifndef CLI_FORMER_H
#define CLI_FORMER_H

#include <jansson.h>

#include "../figures/plot.h"

enum { TABLE_AXES_MAX = 32 };

/* The table that is to be written. */
struct table_plan {
	const char *kind; /* "sweep" */
	unsigned axes;
	const char *axis[TABLE_AXES_MAX];
	json_t *points; /* named by their values, a line for each axis; owned */
};

/* A point has a value for each axis, in their order. */
NVW_CHECKED int table_plan_add(struct table_plan *plan, const char *const *values);
void table_plan_end(struct table_plan *plan);

struct former {
	const struct table_plan *plan;
	const char *path;
	struct plot_table table; /* no rows: there is no file, and nothing is replaced */
	unsigned axes;
	unsigned column[TABLE_AXES_MAX]; /* of the plan's axes */
};

/* NVW_E_USAGE if the file is no such table, or has other axes. Release by former_end(), also after an
 * error. */
NVW_CHECKED int former_open(const struct table_plan *plan, const char *path, struct former *ret_former);
/* NVW_E_USAGE if it has a point that the plan lacks. */
NVW_CHECKED int former_check_points(const struct former *former);
/* NVW_E_USAGE, with what the table is. */
NVW_CHECKED int former_refuse(const struct former *former, const char *why, const char *what);
void former_end(struct former *former);

#endif
