/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DeNovo: reader-initiated invalidation with ownership of what is written (sinclair15 3, alsop16 II.E).
 *
 *	I  not here	V  here, nothing of it registered
 *	D  some bytes stored, not yet registered (perhaps beside registered ones): they wait in the store buffer
 *	R  some bytes registered, none waiting
 *
 * Guarantees
 *	(1) A registered byte is up to date: acquires leave it here, loads and stores of it hit.
 *	(2) A release waits until all that its CU has stored is registered; nothing is written through for it.
 *	(3) Synchronization accesses, loads too, are performed in the L1, after registration (DeNovoSync0).
 *	(4) The L2 has the data of what is not registered, and writes back to memory.
 *
 * The states of single bytes are the masks of struct emu_line; the states here are those of lines. The store buffer is
 * the L1's S-FIFO. Included by the protocols that differ in grain, regions and scopes alone.
 */
#ifndef EMU_PROTOCOL_DENOVO_H
#define EMU_PROTOCOL_DENOVO_H

#include "tables.h"

enum { I, V, D, R, STATES };

static const char *const states[] = {"I", "V", "D", "R"};

/* clang-format off */
static const struct coh_cell l1[STATES][COH_L1_EVENT_COUNT] = {
	[I] = {
		[COH_L1_LOAD_MISS] = GO(V, fetch),	[COH_L1_STORE] = GO(D, note_dirty),
		[COH_L1_FLUSH] = GO(I),			[COH_L1_PERSIST] = GO(I),		[COH_L1_INVALIDATE] = GO(I),
		[COH_L1_EVICT] = GO(I, drop),		[COH_L1_REGISTER] = GO(R, take),
	},
	[V] = {
		[COH_L1_LOAD_HIT] = GO(V),		[COH_L1_LOAD_MISS] = GO(V, fetch),	[COH_L1_STORE] = GO(D, note_dirty),
		[COH_L1_FLUSH] = GO(V),			[COH_L1_PERSIST] = GO(V),		[COH_L1_INVALIDATE] = GO(V, drop_unregistered),
		[COH_L1_EVICT] = GO(I, drop),		[COH_L1_REGISTER] = GO(R, take),
	},
	[D] = {
		[COH_L1_LOAD_HIT] = GO(D),		[COH_L1_LOAD_MISS] = GO(D, fetch),	[COH_L1_STORE] = GO(D),
		[COH_L1_FLUSH] = GO(R, take),		[COH_L1_PERSIST] = GO(R, take, write_through),
		[COH_L1_INVALIDATE] = GO(D, drop_unregistered),
		[COH_L1_EVICT] = GO(I, write_back, drop), [COH_L1_RECALL] = GO(D, yield),
		[COH_L1_STORE_OWN] = GO(D),		[COH_L1_REGISTER] = GO(D, take),	[COH_L1_REVOKE] = GO(D, yield),
	},
	[R] = {
		[COH_L1_LOAD_HIT] = GO(R),		[COH_L1_LOAD_MISS] = GO(R, fetch),	[COH_L1_STORE] = GO(D, note_dirty),
		[COH_L1_FLUSH] = GO(R),			[COH_L1_PERSIST] = GO(R, write_through),
		[COH_L1_INVALIDATE] = GO(R, drop_unregistered),
		[COH_L1_EVICT] = GO(I, write_back, drop), [COH_L1_RECALL] = GO(R, yield),
		[COH_L1_STORE_OWN] = GO(R),		[COH_L1_REGISTER] = GO(R, take),	[COH_L1_REVOKE] = GO(R, yield),
	},
};
/* clang-format on */

/* Registration changes nothing about the data that the L2 has of a line. */
/* clang-format off */
static const struct coh_cell l2[STATES][COH_L2_EVENT_COUNT] = {
	/*	 READ_HIT	READ_MISS	WRITE			ATOMIC		FLUSH			EVICT				REGISTER	RETURN */
	[I] = {NEVER,		GO(V, fetch),	GO(D, note_dirty),	NEVER,		GO(I),			GO(I, recall, write_back, drop), GO(I),		GO(D, note_dirty)},
	[V] = {GO(V),		GO(V, fetch),	GO(D, note_dirty),	NEVER,		GO(V),			GO(I, recall, write_back, drop), GO(V),		GO(D, note_dirty)},
	[D] = {GO(D),		GO(D, fetch),	GO(D),			NEVER,		GO(V, write_back),	GO(I, recall, write_back, drop), GO(D),		GO(D)},
	[R] = {NEVER,		NEVER,		NEVER,			NEVER,		NEVER,			NEVER,				NEVER,		NEVER},
};

