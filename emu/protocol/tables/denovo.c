/* SPDX-License-Identifier: BSD-3-Clause */
/* Common code of the DeNovo protocols (denovo.h): the lines, the instructions without scopes, the
 * invariants. */
#include "denovo.h"

#include "core/each.h"

enum { I, V, D, R };

const char *const coh_denovo_states[] = {"I", "V", "D", "R"};

/* clang-format off */
const struct coh_cell coh_denovo_l1[COH_DENOVO_STATES][COH_L1_EVENT_COUNT] = {
	/* LOAD_HIT LOAD_MISS STORE FLUSH PERSIST INVALIDATE EVICT RECALL STORE_OWN REGISTER REVOKE */
	[I] = {NEVER,		GO(V, fetch),	GO(D, note_dirty),	GO(I),		GO(I),				GO(I),				GO(I, drop),			NEVER,		NEVER,		GO(R, take),	NEVER},
	[V] = {GO(V),		GO(V, fetch),	GO(D, note_dirty),	GO(V),		GO(V),				GO(V, drop_unregistered),	GO(I, drop),			NEVER,		NEVER,		GO(R, take),	NEVER},
	[D] = {GO(D),		GO(D, fetch),	GO(D),			GO(R, take),	GO(R, take, write_through),	GO(D, drop_unregistered),	GO(I, write_back, drop),	GO(D, yield),	GO(D),		GO(D, take),	GO(D, yield)},
	[R] = {GO(R),		GO(R, fetch),	GO(D, note_dirty),	GO(R),		GO(R, write_through),		GO(R, drop_unregistered),	GO(I, write_back, drop),	GO(R, yield),	GO(R),		GO(R, take),	GO(R, yield)},
};
/* clang-format on */

/* Registration does not change the L2's data of a line. */
/* clang-format off */
const struct coh_cell coh_denovo_l2[COH_DENOVO_STATES][COH_L2_EVENT_COUNT] = {
	/* READ_HIT READ_MISS WRITE ATOMIC FLUSH EVICT REGISTER RETURN */
	[I] = {NEVER,		GO(V, fetch),	GO(D, note_dirty),	NEVER,		GO(I),			GO(I, recall, write_back, drop), GO(I),		GO(D, note_dirty)},
	[V] = {GO(V),		GO(V, fetch),	GO(D, note_dirty),	NEVER,		GO(V),			GO(I, recall, write_back, drop), GO(V),		GO(D, note_dirty)},
	[D] = {GO(D),		GO(D, fetch),	GO(D),			NEVER,		GO(V, write_back),	GO(I, recall, write_back, drop), GO(D),		GO(D)},
	[R] = {NEVER,		NEVER,		NEVER,			NEVER,		NEVER,			NEVER,				NEVER,		NEVER},
};
/* clang-format on */

/* Dirty unregistered bytes wait in state D; the L2's dirty bytes are in its state D. */
const char *coh_denovo_broken_invariant(const struct nvw_machine *m, emu_line_id id)
{
	const struct emu_line *const below = emu_cache_peek(&m->l2.cache, id);

	NVW_EACH(cu, m->cus, m->config.cus) {
		const struct emu_line *const line = emu_cache_peek(&cu->l1, id);

		if (line && (line->dirty & ~line->registered) && line->state != D) {
			return "stored bytes that are not registered do not wait in state D";
		}
		if (line && line->registered && line->state != D && line->state != R) {
			return "a line with registered bytes is in neither state D nor R";
		}
	}
	if (below && below->dirty && below->state != D) {
		return "a dirty line of the L2 is not in its dirty state";
	}
	return coh_broken_registration(m, id);
}

const struct coh_row coh_denovo_rows[] = {
	DENOVO_DATA,
	DENOVO_SYNCHRONIZATION(ALL),
	{0, 0, 0, {NULL}},
};
