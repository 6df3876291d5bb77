/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing and reading the pool's root words on the host; element i is root word i. And what a check says of
 * roots that lead nowhere. */
#ifndef WORKLOADS_COMMON_ROOTS_H
#define WORKLOADS_COMMON_ROOTS_H

#include <nvw/heap.h>
#include <nvw/host.h>
#include <nvw/workload.h>

/* Root word 0 is written last: a pool without it has no structure. */
NVW_CHECKED int roots_write(
	struct nvw_machine *machine, const struct nvw_pmem *pmem, const uint64_t *words, unsigned count);

NVW_CHECKED int roots_read(
	struct nvw_machine *machine, const struct nvw_pmem *pmem, uint64_t *ret_words, unsigned count);

/* In a check: the roots lead to no sound structure; the message there is by now says why. */
int roots_broken(const struct nvw_pool *pool, struct nvw_findings *findings);

/* In a check in parts: recovery refuses the pool, with the message there is by now, and the first part says
 * so for all. */
int roots_refused(const struct nvw_pool *pool, uint64_t part, struct nvw_findings *findings);

#endif
