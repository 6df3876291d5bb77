/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the two task machines (tasks/tasks.h): the operations of a task, epochs, and the stack of
 * epochs. */
#ifndef WORKLOADS_TASKS_MACHINE_H
#define WORKLOADS_TASKS_MACHINE_H

#include "tasks.h"

struct task_run;

/* A machine's operations for a task. All arguments have been checked. */
struct task_machine {
	uint32_t (*word)(struct task_run *run, uint32_t entry, unsigned i);
	/* The next free entry, or one beyond the end. */
	uint32_t (*allocate)(struct task_run *run);
	/* Fills an entry; code: function + number * functions, 0 for emitted values, negative for a map. */
	void (*fill)(struct task_run *run, uint32_t entry, int32_t code, const uint32_t *words, unsigned n);
	void (*schedule_join)(struct task_run *run, uint32_t entry);
	void (*schedule_map)(struct task_run *run);
};

/* A running task, in the work-item's registers. */
struct nvw_task {
	struct task_run *run;
	uint32_t entry;
	unsigned function; /* index in the program's table */
	bool ended;
};

/* A run of a program, on either machine. */
struct task_run {
	const struct task_machine *does;
	struct nvw_machine *machine;
	const struct nvw_task_program *program;
	struct nvw_task_options options;
	unsigned functions;
	uint32_t number; /* of the epoch that runs */
	int error;       /* of the first task that made a mistake; its message is kept in text */
	char text[320];
	/* The last task that forked, mapped or joined: a full stack of epochs is its mistake. */
	struct {
		const struct nvw_site *site;
		uint32_t entry;
		unsigned function;
	} last;
	struct nvw_task_epoch epoch;
	struct nvw_task_totals totals;

	uint32_t next;                 /* the next free entry, as Table 5.1 counts it */
	uint32_t free_first, free_end; /* where the forks of this epoch go */

	/* The stack: epochs that wait, the next one last; the entries that each runs over, and those of the
	 * tasks whose values its continuations read. */
	struct task_range {
		uint32_t number, first, end, kept_first, kept_end;
	} now, *stack;
	uint32_t depth, room;
};

/* Checks options and program, and pushes the first epoch. Freed by task_run_end(), also after an error. */
NVW_CHECKED int task_run_begin(struct task_run *run, const struct task_machine *does,
	struct nvw_machine *machine, const struct nvw_task_program *program,
	const struct nvw_task_options *options);
void task_run_end(struct task_run *run);

/* The code of the first task, after a look at its arguments. */
NVW_CHECKED int task_run_first(struct task_run *run, nvw_task_run function, unsigned n, int32_t *ret_code);

/* Index of a function in the program's table, or the number of functions. */
unsigned task_function(const struct task_run *run, nvw_task_run function);

/* The code of a function (an index) in an epoch, and of a map function. */
int32_t task_code(const struct task_run *run, unsigned function, uint32_t number);
int32_t task_map_code(const struct task_run *run, unsigned function);

/* Whether a code is of the epoch that runs. */
bool task_runs(const struct task_run *run, int32_t code);

/* Runs an entry's task, if its code is of the epoch that runs. */
void task_execute(struct task_run *run, uint32_t entry, int32_t code);
/* The same for a map; every work-item of the work-group calls it. */
void task_execute_map(struct task_run *run, uint32_t entry, int32_t code);

/* Puts an epoch on top of the stack. */
NVW_CHECKED int task_push(struct task_run *run, const struct task_range *range);

/* Phase 1: takes the next epoch off the stack. False: the program has ended. */
bool task_next_epoch(struct task_run *run);
/* Phase 3: pushes the joined and forked tasks; next: the entry after the last allocated one. */
NVW_CHECKED int task_end_epoch(struct task_run *run, uint32_t next, bool joins, bool maps);

/* Hands the epoch that has ended to options.on_epoch(). */
NVW_CHECKED int task_tell_epoch(struct task_run *run, const uint32_t *entry);

#endif
