/* SPDX-License-Identifier: BSD-3-Clause */
/* Common code of the lazy protocols (lazy.h): the lines, the invariants, and the counting of
 * invalidations. */
#include "lazy.h"

#include "core/each.h"

enum { I, V, D, R };

const char *const coh_lazy_states[] = {"I", "V", "D", "R"};

/* clang-format off */
const struct coh_cell coh_lazy_l1[COH_LAZY_STATES][COH_L1_EVENT_COUNT] = {
	/*               I                  V                  D                  R */
	L1_4(LOAD_HIT,   NEVER,             GO(V),             GO(D),             GO(R)),
	L1_4(LOAD_MISS,  GO(V, fetch),      GO(V, fetch),      GO(D, fetch),      GO(R, take)),
	L1_4(STORE,      GO(D, note_dirty), GO(D, note_dirty), GO(D),             GO(R, take)),
	L1_4(FLUSH,      GO(I),             GO(V),             GO(V, write_back), GO(R)),
	L1_4(PERSIST,    GO(I),             GO(V),             GO(V, write_back), GO(R, write_through)),
	L1_4(INVALIDATE, GO(I),             GO(I, drop_clean), GO(D, drop_clean), GO(R)),
	L1_4(EVICT,      GO(I, drop),       GO(I, drop),       GO(I, write_back, drop),
	                 GO(I, flush_cache, write_back, drop)),
	L1_4(RECALL,     NEVER,             NEVER,             NEVER,
	                 GO(I, flush_cache, yield, drop)),
	L1_4(STORE_OWN,  NEVER,             NEVER,             NEVER,             GO(R)),
	L1_4(REGISTER,   GO(R, take),       GO(R, drop_clean, take), GO(R, write_back, drop_clean, take),
	                 GO(R, take)),
	L1_4(REVOKE,     NEVER,             NEVER,             NEVER,             GO(I, flush_cache, yield)),
};

const struct coh_cell coh_lazy_l2[COH_LAZY_STATES][COH_L2_EVENT_COUNT] = {
	/*              I                  V                  D                  R */
	L2_4(READ_HIT,  NEVER,             GO(V),             GO(D),             GO(R)),
	L2_4(READ_MISS, GO(V, fetch),      GO(V, fetch),      GO(D, fetch),      GO(R, fetch)),
	L2_4(WRITE,     GO(I, write_back, drop), GO(I, write_back, drop), GO(I, write_back, drop),
	                GO(R, write_back)),
	L2_4(ATOMIC,    GO(D, note_dirty), GO(D, note_dirty), GO(D),             GO(R, note_dirty)),
	L2_4(FLUSH,     GO(I),             GO(V),             GO(V, write_back), GO(R, write_back)),
	L2_4(EVICT,     GO(I, drop),       GO(I, drop),       GO(I, write_back, drop),
	                GO(I, recall, write_back, drop)),
	L2_4(REGISTER,  GO(R),             GO(R),             GO(R),             GO(R)),
	L2_4(RETURN,    GO(D, note_dirty), GO(D, note_dirty), GO(D),             GO(D, note_dirty)),
};
/* clang-format on */

/* A line in R holds only registered bytes, and no other line holds any; data waits in D. */
const char *coh_lazy_broken_invariant(const struct nvw_machine *m, emu_line_id id)
{
	EMU_EACH_CU(cu, m) {
		const struct emu_line *const line = coh_l1_line(cu, id);

		if (!line) {
			continue;
		}
		if (line->registered ? line->state != R || (line->valid & ~line->registered) :
				       line->state == R && line->valid) {
			return "a line in R holds other bytes than registered ones, or registered ones are "
			       "not in R";
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
