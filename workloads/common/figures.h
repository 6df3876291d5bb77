/* SPDX-License-Identifier: BSD-3-Clause */
/* Counted figures of a run or a pool, one row per figure. */
#ifndef WORKLOADS_COMMON_FIGURES_H
#define WORKLOADS_COMMON_FIGURES_H

#include <nvw/workload.h>

struct figure {
	const char *name;
	uint64_t value;
	const char *unit, *meaning;
};

/* Adds the rows in order; stops at the first error. */
NVW_CHECKED int figures_describe(
	struct nvw_description *description, const struct figure *rows, unsigned count);

#define FIGURES_DESCRIBE(description, rows) figures_describe(description, rows, sizeof(rows) / sizeof *(rows))

#endif
