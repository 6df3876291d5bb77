/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Skeleton: the smallest protocol that is right, to start the next one from (docs/protocols.md). L1s hold
 * clean bytes alone; whatever changes a line changes it at the L2.
 *
 *	I  not here          V  here, clean          D  at the L2: some bytes dirty
 *
 * Guarantees
 *	(1) There are no scopes: whatever scope an instruction names, it synchronizes all CUs.
 *	(2) A store is at the L2 before the next instruction of its work-item, so a release has nothing to
 *	    wait for.
 *	(3) An acquire invalidates the L1: what others had changed until then is fetched anew.
 *	(4) A release of system scope sends a marker through the S-FIFOs and waits for its acknowledgement:
 *	    what was stored before is in memory.
 *	(5) A read hits whole lines only: beside what was stored at the L2, it fetches the rest of the line.
 *
 * Deviations: it is no paper's. A new protocol says here what its paper leaves open, and what was made of
 * that.
 *
 * It is not in protocols.def; tests bring it along in a list of their own, and demand of it what they demand
 * of all.
 */
#include "protocol/tables.h"

enum { I, V, D, L2_STATES, L1_STATES = D };

static const char *const states[] = {"I", "V", "D"};

/* Stores find no line here: an access at the L2 has taken it out of the L1 (guarantee (1) of protocol.h). */
/* clang-format off */
static const struct coh_cell l1[L1_STATES][COH_L1_EVENT_COUNT] = {
	/*               I             V */
	L1_2(LOAD_HIT,   NEVER,        GO(V)),
	L1_2(LOAD_MISS,  GO(V, fetch), GO(V, fetch)),
	L1_2(INVALIDATE, GO(I),        GO(I, drop_clean)),
	L1_2(EVICT,      GO(I, drop),  GO(I, drop)),
};

static const struct coh_cell l2[L2_STATES][COH_L2_EVENT_COUNT] = {
	/*              I                  V                  D */
	L2_3(READ_HIT,  NEVER,             GO(V),             GO(D)),
	L2_3(READ_MISS, GO(V, fetch),      GO(V, fetch),      GO(D, fetch)),
	L2_3(WRITE,     GO(D, note_dirty), GO(D, note_dirty), GO(D)),
	L2_3(ATOMIC,    GO(D, note_dirty), GO(D, note_dirty), GO(D)),
	L2_3(FLUSH,     GO(I),             GO(V),             GO(V, write_back)),
	L2_3(EVICT,     GO(I, drop),       GO(I, drop),       GO(I, write_back, drop)),
};
/* clang-format on */

#define NO_ACQUIRE (ORDER(RELAXED) | ORDER(RELEASE))
#define AN_ACQUIRE (ORDER(ACQUIRE) | ORDER(ACQ_REL))
#define TO_MEMORY  (SCOPE(SYSTEM) | SCOPE(REMOTE_SYSTEM))

/* clang-format off */
static const struct coh_row rows[] = {
	{ON_ANY_LOAD,      ANY_ORDER,      ALL,       {ld_l1}},
	{ON(STORE),        ANY_ORDER,      ALL,       {st_l2}},
	{ON(ATOMIC_LOAD),  ORDER(ACQ_REL), TO_MEMORY, {mark_sfifos, ld_l2, invalidate_l1}},
	{ON(ATOMIC_STORE), ORDER(RELEASE), TO_MEMORY, {mark_sfifos, st_l2}},
	{ON(ATOMIC_STORE), ORDER(ACQ_REL), TO_MEMORY, {mark_sfifos, st_l2, invalidate_l1}},
	{ON(RMW),          ORDER(RELEASE), TO_MEMORY, {mark_sfifos, rmw_l2}},
	{ON(RMW),          ORDER(ACQ_REL), TO_MEMORY, {mark_sfifos, rmw_l2, invalidate_l1}},
	{ON(ATOMIC_LOAD),  NO_ACQUIRE,     ALL,       {ld_l2}},
	{ON(ATOMIC_LOAD),  AN_ACQUIRE,     ALL,       {ld_l2, invalidate_l1}},
	{ON(ATOMIC_STORE), NO_ACQUIRE,     ALL,       {st_l2}},
	{ON(ATOMIC_STORE), AN_ACQUIRE,     ALL,       {st_l2, invalidate_l1}},
	{ON(RMW),          NO_ACQUIRE,     ALL,       {rmw_l2}},
	{ON(RMW),          AN_ACQUIRE,     ALL,       {rmw_l2, invalidate_l1}},
	{0, 0, 0, {NULL}},
};
/* clang-format on */

/* The classifier (guarantee (5)). A protocol without one hits all bytes that are valid. */
static bool hits(
	const struct nvw_machine *m, const struct emu_cu *cu, const struct emu_line *line, uint64_t bytes)
{
	return line->valid == UINT64_MAX;
}

/* No L1 has a dirty byte; the L2's are valid and in D. */
static const char *broken_invariant(const struct nvw_machine *m, emu_line_id id)
{
	for (unsigned i = 0; i < m->config.cus; i++) {
		const struct emu_line *const line = emu_cache_peek(&m->cus[i].l1, id);

		if (line && line->dirty) {
			return "an L1 has a dirty byte";
		}
	}
	return coh_broken_dirty(m, id, D);
}

const struct coh_protocol coh_skeleton = {
	.name = "skeleton",
	.citation = "docs/protocols.md",
	.summary = "stores and synchronization at the L2, clean L1s that acquires invalidate, no scopes",
	.scopes = EMU_SCOPES_WIDENED,
	.l1_states = states,
	.l2_states = states,
	.l1_state_count = L1_STATES,
	.l2_state_count = L2_STATES,
	.l1 = &l1[0][0],
	.l2 = &l2[0][0],
	.rows = rows,
	.kernel_begin = {invalidate_l1},
	.hits = hits,
	.broken_invariant = broken_invariant,
};
