/* SPDX-License-Identifier: BSD-3-Clause */
/* Checked reading of the metadata. See view.h. */
#include "view.h"

#include <inttypes.h>

#include "core/invariant.h"
#include "pool/header.h"

int rec_damage(const struct nvw_pool *pool, nvw_off off, const char *found, const char *expected)
{
	return nvw_fail(NVW_E_DAMAGED, "%s: offset 0x%" PRIx64 ": found %s (0x%016" PRIx64 "), expected %s",
		nvw_pool_path(pool), off, found, nvw_pool_word(pool, off), expected);
}

int rec_est(const struct nvw_pool *pool, uint32_t stream, uint64_t *ret_payload)
{
	NVW_INVARIANT(stream < nvw_pool_geometry(pool)->streams);

	const nvw_off off = nvw__est_off(nvw_pool_geometry(pool), stream);
	uint64_t payload;

	if (!nvw_unseal(off, nvw_pool_word(pool, off), &payload)) {
		return rec_damage(pool, off, "a broken seal", "a word of the epoch status table");
	}
	if (nvw__est_state(payload) >= NVW__EST_STATES || nvw__est_epoch(payload) > NVW__EPOCH_MAX ||
		(nvw__est_state(payload) == NVW__EST_NEVER) != (nvw__est_epoch(payload) == 0)) {
		return rec_damage(pool, off, "an impossible state",
			"an epoch that never began, completed or was rolled back");
	}
	*ret_payload = payload;
	return 0;
}

int rec_chunk(const struct nvw_pool *pool, uint64_t chunk, uint64_t *ret_payload)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	const nvw_off off = nvw__chunk_word_off(g, chunk);
	uint64_t payload, kind, value;

	NVW_INVARIANT(chunk < g->chunk_count);
	if (!nvw_unseal(off, nvw_pool_word(pool, off), &payload)) {
		return rec_damage(pool, off, "a broken seal", "a word of the chunk table");
	}
	kind = nvw__chunk_kind(payload);
	value = nvw__chunk_value(payload);
	if (kind >= NVW__CHUNK_KINDS || (kind == NVW__CHUNK_FREE && value) ||
		(kind == NVW__CHUNK_CLASS && value >= NVW_HEAP_CLASSES) ||
		(kind == NVW__CHUNK_EXTENT && (!value || value > g->chunk_count - chunk))) {
		return rec_damage(pool, off, "an impossible chunk",
			"a free one, one of a size class or an extent within the heap");
	}
	*ret_payload = payload;
	return 0;
}

int rec_block(const struct nvw_pool *pool, nvw_off off, uint64_t *ret_payload, enum nvw__outcome *ret_outcome)
{
	const uint64_t word = nvw_pool_word(pool, off);
	uint64_t payload, est;
	int r;

	if (!nvw_unseal(off, word, &payload)) {
		return rec_damage(pool, off, "a broken seal", "a block word");
	}
	*ret_payload = payload;
	*ret_outcome = NVW__COMPLETED;
	if (nvw__block_kind(payload) == NVW__BLOCK_FREE || nvw__block_kind(payload) == NVW__BLOCK_ALLOCATED) {
		if (nvw__block_stream(payload) || nvw__block_epoch(payload)) {
			return rec_damage(
				pool, off, "a block word with a stray epoch", "a free or an allocated block");
		}
		return 0;
	}
	if (nvw__block_stream(payload) >= nvw_pool_geometry(pool)->streams || !nvw__block_epoch(payload)) {
		return rec_damage(
			pool, off, "a block of a stream or epoch that does not exist", "a block word");
	}
	if (nvw__is_recovered(pool)) {
		return 0; /* the others are settled */
	}
	r = rec_est(pool, nvw__block_stream(payload), &est);
	if (r < 0) {
		return r;
	}
	*ret_outcome = nvw__outcome_of(est, nvw__block_epoch(payload));
	if (*ret_outcome == NVW__IMPOSSIBLE) {
		return rec_damage(pool, off, "a block of an epoch that cannot have begun",
			"one up to the stream's open epoch");
	}
	return 0;
}

/* ---- Walks ----------------------------------------------------------------------------------- */

static uint64_t min_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint32_t rec_next_stream(const struct nvw_pool *pool, uint32_t stream, struct rec_streams *walk)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	const nvw_off est = nvw__written_from(pool, nvw__est_off(g, stream), &walk->est),
		      log = nvw__written_from(pool, nvw__entry_off(g, stream, 0), &walk->log);

	return (uint32_t)min_of(g->streams,
		min_of((est - g->est) / 8, (log - g->log) / ((uint64_t)g->log_entries * NVW__ENTRY_BYTES)));
}

uint32_t rec_next_entry(const struct nvw_pool *pool, uint32_t stream, uint32_t entry,
	struct nvw__written *walk, uint32_t *ret_end)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	const nvw_off log = nvw__entry_off(g, stream, 0);
	const nvw_off off = nvw__written_from(pool, nvw__entry_off(g, stream, entry), walk);

	*ret_end = (uint32_t)min_of(g->log_entries, (walk->to - log) / NVW__ENTRY_BYTES);
	return (uint32_t)min_of(g->log_entries, (off - log) / NVW__ENTRY_BYTES);
}

uint64_t rec_next_chunk(const struct nvw_pool *pool, uint64_t chunk, struct nvw__written *walk)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	const nvw_off off = nvw__written_from(pool, nvw__chunk_word_off(g, chunk), walk);

	return min_of(g->chunk_count, (off - g->chunk_table) / 8);
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

int rec_each_block(const struct nvw_pool *pool, uint64_t *words_read,
	int (*visit)(void *context, nvw_off word_off, uint64_t payload, enum nvw__outcome outcome,
		nvw_off block, uint32_t bytes),
	void *context)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	struct nvw__written walk = {0};
	uint64_t payload;

	for (uint64_t chunk = rec_next_chunk(pool, 0, &walk); chunk < g->chunk_count;
		chunk = rec_next_chunk(pool, rec_chunk_after(chunk, payload), &walk)) {
		const nvw_off off = nvw__chunk_off(g, chunk);
		const uint64_t *words;
		unsigned class;

		++*words_read;
		NVW_TRY(rec_chunk(pool, chunk, &payload));
		if (nvw__chunk_kind(payload) == NVW__CHUNK_EXTENT) {
			NVW_TRY(check_extent(pool, chunk, nvw__chunk_value(payload), &walk, words_read));
		}
		if (nvw__chunk_kind(payload) != NVW__CHUNK_CLASS) {
			continue;
		}
		class = (unsigned)nvw__chunk_value(payload);
		words = nvw_pool_at(pool, off, 8 * (uint64_t)nvw__class_blocks[class]);
		*words_read += nvw__class_blocks[class];
		for (uint32_t i = 0; i < nvw__class_blocks[class]; i++) {
			enum nvw__outcome outcome;
			uint64_t block;

			if (words[i]) {
				NVW_TRY(rec_block(pool, off + 8 * (uint64_t)i, &block, &outcome));
				NVW_TRY(visit(context, off + 8 * (uint64_t)i, block, outcome,
					nvw__block_off(off, class, i), nvw__class_block_bytes(class)));
			}
		}
	}
	return 0;
}
