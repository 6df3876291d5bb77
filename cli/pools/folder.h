/* SPDX-License-Identifier: BSD-3-Clause */
/* A command on every pool of a folder: each in a process of its own, one row each. */
#ifndef CLI_POOLS_FOLDER_H
#define CLI_POOLS_FOLDER_H

#include <stdbool.h>

#include "apart.h"

/* A column of the table: a member of the report. */
struct pool_column {
	const char *title, *member;
	int width; /* negative: a text, to the left */
};

/*
 * Does the work with each pool directly in the folder, in the order of their names: the files that begin as a
 * pool does, or have the copy of a header. The further pools of a run (FILE.1) belong to FILE. Prints a table
 * with the columns (the last has no title), or the reports as JSON. Returns the worst exit status of a pool,
 * or an error: NVW_E_INPUT if the folder has no pool; NVW_E_STOPPED with the pools so far printed.
 */
NVW_CHECKED int pool_folder_each(
	const char *folder, pool_work *work, void *context, const struct pool_column *columns, bool json);

#endif
