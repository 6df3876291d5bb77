/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * VI: the baseline of gope18 section 3. Write-combining L1s, one write-back inclusive L2, S-FIFOs at both,
 * HRF scopes: a release of agent scope writes back what the S-FIFO of the L1 names, an acquire of agent
 * scope invalidates the L1 at once; synchronization of work-group scope stays in the L1, that of system scope
 * goes on through the S-FIFO of the L2.
 *
 *	I  not here          V  here, clean          D  here, some bytes dirty
 *
 * "some bytes": an L1 holds the bytes that were stored, and all bytes after a load. A flush makes a D line
 * V; an invalidation drops the clean bytes of a D line, since others may have changed them.
 */
#include "tables.h"

enum { I, V, D, STATES };

static const char *const states[] = {"I", "V", "D"};

/* clang-format off */
static const struct coh_cell l1[STATES][COH_L1_EVENT_COUNT] = {
	/*	 LOAD_HIT	LOAD_MISS	STORE		FLUSH			PERSIST			INVALIDATE		EVICT				RECALL */
	[I] = {NEVER,		GO(V, fetch),	GO(D, note_dirty), GO(I),		GO(I),			GO(I),			GO(I, drop),			GO(I, drop)},
	[V] = {GO(V),		GO(V, fetch),	GO(D, note_dirty), GO(V),		GO(V),			GO(I, drop_clean),	GO(I, drop),			GO(I, drop)},
	[D] = {GO(D),		GO(D, fetch),	GO(D),		GO(V, write_back),	GO(V, write_back),	GO(D, drop_clean),	GO(I, write_back, drop),	GO(I, write_back, drop)},
};

static const struct coh_cell l2[STATES][COH_L2_EVENT_COUNT] = {
	/*	 READ_HIT	READ_MISS	WRITE			ATOMIC			FLUSH			EVICT */
	[I] = {NEVER,		GO(V, fetch),	GO(D, note_dirty),	GO(D, note_dirty),	GO(I),			GO(I, recall, write_back, drop)},
	[V] = {GO(V),		GO(V, fetch),	GO(D, note_dirty),	GO(D, note_dirty),	GO(V),			GO(I, recall, write_back, drop)},
	[D] = {GO(D),		GO(D, fetch),	GO(D),			GO(D),			GO(V, write_back),	GO(I, recall, write_back, drop)},
};
/* clang-format on */

#define AGENT  (SCOPE(AGENT) | SCOPE(REMOTE_AGENT))
#define SYSTEM (SCOPE(SYSTEM) | SCOPE(REMOTE_SYSTEM))

/* clang-format off */
static const struct coh_row rows[] = {
	{ON_ANY_LOAD,		ANY_ORDER,				ALL,		{ld_l1}},
	{ON(STORE),		ANY_ORDER,				ALL,		{st_l1}},
	{ON(ATOMIC_LOAD),	ANY_ORDER,				NEAR,		{ld_l1}},
	{ON(ATOMIC_STORE),	ANY_ORDER,				NEAR,		{st_l1}},
	{ON(RMW),		ANY_ORDER,				NEAR,		{rmw_l1}},
	{ON(ATOMIC_LOAD),	ORDER(RELAXED) | ORDER(RELEASE),	FAR,		{ld_l2}},
	{ON(ATOMIC_LOAD),	ORDER(ACQUIRE),				FAR,		{ld_l2, invalidate_l1}},
	{ON(ATOMIC_LOAD),	ORDER(ACQ_REL),				AGENT,	{flush_l1, ld_l2, invalidate_l1}},
	{ON(ATOMIC_LOAD),	ORDER(ACQ_REL),				SYSTEM,	{flush_l1, flush_l2, ld_l2, invalidate_l1}},
	{ON(ATOMIC_STORE),	ORDER(RELAXED) | ORDER(ACQUIRE),	FAR,		{st_l2}},
	{ON(ATOMIC_STORE),	ORDER(RELEASE),				AGENT,	{flush_l1, st_l2}},
	{ON(ATOMIC_STORE),	ORDER(RELEASE),				SYSTEM,	{flush_l1, flush_l2, st_l2}},
	{ON(ATOMIC_STORE),	ORDER(ACQ_REL),				AGENT,	{flush_l1, st_l2, invalidate_l1}},
	{ON(ATOMIC_STORE),	ORDER(ACQ_REL),				SYSTEM,	{flush_l1, flush_l2, st_l2, invalidate_l1}},
	{ON(RMW),		ORDER(RELAXED),				FAR,		{rmw_l2}},
	{ON(RMW),		ORDER(ACQUIRE),				FAR,		{rmw_l2, invalidate_l1}},
	{ON(RMW),		ORDER(RELEASE),				AGENT,	{flush_l1, rmw_l2}},
	{ON(RMW),		ORDER(ACQ_REL),				AGENT,	{flush_l1, rmw_l2, invalidate_l1}},
	{ON(RMW),		ORDER(RELEASE),				SYSTEM,	{flush_l1, flush_l2, rmw_l2}},
	{ON(RMW),		ORDER(ACQ_REL),				SYSTEM,	{flush_l1, flush_l2, rmw_l2, invalidate_l1}},
	{0, 0, 0, {NULL}},
};
/* clang-format on */

/* Inclusion; dirty lines are in D; dirty bytes are valid. */
static const char *broken_invariant(const struct nvw_machine *m, emu_line_id id)
{
	const struct emu_line *const below = emu_cache_peek(&m->l2.cache, id);

	for (unsigned i = 0; i < m->config.cus; i++) {
		const struct emu_line *const line = emu_cache_peek(&m->cus[i].l1, id);

		if (line && line->valid && !(below && (below->sharers[i / 64] >> i % 64 & 1))) {
			return "the L2 does not know a line of an L1 (inclusion)";
		}
	}
	return coh_broken_dirty(m, id, D);
}

const struct coh_protocol coh_vi = {
	.name = "vi",
	.citation = "gope18 3",
	.summary =
		"write-combining L1s with S-FIFOs and self-invalidation, inclusive write-back L2, HRF scopes",
	.scopes = EMU_SCOPES_KEPT,
	.l1_states = states,
	.l2_states = states,
	.l1_state_count = STATES,
	.l2_state_count = STATES,
	.l1 = &l1[0][0],
	.l2 = &l2[0][0],
	.inclusive = true,
	.rows = rows,
	.kernel_begin = {invalidate_l1},
	.kernel_end = {flush_l1},
	.broken_invariant = broken_invariant,
};
