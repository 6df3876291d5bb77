/* SPDX-License-Identifier: BSD-3-Clause */
/* Checked reading of the metadata. See view.h. */
#include "view.h"

#include <inttypes.h>

#include "pool/header.h"

int rec_damage(const struct nvw_pool *pool, nvw_off off, const char *found, const char *expected)
{
	return nvw_fail(NVW_E_DAMAGED, "%s: offset 0x%" PRIx64 ": found %s (0x%016" PRIx64 "), expected %s",
		nvw_pool_path(pool), off, found, nvw_pool_word(pool, off), expected);
}

int rec_est(const struct nvw_pool *pool, uint32_t stream, uint64_t *ret_payload)
{
	const nvw_off off = nvw__est_off(nvw_pool_geometry(pool), stream);
	uint64_t payload;

	if (!nvw_unseal(off, nvw_pool_word(pool, off), &payload)) {
		return rec_damage(pool, off, "a broken seal", "a word of the epoch status table");
	}
	if (nvw__est_state(payload) >= NVW__EST_STATES ||
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

/* The chunks of an extent behind its first are marked free. */
static int check_extent(const struct nvw_pool *pool, uint64_t first, uint64_t chunks)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	const uint64_t *const words = nvw_pool_at(pool, nvw__chunk_word_off(g, first), 8 * chunks);
	uint64_t payload;

	for (uint64_t i = 1; i < chunks; i++) {
		const nvw_off off = nvw__chunk_word_off(g, first + i);

		if (words[i] != 0 && (!nvw_unseal(off, words[i], &payload) || payload != 0)) {
			return rec_damage(
				pool, off, "a chunk in the middle of an extent", "one that is marked free");
		}
	}
	return 0;
}

int rec_each_block(const struct nvw_pool *pool,
	int (*visit)(void *context, nvw_off word_off, uint64_t payload, enum nvw__outcome outcome,
		nvw_off block, uint32_t bytes),
	void *context)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	uint64_t payload = 0;
	int r = 0;

	for (uint64_t chunk = 0; r == 0 && chunk < g->chunk_count; chunk = rec_chunk_after(chunk, payload)) {
		const nvw_off off = nvw__chunk_off(g, chunk);
		const uint64_t *words;
		unsigned class;

		r = rec_chunk(pool, chunk, &payload);
		if (r == 0 && nvw__chunk_kind(payload) == NVW__CHUNK_EXTENT) {
			r = check_extent(pool, chunk, nvw__chunk_value(payload));
		}
		if (r < 0 || nvw__chunk_kind(payload) != NVW__CHUNK_CLASS) {
			continue;
		}
		class = (unsigned)nvw__chunk_value(payload);
		words = nvw_pool_at(pool, off, 8 * (uint64_t)nvw__class_blocks[class]);
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
	return r;
}
