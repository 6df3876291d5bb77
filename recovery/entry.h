/* SPDX-License-Identifier: BSD-3-Clause */
/* One undo log entry: what recovery does with it. */
#ifndef RECOVERY_ENTRY_H
#define RECOVERY_ENTRY_H

#include <nvw/pool.h>

#include "cases.h"
#include "pool/layout.h"

struct rec_entry {
	enum rec_verdict verdict;
	bool of_open_epoch; /* at least one of its words is */
	struct nvw__undo undo;
};

/* Judges the four words of the entry at off; settled is the last settled epoch of its stream. */
struct rec_entry rec_judge(const struct nvw_pool *pool, const uint64_t *words, nvw_off off, uint64_t settled);

static inline bool rec_is_unused(const uint64_t *words)
{
	return !(words[0] | words[1] | words[2] | words[3]);
}

/* All four words name one settled epoch, or none: a damaged byte in such an entry is harmless. */
bool rec_is_settled(const uint64_t *words, uint64_t settled);

/* NVW_E_DAMAGED: the entry at off was judged so. */
int rec_damaged_entry(const struct nvw_pool *pool, nvw_off off);

#endif
