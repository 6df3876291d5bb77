/* SPDX-License-Identifier: BSD-3-Clause */
/* Checked reading of a pool's metadata, shared by the files of recovery/. */
#ifndef RECOVERY_VIEW_H
#define RECOVERY_VIEW_H

#include <nvw/recovery.h>

#include "pool/layout.h"
#include "pool/written.h"

/* NVW_E_DAMAGED: the content at off is not what was expected there. */
int rec_damage(const struct nvw_pool *pool, nvw_off off, const char *found, const char *expected);

/* The EST payload of a stream; damage if the word is not sealed or its value is impossible. */
NVW_CHECKED int rec_est(const struct nvw_pool *pool, uint32_t stream, uint64_t *ret_payload);

/* The payload of a chunk; damage in the same cases. */
NVW_CHECKED int rec_chunk(const struct nvw_pool *pool, uint64_t chunk, uint64_t *ret_payload);

/* A walk through the streams, and one through the chunks. Each begins as zero, and passes over holes of the
 * file. */
struct rec_streams {
	struct nvw__written est, log;
};

/* The first stream from this one on with a word in the epoch status table or the log; the number of streams:
 * none. */
uint32_t rec_next_stream(const struct nvw_pool *pool, uint32_t stream, struct rec_streams *walk);

/* The first entry of the stream from this one on that may have been written; the number of entries: none.
 * *ret_end: with those up to it. */
uint32_t rec_next_entry(const struct nvw_pool *pool, uint32_t stream, uint32_t entry,
	struct nvw__written *walk, uint32_t *ret_end);

/* The first chunk from this one on with a word in the chunk table; the number of chunks: none. */
uint64_t rec_next_chunk(const struct nvw_pool *pool, uint64_t chunk, struct nvw__written *walk);

/* The next chunk that can be the first of a class or extent. */
static inline uint64_t rec_chunk_after(uint64_t chunk, uint64_t payload)
{
	return chunk + (nvw__chunk_kind(payload) == NVW__CHUNK_EXTENT ? nvw__chunk_value(payload) : 1);
}

/* Loops over all of these, past holes of the file, each with a walk of its own. The body of the first sets
 * payload to the chunk's. */
#define REC_EACH_CHUNK(chunk, payload, pool, walk)               \
	for (uint64_t chunk = rec_next_chunk((pool), 0, (walk)); \
		chunk < nvw_pool_geometry(pool)->chunk_count;    \
		chunk = rec_next_chunk((pool), rec_chunk_after(chunk, (payload)), (walk)))
#define REC_EACH_STREAM(stream, pool, walk)                        \
	for (uint32_t stream = rec_next_stream((pool), 0, (walk)); \
		stream < nvw_pool_geometry(pool)->streams;         \
		stream = rec_next_stream((pool), stream + 1, (walk)))
#define REC_EACH_ENTRY(entry, pool, stream, walk)                                       \
	for (uint32_t end_, entry = rec_next_entry((pool), (stream), 0, (walk), &end_); \
		entry < nvw_pool_geometry(pool)->log_entries;                           \
		entry = rec_next_entry((pool), (stream), entry + 1, (walk), &end_))

/* The payload of a block word, and the outcome of its epoch (NVW__COMPLETED if it names none); damage
 * in the same cases. */
NVW_CHECKED int rec_block(
	const struct nvw_pool *pool, nvw_off word_off, uint64_t *ret_payload, enum nvw__outcome *ret_outcome);

/* Whether the block is allocated according to its block word. */
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

/* Whether the block word names an epoch that is rolled back: recovery writes rec_settled() in its place. */
static inline bool rec_is_unsettled(enum nvw__outcome outcome)
{
	return outcome == NVW__OPEN || outcome == NVW__ROLLED_BACK;
}

static inline bool rec_is_freed(uint64_t payload)
{
	return nvw__block_kind(payload) == NVW__BLOCK_FREED_BY;
}

static inline uint64_t rec_settled(nvw_off off, uint64_t payload)
{
	const enum nvw__block_kind kind = rec_is_freed(payload) ? NVW__BLOCK_ALLOCATED : NVW__BLOCK_FREE;

	return nvw_seal(off, nvw__block_payload(kind, 0, 0));
}

typedef int rec_block_visitor(void *context, nvw_off word_off, uint64_t payload, enum nvw__outcome outcome,
	nvw_off block, uint32_t bytes);

/* Calls visit for every non-zero block word of every class chunk; ends at the first visit that does not
 * return 0. Adds to *words_read the words of the chunk table and the block words. */
NVW_CHECKED int rec_each_block(
	const struct nvw_pool *pool, uint64_t *words_read, rec_block_visitor *visit, void *context);

#endif
