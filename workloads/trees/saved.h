/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of saved-tasks, and its run: from the beginning, or from the last recovery point of a pool. */
#ifndef WORKLOADS_TREES_SAVED_H
#define WORKLOADS_TREES_SAVED_H

#include <nvw/tasks.h>
#include <nvw/workload.h>

enum saved_program { SAVED_FIB, SAVED_NQUEENS };

/* Seeded bugs, in the order of the table in saved.c. */
enum saved_mutation { SAVED_UNMUTATED = -1, SAVED_FORGOTTEN_ARRAY };

struct saved_plan {
	enum saved_program program;
	uint32_t n, every, entries;
	unsigned group_size;
	enum saved_mutation mutation;
	/* Of the run. */
	struct nvw_task_totals totals;
	uint64_t result;
};

NVW_CHECKED int saved_run(struct saved_plan *plan, struct nvw_machine *machine, bool resume);

/* What the run comes to, computed by the host. */
uint64_t saved_expected(const struct saved_plan *plan);

#endif
