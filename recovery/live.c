/* SPDX-License-Identifier: BSD-3-Clause */
/* See live.h. */
#include "live.h"

#include "core/invariant.h"
#include "entry.h"
#include "view.h"

struct live {
	const struct nvw_pool *pool;
	int (*visit)(void *context, enum rec_live kind, nvw_off off, uint64_t bytes, bool needed);
	void *context;
};

static int header_pages(const struct live *l)
{
	NVW_TRY(l->visit(l->context, REC_LIVE_HEADER, NVW__HEADER_OFF, NVW__PAGE_BYTES, true));
	return l->visit(l->context, REC_LIVE_HEADER, NVW__COPY_OFF, NVW__PAGE_BYTES, true);
}

static int log_of_stream(const struct live *l, uint32_t stream, struct nvw__written *written)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(l->pool);
	uint64_t est;

	NVW_TRY(rec_est(l->pool, stream, &est));
	REC_EACH_ENTRY(i, l->pool, stream, written) {
		const nvw_off off = nvw__entry_off(g, stream, i);
		const uint64_t *const words = nvw_pool_at(l->pool, off, NVW__ENTRY_BYTES);

		if (!rec_is_unused(words)) {
			NVW_TRY(l->visit(l->context, REC_LIVE_LOG, off, NVW__ENTRY_BYTES,
				!rec_is_settled(words, nvw__est_epoch(est))));
		}
	}
	return 0;
}

static int class_words(const struct live *l, uint64_t chunk, unsigned class)
{
	NVW_INVARIANT(class < NVW_HEAP_CLASSES);

	const nvw_off off = nvw__chunk_off(nvw_pool_geometry(l->pool), chunk);

	return l->visit(l->context, REC_LIVE_HEAP, off, 8 * (uint64_t)nvw__class_blocks[class], true);
}

static int heap(const struct live *l)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(l->pool);
	struct nvw__written written = {0};
	uint64_t payload;

	NVW_TRY(l->visit(l->context, REC_LIVE_HEAP, g->chunk_table, 8 * (uint64_t)g->chunk_count, true));
	REC_EACH_CHUNK(chunk, payload, l->pool, &written) {
		NVW_TRY(rec_chunk(l->pool, chunk, &payload));
		if (nvw__chunk_kind(payload) == NVW__CHUNK_CLASS) {
			NVW_TRY(class_words(l, chunk, (unsigned)nvw__chunk_value(payload)));
		}
	}
	return 0;
}

static int visit_block(void *context, nvw_off block, uint64_t bytes)
{
	const struct live *const l = context;

	return l->visit(l->context, REC_LIVE_DATA, block, bytes, true);
}

int rec_each_live(const struct nvw_pool *pool,
	int (*visit)(void *context, enum rec_live kind, nvw_off off, uint64_t bytes, bool needed),
	void *context)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	struct live l = {pool, visit, context};
	struct rec_streams walk = {.est = {0}};

	NVW_TRY(header_pages(&l));
	REC_EACH_STREAM(stream, pool, &walk) {
		NVW_TRY(log_of_stream(&l, stream, &walk.log));
	}
	NVW_TRY(visit(context, REC_LIVE_EPOCH, g->est, 8 * (uint64_t)g->streams, true));
	NVW_TRY(heap(&l));
	NVW_TRY(visit(context, REC_LIVE_DATA, g->roots, 8 * NVW_POOL_ROOTS, true));
	return nvw_heap_visit(pool, visit_block, &l);
}
