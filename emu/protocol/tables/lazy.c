/* SPDX-License-Identifier: BSD-3-Clause */
/* Common code of the lazy protocols (lazy.h): the lines, the invariants, and the counting of
 * invalidations. */
#include "lazy.h"

#include "core/each.h"

enum { I, V, D, R };

const char *const coh_lazy_states[] = {"I", "V", "D", "R"};

/* clang-format off */
const struct coh_cell coh_lazy_l1[COH_LAZY_STATES][COH_L1_EVENT_COUNT] = {
	/* LOAD_HIT LOAD_MISS STORE FLUSH PERSIST INVALIDATE EVICT RECALL STORE_OWN REGISTER REVOKE */
	[I] = {NEVER,		GO(V, fetch),	GO(D, note_dirty),	GO(I),			GO(I),			GO(I),			GO(I, drop),				NEVER,					NEVER,		GO(R, take),				NEVER},
	[V] = {GO(V),		GO(V, fetch),	GO(D, note_dirty),	GO(V),			GO(V),			GO(I, drop_clean),	GO(I, drop),				NEVER,					NEVER,		GO(R, drop_clean, take),		NEVER},
	[D] = {GO(D),		GO(D, fetch),	GO(D),			GO(V, write_back),	GO(V, write_back),	GO(D, drop_clean),	GO(I, write_back, drop),		NEVER,					NEVER,		GO(R, write_back, drop_clean, take),	NEVER},
	[R] = {GO(R),		GO(R, take),	GO(R, take),		GO(R),			GO(R, write_through),	GO(R),			GO(I, flush_cache, write_back, drop),	GO(I, flush_cache, yield, drop),	GO(R),		GO(R, take),				GO(I, flush_cache, yield)},
};

const struct coh_cell coh_lazy_l2[COH_LAZY_STATES][COH_L2_EVENT_COUNT] = {
	/* READ_HIT READ_MISS WRITE ATOMIC FLUSH EVICT REGISTER RETURN */
	[I] = {NEVER,		GO(V, fetch),	GO(I, write_back, drop),	GO(D, note_dirty),	GO(I),			GO(I, drop),			GO(R),		GO(D, note_dirty)},
	[V] = {GO(V),		GO(V, fetch),	GO(I, write_back, drop),	GO(D, note_dirty),	GO(V),			GO(I, drop),			GO(R),		GO(D, note_dirty)},
	[D] = {GO(D),		GO(D, fetch),	GO(I, write_back, drop),	GO(D),			GO(V, write_back),	GO(I, write_back, drop),	GO(R),		GO(D)},
	[R] = {GO(R),		GO(R, fetch),	GO(R, write_back),		GO(R, note_dirty),	GO(R, write_back),	GO(I, recall, write_back, drop), GO(R),		GO(D, note_dirty)},
};
/* clang-format on */

/* A line in R holds only registered bytes, and no other line holds any; data waits in D. */
const char *coh_lazy_broken_invariant(const struct nvw_machine *m, emu_line_id id)
{
	NVW_EACH(cu, m->cus, m->config.cus) {
		const struct emu_line *const line = emu_cache_peek(&cu->l1, id);

		if (!line) {
			continue;
		}
		if (line->registered ? line->state != R || (line->valid & ~line->registered) :
				       line->state == R && line->valid) {
			return "a line in R holds other bytes than registered ones, or registered ones are not in R";
		}
		if ((line->dirty & ~line->registered) && line->state != D) {
			return "stored bytes do not wait in state D";
		}
	}
	return coh_broken_registration(m, id);
}

uint64_t *coh_lazy_count_invalidation(struct emu_stats *stats)
{
	return &stats->invalidations_atomic_in;
}
