/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of saved-tasks, and its run: from the beginning, or from the last recovery point of a pool. */
#ifndef WORKLOADS_TASKS_SAVED_TASKS_H
#define WORKLOADS_TASKS_SAVED_TASKS_H

#include "tasks.h"
#include <nvw/workload.h>

enum saved_program { SAVED_FIB, SAVED_NQUEENS, SAVED_MARKS };

enum saved_recovery { SAVED_NONE, SAVED_COPY, SAVED_UNDO };

/* Seeded bugs, in the order of the table in mutations.c. */
enum saved_mutation {
	SAVED_UNMUTATED = -1,
	SAVED_FORGOTTEN_ARRAY,
	SAVED_UNORDERED_COPY,
	SAVED_NARROW_COPY,
	SAVED_UNORDERED_COMPLETION,
	SAVED_ONE_COPY,
	SAVED_SHORT_COPY,
	SAVED_HALF_VECTOR,
	SAVED_LOST_EPOCH,
	SAVED_FORGOTTEN_COUNTS,
	SAVED_NO_LOG,
	SAVED_CODES_UNLOGGED,
	SAVED_WORDS_UNLOGGED,
	SAVED_UNORDERED_LOG,
	SAVED_UNORDERED_TASKS,
};

extern const struct nvw_mutation saved_mutations[];
extern const struct nvw_lack saved_lacks[];
/* The steps that a seeded bug replaces. */
const struct nvw_task_steps *saved_replaced(enum saved_mutation mutation);

struct saved_plan {
	enum saved_program program;
	uint32_t n, every, entries;
	unsigned group_size;
	enum saved_recovery recovery;
	enum saved_mutation mutation;
	uint64_t points_most; /* recovery points of the run; 0: all (struct nvw_task_options) */
	/* The run's: */
	struct nvw_task_totals totals;
	uint64_t result;
};

NVW_CHECKED int saved_run(struct saved_plan *plan, struct nvw_machine *machine, bool resume);

/* What the run comes to, computed by the host. */
uint64_t saved_expected(const struct saved_plan *plan);

#endif
