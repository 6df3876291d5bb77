/* SPDX-License-Identifier: BSD-3-Clause */
/* What the check says of steal-log: the statements of parts.c, of a recovered pool (check.c) or word by word
 * (nvw_parts). */
#ifndef WORKLOADS_STEAL_LOG_CHECK_H
#define WORKLOADS_STEAL_LOG_CHECK_H

#include "plan.h"

struct steal_case {
	struct steal_view v;
	const struct steal_plan *plan; /* NULL: structure only */
	const struct nvw_acks *acks;   /* NULL if plan is NULL */
	struct nvw_findings *findings;
	const nvw_off *records; /* the first record of each task, 0: none; NULL: nvw_pool_holders() says it */
};

/* Part 0 is the shape, then come the tasks, then the records of all logs. All but the first are of a
 * structure that is there, and has the plan's shape. */
int steal_check_part(const struct steal_case *c, uint64_t part);

#endif
