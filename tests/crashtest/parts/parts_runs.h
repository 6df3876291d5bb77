/* SPDX-License-Identifier: BSD-3-Clause */
/* Small runs of the shipped structures with parts, and of the tutorial's queue, which is the last. */
#ifndef TESTS_CRASHTEST_PARTS_RUNS_H
#define TESTS_CRASHTEST_PARTS_RUNS_H

#include "parts_rig.h"
#include "../shipped.h"
extern const struct nvw_workload nvw_workload; /* the tutorial's queue */

/* That are looked at, of each run. */
#ifdef __SANITIZE_ADDRESS__
enum { STATES = 3, INSTANTS = 6 };
#else
enum { STATES = 8, INSTANTS = 20 };
#endif
enum { RUNS = 9, TUTORIAL = RUNS - 1 };

extern const struct small runs[RUNS];

/* A run of the first structure with a seeded bug that shows, for planted opposites. */
void rig_with_bug(struct rig *r, const struct small *s, const char *name);

/* A check of parts. */
#define CHECK_PART(name)                                                                                     \
	static int name(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks, uint64_t part, \
		struct nvw_findings *findings)

/* The queue, or another structure, with this check of its parts; the last one is kept. */
const struct nvw_workload *with(const struct nvw_workload *workload,
	int (*check)(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks, uint64_t part,
		struct nvw_findings *findings));

/* A check that says nothing. */
int check_nothing(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks, uint64_t part,
	struct nvw_findings *findings);

#endif
