/* SPDX-License-Identifier: BSD-3-Clause */
/* Checked reading of the metadata. See view.h. */
#include "view.h"

#include <inttypes.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "pool/header.h"

int rec_damage(const struct nvw_pool *pool, nvw_off off, const char *found, const char *expected)
{
	return nvw_fail(NVW_E_DAMAGED, "%s: offset 0x%" PRIx64 ": found %s (0x%016" PRIx64 "), expected %s",
		nvw_pool_path(pool), off, found, nvw_pool_word(pool, off), expected);
}

static int unseal(const struct nvw_pool *pool, nvw_off off, const char *expected, uint64_t *ret_payload)
{
	if (nvw_unseal(off, nvw_pool_word(pool, off), ret_payload)) {
		return 0;
	}
	return rec_damage(pool, off, "a broken seal", expected);
}

static bool is_est(uint64_t payload)
{
	const bool never = nvw__est_state(payload) == NVW__EST_NEVER;

	return nvw__est_state(payload) < NVW__EST_STATES && nvw__est_epoch(payload) <= NVW__EPOCH_MAX &&
	       never == (nvw__est_epoch(payload) == 0);
}

int rec_est(const struct nvw_pool *pool, uint32_t stream, uint64_t *ret_payload)
{
	NVW_INVARIANT(stream < nvw_pool_geometry(pool)->streams);

	const nvw_off off = nvw__est_off(nvw_pool_geometry(pool), stream);

	NVW_TRY(unseal(pool, off, "a word of the epoch status table", ret_payload));
	if (is_est(*ret_payload)) {
		return 0;
	}
	return rec_damage(
		pool, off, "an impossible state", "an epoch that never began, completed or was rolled back");
}

/* A chunk with so many up to the end of the heap, itself included. */
static bool is_chunk(uint64_t payload, uint64_t most)
{
	const uint64_t value = nvw__chunk_value(payload);

	switch (nvw__chunk_kind(payload)) {
	case NVW__CHUNK_FREE:
		return value == 0;
	case NVW__CHUNK_CLASS:
		return value < NVW_HEAP_CLASSES;
	case NVW__CHUNK_EXTENT:
		return value > 0 && value <= most;
	default:
		return false;
	}
}

int rec_chunk(const struct nvw_pool *pool, uint64_t chunk, uint64_t *ret_payload)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	const nvw_off off = nvw__chunk_word_off(g, chunk);

	NVW_INVARIANT(chunk < g->chunk_count);
	NVW_TRY(unseal(pool, off, "a word of the chunk table", ret_payload));
	if (is_chunk(*ret_payload, g->chunk_count - chunk)) {
		return 0;
	}
	return rec_damage(pool, off, "an impossible chunk",
		"a free one, one of a size class or an extent within the heap");
}

static int block_without_epoch(const struct nvw_pool *pool, nvw_off off, uint64_t payload)
{
	if (nvw__block_stream(payload) || nvw__block_epoch(payload)) {
		return rec_damage(
			pool, off, "a block word with a stray epoch", "a free or an allocated block");
	}
	return 0;
}

static int block_of_epoch(
	const struct nvw_pool *pool, nvw_off off, uint64_t payload, enum nvw__outcome *ret_outcome)
{
	uint64_t est;

	if (nvw__block_stream(payload) >= nvw_pool_geometry(pool)->streams || !nvw__block_epoch(payload)) {
		return rec_damage(
			pool, off, "a block of a stream or epoch that does not exist", "a block word");
	}
	if (nvw__is_recovered(pool)) {
		return 0; /* the others are settled */
	}
	NVW_TRY(rec_est(pool, nvw__block_stream(payload), &est));
	*ret_outcome = nvw__outcome_of(est, nvw__block_epoch(payload));
	if (*ret_outcome == NVW__IMPOSSIBLE) {
		return rec_damage(pool, off, "a block of an epoch that cannot have begun",
			"one up to the stream's open epoch");
	}
	return 0;
}

int rec_block(const struct nvw_pool *pool, nvw_off off, uint64_t *ret_payload, enum nvw__outcome *ret_outcome)
{
	*ret_outcome = NVW__COMPLETED;
	NVW_TRY(unseal(pool, off, "a block word", ret_payload));
	switch (nvw__block_kind(*ret_payload)) {
	case NVW__BLOCK_FREE:
	case NVW__BLOCK_ALLOCATED:
		return block_without_epoch(pool, off, *ret_payload);
	default:
		return block_of_epoch(pool, off, *ret_payload, ret_outcome);
	}
}

