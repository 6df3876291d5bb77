/* SPDX-License-Identifier: BSD-3-Clause */
/* What the check says of a tiered table: the statements of parts.c, of recovered pools (check.c) or word by
 * word (nvw_parts). */
#ifndef WORKLOADS_TIERED_CHECK_H
#define WORKLOADS_TIERED_CHECK_H

#include "plan.h"

struct tiered_case {
	struct tiered_view v;
	const struct tiered_plan *plan; /* NULL: structure only */
	const struct nvw_acks *acks;    /* NULL if plan is NULL */
	struct nvw_findings *findings;
	bool is_recovered; /* the table has what the logs had; else a part looks through recovery */
};

uint64_t tiered_part_count(const struct tiered_layout *layout);
/* Part 0 is the shape. The others are of a structure that is there, and has the plan's shape. */
int tiered_check_part(const struct tiered_case *c, uint64_t part);

#endif
