/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An ideal machine: memory without caches, work-items that take turns at random after every memory
 * operation, stores that are durable as they become visible (strict persistency). It stands in for emulator,
 * pool and heap, so that a workload's own logic is tested alone: every state that this
 * machine's memory passes through is one that any persistency model permits at a power cut.
 */
#ifndef TESTS_WORKLOADS_IDEAL_H
#define TESTS_WORKLOADS_IDEAL_H

#include <nvw/workload.h>

/* A machine with a zeroed pool of bytes; one at a time. */
struct nvw_machine *ideal_create(uint64_t bytes, uint64_t seed);
void ideal_destroy(void);

/* Called after every change of the pool. */
void ideal_on_store(void (*hook)(void *context), void *context);

/* A copy of the pool as it is now, as a pool of its own; freed with ideal_pool_free. */
struct nvw_pool *ideal_pool_copy(void);
void ideal_pool_free(struct nvw_pool *pool);
uint8_t *ideal_pool_bytes(struct nvw_pool *pool);

/* Operations acknowledged so far, and what checks take to report to. */
const struct nvw_acks *ideal_acks(void);
struct nvw_findings *ideal_findings(void);

/* How many since the last call, and what they say, one after the other. */
unsigned ideal_violations(const char **ret_text);

#endif
