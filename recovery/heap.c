/* SPDX-License-Identifier: BSD-3-Clause */
/* Visiting the heap of a recovered pool, and freeing unreachable blocks. See nvw/recovery.h. */
#include "core/invariant.h"
#include "view.h"

static uint64_t extent_bytes(uint64_t payload)
{
	return nvw__chunk_value(payload) * NVW_POOL_CHUNK_BYTES;
}

/* Every allocated block and extent, with its word and the word's payload if it were free. */
struct walk {
	int (*visit)(const struct walk *w, nvw_off word_off, uint64_t free, nvw_off block, uint64_t bytes);
	struct nvw_pool *pool;
	int (*visitor)(void *context, nvw_off block, uint64_t bytes);
	bool (*reachable)(void *context, nvw_off block, uint64_t bytes);
	void *context;
	struct nvw_recovery *report;
};

static int visit_if_allocated(void *context, nvw_off word_off, uint64_t payload, enum nvw__outcome outcome,
	nvw_off block, uint32_t bytes)
{
	const struct walk *const w = context;

	if (rec_is_allocated(payload, outcome)) {
		return w->visit(w, word_off, nvw__block_payload(NVW__BLOCK_FREE, 0, 0), block, bytes);
	}
	return 0;
}

static int each_allocated(const struct nvw_pool *pool, uint64_t *words_read, struct walk *w)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	struct nvw__written written = {0};
	uint64_t payload;

	NVW_TRY(rec_each_block(pool, words_read, visit_if_allocated, w));
	REC_EACH_CHUNK(chunk, payload, pool, &written) {
		NVW_TRY(rec_chunk(pool, chunk, &payload));
		if (nvw__chunk_kind(payload) == NVW__CHUNK_EXTENT) {
			NVW_TRY(w->visit(w, nvw__chunk_word_off(g, chunk),
				nvw__chunk_payload(NVW__CHUNK_FREE, 0), nvw__chunk_off(g, chunk),
				extent_bytes(payload)));
		}
	}
	return 0;
}

static int tell(const struct walk *w, nvw_off word_off, uint64_t free, nvw_off block, uint64_t bytes)
{
	return w->visitor(w->context, block, bytes);
}

int nvw_heap_visit(const struct nvw_pool *pool, int (*visit)(void *context, nvw_off block, uint64_t bytes),
	void *context)
{
	struct walk w = {.visit = tell, .visitor = visit, .context = context};
	uint64_t words_read = 0;

	return each_allocated(pool, &words_read, &w);
}

static bool block_is_allocated(const struct nvw_pool *pool, nvw_off off, unsigned class)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	enum nvw__outcome outcome;
	uint64_t chunk, block;
	uint32_t i;

	return nvw__block_locate(g, off, class, &chunk, &i) &&
	       rec_block(pool, nvw__block_word_off(nvw__chunk_off(g, chunk), i), &block, &outcome) == 0 &&
	       rec_is_allocated(block, outcome);
}

bool nvw_heap_is_allocated(const struct nvw_pool *pool, nvw_off off, uint64_t *ret_bytes)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	const uint64_t chunk = (off - g->chunks) / NVW_POOL_CHUNK_BYTES;
	uint64_t payload;

	if (off < g->chunks || chunk >= g->chunk_count || rec_chunk(pool, chunk, &payload) < 0) {
		return false;
	}
	if (nvw__chunk_kind(payload) == NVW__CHUNK_EXTENT) {
		*ret_bytes = extent_bytes(payload);
		return off == nvw__chunk_off(g, chunk);
	}
	const unsigned class = (unsigned)nvw__chunk_value(payload);

	if (nvw__chunk_kind(payload) != NVW__CHUNK_CLASS) {
		return false;
	}
	*ret_bytes = nvw__class_block_bytes(class);
	return block_is_allocated(pool, off, class);
}

/* ---- Places -------------------------------------------------------------------------------- */

uint64_t nvw_heap_places(const struct nvw_pool_geometry *g, uint64_t bytes)
{
	const unsigned class = nvw__class_of(bytes);

	if (class < NVW_HEAP_CLASSES) {
		return (uint64_t)g->chunk_count * nvw__class_blocks[class];
	}
	return 0;
}

nvw_off nvw_heap_place(const struct nvw_pool_geometry *g, uint64_t bytes, uint64_t number)
{
	NVW_DEEP_INVARIANT(number < nvw_heap_places(g, bytes));

	const unsigned class = nvw__class_of(bytes);
	const uint64_t a_chunk = nvw__class_blocks[class];

	return nvw__block_off(nvw__chunk_off(g, number / a_chunk), class, (uint32_t)(number % a_chunk));
}

uint64_t nvw_heap_place_of(const struct nvw_pool_geometry *g, uint64_t bytes, nvw_off off)
{
	const unsigned class = nvw__class_of(bytes);
	const uint64_t chunk = (off - g->chunks) / NVW_POOL_CHUNK_BYTES,
		       in_chunk = (off - g->chunks) % NVW_POOL_CHUNK_BYTES;

	if (class >= NVW_HEAP_CLASSES || off < g->chunks || chunk >= g->chunk_count ||
		in_chunk < nvw__class_table_bytes(class)) {
		return UINT64_MAX;
	}
	const uint64_t block = (in_chunk - nvw__class_table_bytes(class)) / nvw__class_block_bytes(class);

	if (block < nvw__class_blocks[class]) {
		return chunk * nvw__class_blocks[class] + block;
	}
	return UINT64_MAX;
}

/* ---- Sweep --------------------------------------------------------------------------------- */

static int sweep(const struct walk *w, nvw_off word_off, uint64_t free, nvw_off block, uint64_t bytes)
{
	if (w->reachable(w->context, block, bytes)) {
		return 0;
	}
	w->report->blocks_freed++;
	return nvw_pool_write_word(w->pool, word_off, nvw_seal(word_off, free));
}

int nvw_heap_sweep(struct nvw_pool *pool, bool (*reachable)(void *context, nvw_off block, uint64_t bytes),
	void *context, struct nvw_recovery *report)
{
	const uint64_t before = nvw_pool_words_written(pool);
	struct walk w = {
		.visit = sweep, .pool = pool, .reachable = reachable, .context = context, .report = report};
	const int r = each_allocated(pool, &report->words_read, &w);

	report->words_written += nvw_pool_words_written(pool) - before;
	return r;
}
