/* SPDX-License-Identifier: BSD-3-Clause */
/* What the numbers of all reports and tables are called: statistics of the machine and of its devices,
 * numbers.def, and latencies. */
#ifndef CLI_NUMBERS_H
#define CLI_NUMBERS_H

#include <stdbool.h>

struct cli_number {
	const char *name, *unit, *meaning; /* unit "count": none */
};

/* The table of numbers.def: *ret_count rows, constant. */
const struct cli_number *cli_number_table(unsigned *ret_count);

/* The number of this name, as a column of a table has it. False if no table has it: a workload's own. */
bool cli_number_named(const char *name, struct cli_number *ret_number);
/* Whether the reports of a command have it, as far as they are the same for all workloads. */
bool cli_number_is_of(const char *command, const char *name);
/* The number of such a report that is spelled most like it; NULL: none is near. */
const char *cli_number_nearest(const char *command, const char *name);
/* Whether the machine has statistics that begin as this one does: "nvram." */
bool cli_number_group(const char *name);

#endif
