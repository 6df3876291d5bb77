/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a check is given and what it leaves behind: the acknowledgements of a run and the violations found
 * in a pool (nvw/workload.h has the workload's side of both).
 */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include <nvw/workload.h>

/*
 * Acknowledged operations: one bit an operation, grown as numbers come. Adding is O(1) an operation, so a
 * pass over a log carries them along. Zero-initialise.
 */
struct nvw_acks {
	uint64_t *bits;
	uint64_t words; /* of bits */
	uint64_t count; /* different operations acknowledged */
	uint64_t hash;  /* of the set */
};

enum { NVW__ACKS_MAX = 1 << 30 }; /* operation numbers are below it */

/* Operations first to first + count - 1 have been acknowledged; twice is fine. NVW_E_KERNEL for a number
 * that no run of this size has, NVW_E_MEMORY; then nothing was added. */
NVW_CHECKED int nvw__acks_add(struct nvw_acks *acks, uint64_t first, uint64_t count);
/* Operations that were added are not acknowledged any more; and are again. */
void nvw__acks_drop(struct nvw_acks *acks, uint64_t first, uint64_t count);
void nvw__acks_restore(struct nvw_acks *acks, uint64_t first, uint64_t count);
/* No operation is acknowledged any more; keeps the memory. */
void nvw__acks_clear(struct nvw_acks *acks);
void nvw__acks_free(struct nvw_acks *acks);

/* Violations of one check. The first NVW__FINDINGS_MAX are kept, all are counted. Zero-initialise. */
enum { NVW__FINDINGS_MAX = 16, NVW__FINDING_TEXT = 240 };

struct nvw__finding {
	nvw_off off; /* 0: no place */
	char text[NVW__FINDING_TEXT];
};

struct nvw_findings {
	uint64_t count;
	unsigned kept;
	struct nvw__finding finding[NVW__FINDINGS_MAX];
};

static inline void nvw__findings_clear(struct nvw_findings *findings)
{
	findings->count = 0;
	findings->kept = 0;
}

#endif