#define DENOVO_DATA \
	{ON_ANY_LOAD,		ANY_ORDER,				ALL,		{ld_l1}},			\
	{ON(STORE),		ANY_ORDER,				ALL,		{st_l1}}
/* clang-format on */

/* alsop16 Table 3, DeNovo: the same at every scope of the set. */
/* clang-format off */
#define DENOVO_SYNCHRONIZATION(scopes) \
	{ON(ATOMIC_LOAD),	ORDER(RELAXED) | ORDER(RELEASE),	(scopes) | AT_L1,	{ld_l1}},		\
	{ON(ATOMIC_LOAD),	ORDER(RELAXED) | ORDER(RELEASE),	(scopes) | ELSEWHERE,	{register_l1, ld_l1}},	\
	{ON(ATOMIC_LOAD),	ORDER(ACQUIRE),				(scopes) | AT_L1,	{ld_l1, invalidate_unregistered}}, \
	{ON(ATOMIC_LOAD),	ORDER(ACQUIRE),				(scopes) | ELSEWHERE,	{register_l1, ld_l1, invalidate_unregistered}}, \
	{ON(ATOMIC_LOAD),	ORDER(ACQ_REL),				(scopes) | AT_L1,	{register_stores, ld_l1, invalidate_unregistered}}, \
	{ON(ATOMIC_LOAD),	ORDER(ACQ_REL),				(scopes) | ELSEWHERE,	{register_stores, register_l1, ld_l1, invalidate_unregistered}}, \
	{ON(ATOMIC_STORE),	ORDER(RELAXED) | ORDER(ACQUIRE),	(scopes) | AT_L1,	{st_l1}},		\
	{ON(ATOMIC_STORE),	ORDER(RELAXED) | ORDER(ACQUIRE),	(scopes) | ELSEWHERE,	{register_l1, st_l1}},	\
	{ON(ATOMIC_STORE),	ORDER(RELEASE),				(scopes) | AT_L1,	{register_stores, st_l1}}, \
	{ON(ATOMIC_STORE),	ORDER(RELEASE),				(scopes) | ELSEWHERE,	{register_stores, register_l1, st_l1}}, \
	{ON(ATOMIC_STORE),	ORDER(ACQ_REL),				(scopes) | AT_L1,	{register_stores, st_l1, invalidate_unregistered}}, \
	{ON(ATOMIC_STORE),	ORDER(ACQ_REL),				(scopes) | ELSEWHERE,	{register_stores, register_l1, st_l1, invalidate_unregistered}}, \
	{ON(RMW),		ORDER(RELAXED),				(scopes) | AT_L1,	{rmw_l1}},		\
	{ON(RMW),		ORDER(RELAXED),				(scopes) | ELSEWHERE,	{register_l1, rmw_l1}},	\
	{ON(RMW),		ORDER(ACQUIRE),				(scopes) | AT_L1,	{rmw_l1, invalidate_unregistered}}, \
	{ON(RMW),		ORDER(ACQUIRE),				(scopes) | ELSEWHERE,	{register_l1, rmw_l1, invalidate_unregistered}}, \
	{ON(RMW),		ORDER(RELEASE),				(scopes) | AT_L1,	{register_stores, rmw_l1}}, \
	{ON(RMW),		ORDER(RELEASE),				(scopes) | ELSEWHERE,	{register_stores, register_l1, rmw_l1}}, \
	{ON(RMW),		ORDER(ACQ_REL),				(scopes) | AT_L1,	{register_stores, rmw_l1, invalidate_unregistered}}, \
	{ON(RMW),		ORDER(ACQ_REL),				(scopes) | ELSEWHERE,	{register_stores, register_l1, rmw_l1, invalidate_unregistered}}
/* clang-format on */

/* Dirty bytes that are not registered wait in D; what the L2 has dirty is in its D. */
static const char *broken_invariant(const struct nvw_machine *m, emu_line_id id)
{
	const struct emu_line *const below = emu_cache_peek(&m->l2.cache, id);

	for (unsigned i = 0; i < m->config.cus; i++) {
		const struct emu_line *const line = emu_cache_peek(&m->cus[i].l1, id);

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

/* What every member of the family is. */
#define DENOVO_PROTOCOL                                                                               \
	.l1_states = states, .l2_states = states, .l1_state_count = STATES, .l2_state_count = STATES, \
	.l1 = &l1[0][0], .l2 = &l2[0][0], .rows = rows, .kernel_end = {register_stores},              \
	.broken_invariant = broken_invariant

#endif
