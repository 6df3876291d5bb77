/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle: recovery and check of a workload on a crash state.
 *
 * nested: recovery is stopped before each of its own writes and restarted; the pool must then equal the
 * result of an uninterrupted recovery, byte for byte.
 *
 * On a seeded part of the states it also tests recovery's own guarantees (nvw/recovery.h): run again, it
 * writes nothing; stopped at one of its writes and restarted, it gives a pool that passes the check.
 */
#ifndef CRASHTEST_ORACLE_H
#define CRASHTEST_ORACLE_H

#include "../crash.h"

struct ct_oracle {
	const struct nvw_workload *workload;
	void *plan;
	bool nested;
};

/* Recovers and checks an open pool. Every error becomes a violation. */
int ct_oracle_judge_pool(const struct ct_oracle *oracle, struct nvw_pool *pool, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase);

/* A ct_judge; context is a struct ct_oracle. */
int ct_oracle_judge(void *oracle, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase);

#endif
