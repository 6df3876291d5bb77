/* SPDX-License-Identifier: BSD-3-Clause */
/* Common code of the DeNovo protocols (denovo.h): the lines, the instructions without scopes, the
 * invariants. */
#include "denovo.h"

#include "core/each.h"

enum { I, V, D, R };

const char *const coh_denovo_states[] = {"I", "V", "D", "R"};

/* clang-format off */
const struct coh_cell coh_denovo_l1[COH_DENOVO_STATES][COH_L1_EVENT_COUNT] = {
	/*               I             V             D                           R */
	L1_4(LOAD_HIT,   NEVER,        GO(V),        GO(D),                      GO(R)),
	L1_4(LOAD_MISS,  GO(V, fetch), GO(V, fetch), GO(D, fetch),               GO(R, fetch)),
	L1_4(STORE,      GO(D, note_dirty), GO(D, note_dirty), GO(D),            GO(D, note_dirty)),
	L1_4(FLUSH,      GO(I),        GO(V),        GO(R, take),                GO(R)),
	L1_4(PERSIST,    GO(I),        GO(V),        GO(R, take, write_through), GO(R, write_through)),
	L1_4(INVALIDATE, GO(I),        GO(V, drop_unregistered), GO(D, drop_unregistered),
	                 GO(R, drop_unregistered)),
	L1_4(EVICT,      GO(I, drop),  GO(I, drop),  GO(I, write_back, drop),    GO(I, write_back, drop)),
	L1_4(RECALL,     NEVER,        NEVER,        GO(D, yield),               GO(R, yield)),
	L1_4(STORE_OWN,  NEVER,        NEVER,        GO(D),                      GO(R)),
	L1_4(REGISTER,   GO(R, take),  GO(R, take),  GO(D, take),                GO(R, take)),
	L1_4(REVOKE,     NEVER,        NEVER,        GO(D, yield),               GO(R, yield)),
};
/* clang-format on */

/* Registration does not change the L2's data of a line. */
/* clang-format off */
const struct coh_cell coh_denovo_l2[COH_DENOVO_STATES][COH_L2_EVENT_COUNT] = {
	/*              I                  V                  D                  R */
	L2_4(READ_HIT,  NEVER,             GO(V),             GO(D),             NEVER),
	L2_4(READ_MISS, GO(V, fetch),      GO(V, fetch),      GO(D, fetch),      NEVER),
	L2_4(WRITE,     GO(D, note_dirty), GO(D, note_dirty), GO(D),             NEVER),
	L2_4(FLUSH,     GO(I),             GO(V),             GO(V, write_back), NEVER),
	L2_4(EVICT,     GO(I, recall, write_back, drop), GO(I, recall, write_back, drop),
	                GO(I, recall, write_back, drop),                         NEVER),
	L2_4(REGISTER,  GO(I),             GO(V),             GO(D),             NEVER),
	L2_4(RETURN,    GO(D, note_dirty), GO(D, note_dirty), GO(D),             NEVER),
};
/* clang-format on */

/* Dirty unregistered bytes wait in state D; the L2's dirty bytes are in its state D. */
const char *coh_denovo_broken_invariant(const struct nvw_machine *m, emu_line_id id)
{
	const struct emu_line *const below = coh_l2_line(m, id);

	EMU_EACH_CU(cu, m) {
		const struct emu_line *const line = coh_l1_line(cu, id);

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
