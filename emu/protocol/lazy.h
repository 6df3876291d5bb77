/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lazy release consistency: atomics alone are registered, and coherence actions follow their way from L1 to L1
 * (alsop16 III).
 *
 *	I  not here	V  here, clean	D  here, some bytes wait to be written through	R  an atomic is registered here
 *
 * Guarantees
 *	(1) An atomic is performed in the L1 that has registered its line. Where it is registered already, nothing else happens.
 *	(2) The L1 that obtains a registration is invalidated; the one that loses it, to another L1 or by replacement at either
 *	    level, is flushed first (alsop16 III.B).
 *	(3) A line in R holds its atomics and nothing else. Data beside them are loaded and stored at the L2 (III.C.1); data and
 *	    registered bytes never share a write.
 *	(4) The L2 writes data through to memory and keeps no copy of them (V.A); atomics that come back it writes back.
 *
 * Deviations: a relaxed atomic acts as the others do (the paper leaves them open, III.C.3). The store buffer is the L1's
 * S-FIFO. The place "beside" is the paper's local L1 for atomics: their bytes follow from the L2 without further actions.
 */
#ifndef EMU_PROTOCOL_LAZY_H
#define EMU_PROTOCOL_LAZY_H

#include "tables.h"

enum { I, V, D, R, STATES };

static const char *const states[] = {"I", "V", "D", "R"};

/* clang-format off */
static const struct coh_cell l1[STATES][COH_L1_EVENT_COUNT] = {
	/*	 LOAD_HIT	LOAD_MISS	STORE			FLUSH			PERSIST			INVALIDATE		EVICT					RECALL					STORE_OWN	REGISTER				REVOKE */
	[I] = {NEVER,		GO(V, fetch),	GO(D, note_dirty),	GO(I),			GO(I),			GO(I),			GO(I, drop),				NEVER,					NEVER,		GO(R, take),				NEVER},
	[V] = {GO(V),		GO(V, fetch),	GO(D, note_dirty),	GO(V),			GO(V),			GO(I, drop_clean),	GO(I, drop),				NEVER,					NEVER,		GO(R, drop_clean, take),		NEVER},
	[D] = {GO(D),		GO(D, fetch),	GO(D),			GO(V, write_back),	GO(V, write_back),	GO(D, drop_clean),	GO(I, write_back, drop),		NEVER,					NEVER,		GO(R, write_back, drop_clean, take),	NEVER},
	[R] = {GO(R),		GO(R, take),	GO(R, take),		GO(R),			GO(R, write_through),	GO(R),			GO(I, flush_cache, write_back, drop),	GO(I, flush_cache, yield, drop),	GO(R),		GO(R, take),				GO(I, flush_cache, yield)},
};

static const struct coh_cell l2[STATES][COH_L2_EVENT_COUNT] = {
	/*	 READ_HIT	READ_MISS	WRITE				ATOMIC			FLUSH			EVICT				REGISTER	RETURN */
	[I] = {NEVER,		GO(V, fetch),	GO(I, write_back, drop),	GO(D, note_dirty),	GO(I),			GO(I, drop),			GO(R),		GO(D, note_dirty)},
	[V] = {GO(V),		GO(V, fetch),	GO(I, write_back, drop),	GO(D, note_dirty),	GO(V),			GO(I, drop),			GO(R),		GO(D, note_dirty)},
	[D] = {GO(D),		GO(D, fetch),	GO(I, write_back, drop),	GO(D),			GO(V, write_back),	GO(I, write_back, drop),	GO(R),		GO(D)},
	[R] = {GO(R),		GO(R, fetch),	GO(R, write_back),		GO(R, note_dirty),	GO(R, write_back),	GO(I, recall, write_back, drop), GO(R),		GO(D, note_dirty)},
};

#define LAZY_DATA \
	{ON_ANY_LOAD,		ANY_ORDER,				BESIDE,		{ld_l2}},			\
	{ON_ANY_LOAD,		ANY_ORDER,				ALL,		{ld_l1}},			\
	{ON(STORE),		ANY_ORDER,				BESIDE,		{st_l2}},			\
	{ON(STORE),		ANY_ORDER,				ALL,		{st_l1}}
/* clang-format on */

/* alsop16 Table 3, hLRC: the same at every scope of the set. One request registers an atomic that another L1 has; the
 * table's "flush remote L1" is what that L1 does when the request reaches it: [R][REVOKE] of the grid. */
/* clang-format off */
#define LAZY_SYNCHRONIZATION(scopes) \
	{ON(ATOMIC_LOAD),	ANY_ORDER,	(scopes) | LOCAL,		{ld_l1}},				\
	{ON(ATOMIC_LOAD),	ANY_ORDER,	(scopes) | AT_L2 | AT_REMOTE,	{register_l1, ld_l1, invalidate_l1}},	\
	{ON(ATOMIC_STORE),	ANY_ORDER,	(scopes) | LOCAL,		{st_l1}},				\
	{ON(ATOMIC_STORE),	ANY_ORDER,	(scopes) | AT_L2 | AT_REMOTE,	{register_l1, st_l1, invalidate_l1}},	\
	{ON(RMW),		ANY_ORDER,	(scopes) | LOCAL,		{rmw_l1}},				\
	{ON(RMW),		ANY_ORDER,	(scopes) | AT_L2 | AT_REMOTE,	{register_l1, rmw_l1, invalidate_l1}}
/* clang-format on */

/* A line in R holds registered bytes alone, and no other line holds any; data wait in D. */
static const char *broken_invariant(const struct nvw_machine *m, emu_line_id id)
{
	for (unsigned i = 0; i < m->config.cus; i++) {
		const struct emu_line *const line = emu_cache_peek(&m->cus[i].l1, id);

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

/* It is the registration of an atomic that invalidates. */
static uint64_t *count_invalidation(struct emu_stats *stats)
{
	return &stats->invalidations_atomic_in;
}

#define LAZY_PROTOCOL                                                                                      \
	.l1_states = states, .l2_states = states, .l1_state_count = STATES, .l2_state_count = STATES,      \
	.l1 = &l1[0][0], .l2 = &l2[0][0], .registration = &coh_registers_atomics, .registered_last = true, \
	.rows = rows, .kernel_begin = {invalidate_l1}, .kernel_end = {flush_l1},                           \
	.count_invalidation = count_invalidation, .synchronizes_within_access = true,                      \
	.broken_invariant = broken_invariant

#endif
