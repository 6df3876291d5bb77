/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing and reading the pool's root words on the host; element i is root word i. */
#ifndef WORKLOADS_COMMON_ROOTS_H
#define WORKLOADS_COMMON_ROOTS_H

#include <nvw/heap.h>
#include <nvw/host.h>

/* Root word 0 is written last: a pool without it has no structure. */
NVW_CHECKED int roots_write(
	struct nvw_machine *machine, const struct nvw_pmem *pmem, const uint64_t *words, unsigned count);

NVW_CHECKED int roots_read(
	struct nvw_machine *machine, const struct nvw_pmem *pmem, uint64_t *ret_words, unsigned count);

#endif
