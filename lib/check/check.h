/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The input and output of a check: the acknowledgements of a run, and the violations found in a pool
 * (nvw/workload.h has the workload's side of both).
 */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include <nvw/workload.h>

/*
 * Acknowledged operations: one bit per operation, in a bitmap that grows with the numbers. Adding is O(1) per
 * operation, so a pass over a log can keep the set up to date. Initialise to zero.
 */
struct nvw_acks {
	uint64_t *bits;
	uint64_t words; /* of bits */
	uint64_t count; /* different operations acknowledged */
	uint64_t hash;  /* of the set */
	/* Operations of a program that have begun (nvw/ack.h), whether acknowledged or not; a bit each. */
	uint64_t *begun;
	uint64_t begun_words;
	/* Told of every operation that nvw_acked() is asked for, and of NVW__ACKS_ALL by nvw_acked_count(),
	 * and of what the set says; answers nvw_acked() instead of it. NULL: nobody. */
	bool (*asked)(void *asker, uint64_t op, bool acked);
	void *asker;
};
#define NVW__ACKS_ALL UINT64_MAX

enum { NVW__ACKS_MAX = 1 << 30 }; /* operation numbers are below this */

/* Operations first to first + count - 1 have been acknowledged; repetition is allowed. NVW_E_KERNEL for a
 * number beyond NVW__ACKS_MAX, NVW_E_MEMORY; on an error nothing was added. */
NVW_CHECKED int nvw__acks_add(struct nvw_acks *acks, uint64_t first, uint64_t count);
/* Removes operations that were added; and adds them again. */
void nvw__acks_drop(struct nvw_acks *acks, uint64_t first, uint64_t count);
void nvw__acks_restore(struct nvw_acks *acks, uint64_t first, uint64_t count);
/* Removes all operations; keeps the memory. */
void nvw__acks_clear(struct nvw_acks *acks);
/* The operation has begun. Errors as of nvw__acks_add(). */
NVW_CHECKED int nvw__acks_begin(struct nvw_acks *acks, uint64_t op);
/* It has begun, and is not acknowledged. */
bool nvw__acks_in_flight(const struct nvw_acks *acks, uint64_t op);
void nvw__acks_free(struct nvw_acks *acks);

/* Violations found by one check. The first NVW__FINDINGS_MAX are kept, all are counted. Initialise to
 * zero. */
enum { NVW__FINDINGS_MAX = 16, NVW__FINDING_TEXT = 240 };

struct nvw__finding {
	nvw_off off; /* 0: none */
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
