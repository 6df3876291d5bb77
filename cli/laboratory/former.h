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
	const char *kind, *command; /* "sweep", and whose numbers it has; NULL: not to be checked */
	unsigned axes;
	const char *axis[TABLE_AXES_MAX];
	json_t *points; /* named by their values, a line for each axis; owned */
};

/* A point has a value for each axis, in their order. */
NVW_CHECKED int table_plan_add(struct table_plan *plan, const char *const *values);
void table_plan_end(struct table_plan *plan);

/* NVW_E_USAGE if there is a file that is no such table, has other axes, the numbers of another command, or a
 * point that the plan lacks. */
NVW_CHECKED int former_check(const struct table_plan *plan, const char *path);

#endif