/* ---- Walks ----------------------------------------------------------------------------------- */

uint32_t rec_next_stream(const struct nvw_pool *pool, uint32_t stream, struct rec_streams *walk)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	const nvw_off est = nvw__written_from(pool, nvw__est_off(g, stream), &walk->est),
		      log = nvw__written_from(pool, nvw__entry_off(g, stream, 0), &walk->log);

	return (uint32_t)nvw_min(g->streams,
		nvw_min((est - g->est) / 8, (log - g->log) / ((uint64_t)g->log_entries * NVW__ENTRY_BYTES)));
}

uint32_t rec_next_entry(const struct nvw_pool *pool, uint32_t stream, uint32_t entry,
	struct nvw__written *walk, uint32_t *ret_end)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	const nvw_off log = nvw__entry_off(g, stream, 0);

	NVW_DEEP_INVARIANT(stream < g->streams && entry <= g->log_entries);
	const nvw_off off = nvw__written_from(pool, nvw__entry_off(g, stream, entry), walk);

	*ret_end = (uint32_t)nvw_min(g->log_entries, (walk->to - log) / NVW__ENTRY_BYTES);
	return (uint32_t)nvw_min(g->log_entries, (off - log) / NVW__ENTRY_BYTES);
}

uint64_t rec_next_chunk(const struct nvw_pool *pool, uint64_t chunk, struct nvw__written *walk)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	const nvw_off off = nvw__written_from(pool, nvw__chunk_word_off(g, chunk), walk);

	return nvw_min(g->chunk_count, (off - g->chunk_table) / 8);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* The chunks of an extent behind its first are marked free. */
static int check_extent(const struct nvw_pool *pool, uint64_t first, uint64_t chunks,
	struct nvw__written *walk, uint64_t *words_read)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	uint64_t payload;

	for (uint64_t i = rec_next_chunk(pool, first + 1, walk); i < first + chunks;
		i = rec_next_chunk(pool, i + 1, walk)) {
		const nvw_off off = nvw__chunk_word_off(g, i);
		const uint64_t word = nvw_pool_word(pool, off);

		++*words_read;
		if (word != 0 && (!nvw_unseal(off, word, &payload) || payload != 0)) {
			return rec_damage(
				pool, off, "a chunk in the middle of an extent", "one that is marked free");
		}
	}
	return 0;
}

/* The block words of a chunk at off. */
static int each_block_of(
	const struct nvw_pool *pool, nvw_off off, unsigned class, rec_block_visitor *visit, void *context)
{
	const uint64_t *const words = nvw_pool_at(pool, off, 8 * (uint64_t)nvw__class_blocks[class]);

	for (uint32_t i = 0; i < nvw__class_blocks[class]; i++) {
		const nvw_off word_off = off + 8 * (uint64_t)i;
		enum nvw__outcome outcome;
		uint64_t block;

		if (words[i]) {
			NVW_TRY(rec_block(pool, word_off, &block, &outcome));
			NVW_TRY(visit(context, word_off, block, outcome, nvw__block_off(off, class, i),
				nvw__class_block_bytes(class)));
		}
	}
	return 0;
}

int rec_each_block(const struct nvw_pool *pool, uint64_t *words_read, rec_block_visitor *visit, void *context)
{
	struct nvw__written walk = {0};
	uint64_t payload;

	REC_EACH_CHUNK(chunk, payload, pool, &walk) {
		const nvw_off off = nvw__chunk_off(nvw_pool_geometry(pool), chunk);

		++*words_read;
		NVW_TRY(rec_chunk(pool, chunk, &payload));
		const uint64_t value = nvw__chunk_value(payload);

		if (nvw__chunk_kind(payload) == NVW__CHUNK_EXTENT) {
			NVW_TRY(check_extent(pool, chunk, value, &walk, words_read));
		} else if (nvw__chunk_kind(payload) == NVW__CHUNK_CLASS) {
			*words_read += nvw__class_blocks[value];
			NVW_TRY(each_block_of(pool, off, (unsigned)value, visit, context));
		}
	}
	return 0;
}
