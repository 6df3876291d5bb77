/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the runners: situations, schedules, the interpreting kernel. */
#ifndef LITMUS_INTERNAL_H
#define LITMUS_INTERNAL_H

#include <emu.h>
#include <nvw/random.h>

#include "litmus.h"

/* ---- Situations (situation.c) ----------------------------------------------------------------------- */

/* Initial place of lines, and layout of variables and work-groups. */
struct litmus_situation {
	char name[80];
	bool is_one_cu;    /* all work-groups on one CU; otherwise each on its own */
	bool shares_lines; /* two variables per line */
	uint32_t warm;     /* bit v: every CU has loaded variable v */
	bool drains;       /* store buffers of one line, and another store after each, which drains it */
	/* not 0: small caches, and accesses to other lines between the operations, from this seed */
	uint64_t evicting;
};

/* Situation i of a test; false after the last. */
bool litmus_situation(
	const struct litmus_test *test, unsigned i, uint64_t seed, struct litmus_situation *ret);
/* The machine of a situation. */
NVW_CHECKED int litmus_machine(const struct litmus_test *test, const struct litmus_situation *situation,
	const struct litmus_options *options, struct emu_config *ret_config);

/* ---- Placement of threads (situation.c) --------------------------------------------------------- */

/* Work-item number of each thread in the kernel: threads of one work-group and device share a work-group. */
struct litmus_geometry {
	unsigned groups, group_size;
	int thread[LITMUS_THREADS * LITMUS_THREADS]; /* by work-item; -1: idle */
};
void litmus_geometry(const struct litmus_test *test, struct litmus_geometry *ret);

/* ---- Schedules (search.c) --------------------------------------------------------------------------- */

enum { LITMUS_STEPS = 512 };

/* A depth-first search by replay; a flat structure, so that it can be in memory shared with a child
 * process. */
struct litmus_search {
	struct nvw_random random;
	uint64_t budget, done; /* executions */
	bool is_random;        /* random schedules, for the second half of the budget */
	bool is_complete;      /* all schedules have been run */
	uint16_t at, length;
	uint8_t choice[LITMUS_STEPS], count[LITMUS_STEPS];
	uint16_t turns;
	int8_t turn[LITMUS_STEPS]; /* the thread of each turn, for the witness; -1: an idle work-item */
};
void litmus_search_start(struct litmus_search *search, uint64_t budget, uint64_t seed);
/* Makes the next choice of this execution, among count. */
unsigned litmus_search_choose(struct litmus_search *search, unsigned count);
/* Begins an execution. */
void litmus_search_begin(struct litmus_search *search);
/* Advances to the next schedule; false after the last one, or when the budget is used up. */
bool litmus_search_next(struct litmus_search *search);
/* "P0 P1 P1": the turns of the latest execution. */
void litmus_search_text(const struct litmus_search *search, char *text, size_t room);

/* ---- Executions (kernel.c) -------------------------------------------------------------------------- */

/* A work-item's next action: one without effect on others, an operation of the test, waiting for others at
 * its barrier, nothing more. */
enum litmus_next { LITMUS_NEXT_ALONE, LITMUS_NEXT_SHARED, LITMUS_NEXT_WAITS, LITMUS_NEXT_NOTHING };

/* A step of a work-item: an operation of its thread, or a load or store that moves lines in and out of
 * caches. */
struct litmus_step {
	const struct litmus_op *op; /* NULL: */
	uint64_t *at;
	bool is_store;
};

enum {
	LITMUS_ITEMS = LITMUS_THREADS * LITMUS_THREADS,
	LITMUS_SCRIPT = 3 * LITMUS_OPS + LITMUS_VARIABLES + 1
};

/* One execution: the kernel's arguments and results. */
struct litmus_execution {
	const struct litmus_test *test;
	struct litmus_geometry geometry;
	struct litmus_situation situation;
	uint64_t *variable[LITMUS_VARIABLES], *fence,
		*others; /* device memory; others: lines used by no thread */
	/* not only wavefronts are offered to the scheduler: stores leave store buffers, too */
	bool is_anonymous;
	bool barriers_stall;          /* of the persistency implementation */
	struct litmus_search *search; /* NULL: by time */
	struct {
		struct litmus_step step[LITMUS_SCRIPT];
		unsigned count;
	} script[LITMUS_ITEMS];
	enum litmus_next next[LITMUS_ITEMS]; /* updated by the kernel */
	unsigned arrived[LITMUS_THREADS][2],
		arrived_kernel; /* at barriers and persist barriers of a group, of the kernel */
	struct nvw_issued issued[LITMUS_THREADS][LITMUS_REGISTERS]; /* by the register that they are for */
	struct litmus_state state;
};

enum { LITMUS_OTHER_LINES = 4 }; /* per work-item */

/* Places the variables in the new machine's DRAM and pool, sets initial values, writes the scripts. */
NVW_CHECKED int litmus_execution_prepare(struct litmus_execution *x, struct nvw_machine *machine);
/* Runs the kernel under the search's schedule. NVW_E_DEADLOCK is a possible outcome. */
NVW_CHECKED int litmus_execution_run(struct litmus_execution *x, struct nvw_machine *machine);
/* Reads final registers and memory into x->state. */
NVW_CHECKED int litmus_execution_read(struct litmus_execution *x, struct nvw_machine *machine);

/* Offset of variable v in the test's range of DRAM or NVRAM. */
unsigned litmus_variable_offset(const struct litmus_situation *situation, unsigned v);
/* The line of kernel.c with the persist barrier, for narrowing it. */
extern const unsigned litmus_persist_barrier_line;

/* ---- Reports (report.c) ----------------------------------------------------------------------------- */

void litmus_report_begin(
	struct litmus_report *report, const struct litmus_test *test, const struct litmus_options *options);
void litmus_report_witness(struct litmus_report *report, const struct litmus_situation *situation,
	const struct litmus_search *search);
/* Counts a final state. */
void litmus_report_count(struct litmus_report *report, const struct litmus_state *state);
/* By text, for readers. */
void litmus_report_sort(struct litmus_report *report);

/* ---- Runs of a test (situation.c) ------------------------------------------------------------------- */

/* The state of a run. It begins zeroed; a flat structure, which may be shared with a child process. */
struct litmus_runner {
	const struct litmus_options *options;
	struct litmus_execution execution;
	struct litmus_search search;
	struct litmus_report report;
};
void litmus_runner_begin(
	struct litmus_runner *r, const struct litmus_test *test, const struct litmus_options *options);
/* Prepares the execution on a new machine, which gets the options' fault. */
NVW_CHECKED int litmus_runner_prepare(struct litmus_runner *r, struct nvw_machine *machine);
/* Whether the options ask for no more. */
bool litmus_has_enough(const struct litmus_runner *r);
/* Executes schedule after schedule in the situation of r->execution, each on a new machine. */
NVW_CHECKED int litmus_run_schedules(struct litmus_runner *r, uint64_t budget,
	int (*execute)(struct litmus_runner *r, const struct emu_config *config));

#endif
