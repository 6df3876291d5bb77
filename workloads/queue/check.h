/* SPDX-License-Identifier: BSD-3-Clause */
/* What the check says of a queue: the statements of parts.c, of a recovered pool (check.c) or word by word
 * (nvw_parts). */
#ifndef WORKLOADS_QUEUE_CHECK_H
#define WORKLOADS_QUEUE_CHECK_H

#include "plan.h"

struct queue_case {
	struct queue_view v;
	const struct queue_plan *plan; /* NULL: structure only */
	const struct nvw_acks *acks;   /* NULL if plan is NULL */
	struct nvw_findings *findings;
	const nvw_off
		*effects; /* the first record of each message, 0: none; NULL: nvw_pool_holders() says it */
};

/* Are words of a record of message ticket, in any ledger? */
bool queue_is_done(const struct queue_case *c, uint64_t ticket);

uint64_t queue_part_count(const struct queue_view *view);
/* Part 0 is the shape. The others are of a structure that is there, and has the plan's shape. */
int queue_check_part(const struct queue_case *c, uint64_t part);

#endif
