/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Directory: the smallest protocol in which writers invalidate, to start the next one of that kind from
 * (docs/protocols.md). The L2 is the directory: it knows which L1s hold a line, and whether one of them may
 * write it.
 *
 *	L1:	I  not here	V  here, others may have it, too	D  here alone; may be written
 *	L2:	I  not here	V  here, clean	D  here, some bytes dirty
 *		O  an L1 may write it; the bytes here may be old
 *
 * Guarantees
 *	(1) Before an L1 writes a line, every other L1 has given it up.
 *	(2) Before an L1 reads a line that another may write, that one has written it back, and may no longer
 *	    write it.
 *	(3) So loads see the latest store, whatever its order and scope: acquires and releases have nothing to
 *	    do.
 *
 * Deviations: it is no paper's. A write fetches its line first and asks for ownership with a second request;
 * the protocols of a paper that do it with one are emu/protocol/tables/rfo.c and mttop_wb.c.
 *
 * It is not in protocols.def; tests bring it along as they do the skeleton.
 */
#include "protocol/tables.h"

enum { I, V, D, O, L2_STATES, L1_STATES = O };

static const char *const states[] = {"I", "V", "D", "O"};

/* clang-format off */
static const struct coh_cell l1[L1_STATES][COH_L1_EVENT_COUNT] = {
	/*                      I             V                  D */
	L1_3(LOAD_HIT,          NEVER,        GO(V),             GO(D)),
	L1_3(LOAD_MISS,         GO(V, fetch), NEVER,             NEVER),
	L1_3(STORE,             GO(D, fetch, own, note_dirty), GO(D, own, note_dirty), GO(D)),
	L1_3(FLUSH,             GO(I),        GO(V),             GO(V, write_back)),
	L1_3(PERSIST,           GO(I),        GO(V),             GO(V, write_back)),
	L1_3(INVALIDATE,        GO(I),        GO(I, drop_clean), GO(D)),
	L1_3(EVICT,             GO(I, drop),  GO(I, drop),       GO(I, write_back, drop)),
	L1_3(RECALL,            GO(I, drop),  GO(I, drop),       GO(I, write_back, drop)),
	L1_3(WRITTEN_ELSEWHERE, GO(I, drop),  GO(I, drop),       GO(I, write_back, drop)),
	L1_3(READ_ELSEWHERE,    GO(I),        GO(V),             GO(V, write_back)),
};

/* A cell that stays in O is in D afterwards if the owner has written its bytes back meanwhile. */
static const struct coh_cell l2[L2_STATES][COH_L2_EVENT_COUNT] = {
	/*              I             V             D                  O */
	L2_4(READ_HIT,  NEVER,        GO(V),        GO(D),             GO(O, downgrade_owner)),
	L2_4(READ_MISS, GO(V, fetch), GO(V, fetch), GO(D, fetch),      GO(O, downgrade_owner, fetch)),
	L2_4(WRITE,     NEVER,        NEVER,        NEVER,             GO(D, note_dirty)),
	L2_4(FLUSH,     GO(I),        GO(V),        GO(V, write_back), GO(O, write_back)),
	L2_4(EVICT,     GO(I, recall, write_back, drop), GO(I, recall, write_back, drop),
	                GO(I, recall, write_back, drop),               GO(I, recall, write_back, drop)),
	L2_4(WANT,      NEVER,        GO(V, invalidate_sharers), GO(D, invalidate_sharers),
	                GO(O, invalidate_sharers)),
	L2_4(OWN,       NEVER,        GO(O),        GO(O),             GO(O)),
};

static const struct coh_row rows[] = {
	{ON_ANY_LOAD | ON(ATOMIC_LOAD), ANY_ORDER, ALL, {ld_l1}},
	{ON(STORE) | ON(ATOMIC_STORE),  ANY_ORDER, ALL, {st_l1}},
	{ON(RMW),                       ANY_ORDER, ALL, {rmw_l1}},
	{0, 0, 0, {NULL}},
};
/* clang-format on */

/* Guarantee (1); inclusion; dirty bytes are where the states say. */
static const char *broken_invariant(const struct nvw_machine *m, emu_line_id id)
{
	const struct emu_line *const below = emu_cache_peek(&m->l2.cache, id);
	unsigned holders = 0, owners = 0;

	if (below && below->dirty && below->state != D && below->state != O) {
		return "a dirty line of the L2 is in neither state D nor O";
	}
	for (unsigned i = 0; i < m->config.cus; i++) {
		const struct emu_line *const line = emu_cache_peek(&m->cus[i].l1, id);

		if (!line || !line->valid) {
			continue;
		}
		if (!below || !(below->sharers[i / 64] >> i % 64 & 1)) {
			return "the L2 does not know a line of an L1 (inclusion)";
		}
		if (line->dirty && (line->state != D || below->state != O)) {
			return "an L1 has written a line that it may not write";
		}
		holders += line->generation == m->cus[i].l1.generation;
		owners += line->state == D;
	}
	return owners && holders > 1 ? "a line that an L1 may write is in another, too" : NULL;
}

const struct coh_protocol coh_directory = {
	.name = "directory",
	.citation = "docs/protocols.md",
	.summary = "writers invalidate, readers downgrade the owner: acquires and releases do nothing, no "
		   "scopes",
	.scopes = EMU_SCOPES_WIDENED,
	.l1_states = states,
	.l2_states = states,
	.l1_state_count = L1_STATES,
	.l2_state_count = L2_STATES,
	.l1 = &l1[0][0],
	.l2 = &l2[0][0],
	.inclusive = true,
	.rows = rows,
	.kernel_begin = {invalidate_l1},
	.kernel_end = {flush_l1},
	.broken_invariant = broken_invariant,
};
