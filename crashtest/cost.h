/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a verified cure costs: the workload is run again on the machine with the cure's barriers inserted at their lines, or
 * widened, and the simulated times are compared. A cure with other edits (stores exchanged, atomic stores) is not a
 * matter of barriers: it is not measured. Neither is one whose run fails, or in which no work-item came to its barriers.
 */
#ifndef CRASHTEST_COST_H
#define CRASHTEST_COST_H

#include "run.h"

/* Fills in the costs of the cures of result. run: of the measured run without them. */
NVW_CHECKED int ct_cost(
	const struct ct_bench *bench, const struct ct_run_shared *run, struct ct_result *result);

#endif
