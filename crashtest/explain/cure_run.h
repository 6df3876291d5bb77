/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program run with its cure: the workload is emulated again with the cure's barriers inserted where the
 * patch has them, or widened, and with a log of its own. A cure is verified only if this run ends, its final
 * state is right, and its crash states hold: the edited log of another run knows neither who waits for whom,
 * nor what the program does then. The run ends early after CT_RUN_FACTOR times the simulated time, or the
 * memory instructions, of the recorded one.
 *
 * Exchanged and atomic stores cannot be run so: a run without them is not exact, and shows only whether the
 * barriers deadlock. What the machine measures comes along: the simulated time that the barriers cost.
 */
#ifndef CRASHTEST_CURE_RUN_H
#define CRASHTEST_CURE_RUN_H

#include "../run.h"

enum { CT_RUN_FACTOR = 20 };

struct ct_cure_run {
	/* CT_CURE_NOT_RUN: none of the edits is a barrier, or the program cannot be run again; CT_CURE_HOLDS:
	 * it ended, in a right state. */
	enum ct_cure_outcome end;
	bool exact;             /* with each edit but assumptions */
	char why[CT_CURE_TEXT]; /* it is refuted */
	int log_fd;             /* of the run; -1: none */
	uint64_t first_record;
	int64_t cost_ps;      /* beyond the recorded run */
	struct ct_edit *rest; /* what was not run: to be applied to its log */
	unsigned rest_count;
};

/*
 * Runs e's workload with edits, and checks the final state. An error only for what is no result: without
 * memory, stopped, a full disk. Freed by ct_cure_run_free().
 */
NVW_CHECKED int ct_cure_run(const struct ct_exploration *e, const struct ct_edit *edits, unsigned count,
	struct ct_cure_run *ret_run);
void ct_cure_run_free(struct ct_cure_run *run);

#endif
