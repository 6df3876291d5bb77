/* SPDX-License-Identifier: BSD-3-Clause */
/* What the runners share: situations, schedules, the interpreting kernel. */
#ifndef LITMUS_INTERNAL_H
#define LITMUS_INTERNAL_H

#include <emu.h>
#include <nvw/random.h>

#include "litmus.h"

/* ---- Situations (situation.c) ---------------------------------------------------------------------------------- */

/* Where lines are beforehand, and how variables and work-groups lie. */
struct litmus_situation {
	char name[80];
	bool is_one_cu;    /* all work-groups on one CU; otherwise each on its own */
	bool shares_lines; /* two variables a line */
	uint32_t warm;     /* bit v: every CU has loaded variable v */
	bool drains; /* store buffers of one line, and another store after each: what is stored leaves the L1 at once */
	/* not 0: caches of few lines, and other lines between the operations, by this seed */
	uint64_t evicting;
};

/* Situation i of a test; false past the last. */
bool litmus_situation(
	const struct litmus_test *test, unsigned i, uint64_t seed, struct litmus_situation *ret);
/* The machine of a situation. */
void litmus_machine(const struct litmus_test *test, const struct litmus_situation *situation,
	const char *protocol, struct emu_config *ret_config);

/* ---- Where threads are (situation.c) ---------------------------------------------------------------------------- */

/* Work-item number of each thread in the kernel: threads of one work-group of one device are in one work-group. */
struct litmus_geometry {
	unsigned groups, group_size;
	int thread[LITMUS_THREADS * LITMUS_THREADS]; /* by work-item; -1: idle */
};
void litmus_geometry(const struct litmus_test *test, struct litmus_geometry *ret);

/* ---- Schedules (search.c) ---------------------------------------------------------------------------------------- */

enum { LITMUS_STEPS = 512 };

/* A depth-first search by replay; flat, so that it can lie in memory shared with a child process. */
struct litmus_search {
	struct nvw_random random;
	uint64_t budget, done; /* executions */
	bool is_random;        /* sample instead of going on in order: for the second half of the budget */
	bool is_complete;      /* there is no other schedule */
	uint16_t at, length;
	uint8_t choice[LITMUS_STEPS], count[LITMUS_STEPS];
	uint16_t turns;
	int8_t turn[LITMUS_STEPS]; /* which thread went, for the witness; -1: an idle work-item */
};
void litmus_search_start(struct litmus_search *search, uint64_t budget, uint64_t seed);
/* The next of count choices of this execution. */
unsigned litmus_search_choose(struct litmus_search *search, unsigned count);
/* Begins an execution. */
void litmus_search_begin(struct litmus_search *search);
/* Goes on to the next schedule; false if that was the last one, or the budget is used up. */
bool litmus_search_next(struct litmus_search *search);
/* "P0 P1 P1": the turns of the latest execution. */
void litmus_search_text(const struct litmus_search *search, char *text, size_t room);

/* ---- Executions (kernel.c) ----------------------------------------------------------------------------------------- */

/* What a work-item does when it next goes: something that nobody else notices, an operation of the test, nothing before
 * others have come to its barrier, nothing any more. */
enum litmus_next { LITMUS_NEXT_ALONE, LITMUS_NEXT_SHARED, LITMUS_NEXT_WAITS, LITMUS_NEXT_NOTHING };

/* What a work-item does, step by step: an operation of its thread, or a load or store to bring lines in and out. */
struct litmus_step {
	const struct litmus_op *op; /* NULL: */
	uint64_t *at;
	bool is_store;
};

enum {
	LITMUS_ITEMS = LITMUS_THREADS * LITMUS_THREADS,
	LITMUS_SCRIPT = 3 * LITMUS_OPS + LITMUS_VARIABLES + 1
};

/* One execution: what the kernel is given, and what it leaves. */
struct litmus_execution {
	const struct litmus_test *test;
	struct litmus_geometry geometry;
	struct litmus_situation situation;
	uint64_t *variable[LITMUS_VARIABLES], *fence,
		*others;              /* device memory; others: lines of nobody else */
	bool barriers_stall;          /* of the persistency implementation */
	struct litmus_search *search; /* NULL: time orders */
	struct {
		struct litmus_step step[LITMUS_SCRIPT];
		unsigned count;
	} script[LITMUS_ITEMS];
	enum litmus_next next[LITMUS_ITEMS]; /* kept up to date by the kernel */
	unsigned arrived[LITMUS_THREADS][2],
		arrived_kernel; /* at barriers and persist barriers of a group, of the kernel */
	struct litmus_state state;
};

enum { LITMUS_OTHER_LINES = 4 }; /* of each work-item */

/* Lays out the variables in the new machine's DRAM and in its pool, sets initial values, writes the scripts. */
NVW_CHECKED int litmus_execution_prepare(struct litmus_execution *x, struct nvw_machine *machine);
/* Runs the kernel under the search's schedule. NVW_E_DEADLOCK is an outcome like others. */
NVW_CHECKED int litmus_execution_run(struct litmus_execution *x, struct nvw_machine *machine);
/* Final registers and memory into x->state. */
NVW_CHECKED int litmus_execution_read(struct litmus_execution *x, struct nvw_machine *machine);

/* Where variable v lies in the range of DRAM or NVRAM that the test has. */
unsigned litmus_variable_offset(const struct litmus_situation *situation, unsigned v);
/* The line of kernel.c that has the persist barrier, for those who narrow it. */
extern const unsigned litmus_persist_barrier_line;

/* ---- Reports (report.c) -------------------------------------------------------------------------------------------------- */

void litmus_report_begin(struct litmus_report *report, const struct litmus_test *test, const char *protocol);
void litmus_report_witness(struct litmus_report *report, const struct litmus_situation *situation,
	const struct litmus_search *search);
/* Counts a final state. */
void litmus_report_count(struct litmus_report *report, const struct litmus_state *state);
/* By text, for the caller's eyes. */
void litmus_report_sort(struct litmus_report *report);

#endif
