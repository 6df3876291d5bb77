/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a pool's metadata, checked: what the files of recovery/ share. */
#ifndef RECOVERY_VIEW_H
#define RECOVERY_VIEW_H

#include <nvw/recovery.h>

#include "pool/layout.h"

/* NVW_E_DAMAGED: what lies at off is none of what was expected there. */
int rec_damage(const struct nvw_pool *pool, nvw_off off, const char *found, const char *expected);

/* The EST payload of a stream; damage if the word is not sealed or says what none may say. */
NVW_CHECKED int rec_est(const struct nvw_pool *pool, uint32_t stream, uint64_t *ret_payload);

/* The chunk's payload; damage likewise. */
NVW_CHECKED int rec_chunk(const struct nvw_pool *pool, uint64_t chunk, uint64_t *ret_payload);

/* The chunk after this one that can be the first of something. */
static inline uint64_t rec_chunk_after(uint64_t chunk, uint64_t payload)
{
	return chunk + (nvw__chunk_kind(payload) == NVW__CHUNK_EXTENT ? nvw__chunk_value(payload) : 1);
}

/* A block word's payload, and what became of the epoch that it names (NVW__COMPLETED if it names none);
 * damage likewise. */
NVW_CHECKED int rec_block(
	const struct nvw_pool *pool, nvw_off word_off, uint64_t *ret_payload, enum nvw__outcome *ret_outcome);

/* Whether a block word says that its block is allocated. */
static inline bool rec_is_allocated(uint64_t payload, enum nvw__outcome outcome)
{
	switch (nvw__block_kind(payload)) {
	case NVW__BLOCK_ALLOCATED:
		return true;
	case NVW__BLOCK_ALLOCATED_BY:
		return outcome == NVW__COMPLETED;
	case NVW__BLOCK_FREED_BY:
		return outcome != NVW__COMPLETED;
	default:
		return false;
	}
}

/* Calls visit for every block word of every class chunk that is not zero; ends with the first that is not 0.
 */
NVW_CHECKED int rec_each_block(const struct nvw_pool *pool,
	int (*visit)(void *context, nvw_off word_off, uint64_t payload, enum nvw__outcome outcome,
		nvw_off block, uint32_t bytes),
	void *context);

#endif
