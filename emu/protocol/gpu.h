/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conventional GPU coherence, its lines and its synchronization (sinclair15 3): no ownership, no invalidations by writers, valid bits
 * alone. A store's bytes wait in the L1 until the next release or until the store buffer is full, and are written
 * through to the L2, which all CUs share and which includes nothing. The store buffer is the L1's S-FIFO: it names
 * lines, so that stores to one line coalesce; l1.sfifo_unit says whether its entries are counted in lines or words.
 *
 *	I  not here          V  here, clean          D  here, some bytes wait to be written through
 *
 * Included by the protocols that differ in which scopes they know.
 */
#ifndef EMU_PROTOCOL_GPU_H
#define EMU_PROTOCOL_GPU_H

#include "tables.h"

enum { I, V, D, STATES };

static const char *const states[] = {"I", "V", "D"};

/* clang-format off */
static const struct coh_cell l1[STATES][COH_L1_EVENT_COUNT] = {
	/*	 LOAD_HIT	LOAD_MISS	STORE		FLUSH			PERSIST			INVALIDATE		EVICT				RECALL */
	[I] = {NEVER,		GO(V, fetch),	GO(D, note_dirty), GO(I),		GO(I),			GO(I),			GO(I, drop),			NEVER},
	[V] = {GO(V),		GO(V, fetch),	GO(D, note_dirty), GO(V),		GO(V),			GO(I, drop_clean),	GO(I, drop),			NEVER},
	[D] = {GO(D),		GO(D, fetch),	GO(D),		GO(V, write_back),	GO(V, write_back),	GO(D, drop_clean),	GO(I, write_back, drop),	NEVER},
};

static const struct coh_cell l2[STATES][COH_L2_EVENT_COUNT] = {
	/*	 READ_HIT	READ_MISS	WRITE			ATOMIC			FLUSH			EVICT */
	[I] = {NEVER,		GO(V, fetch),	GO(D, note_dirty),	GO(D, note_dirty),	GO(I),			GO(I, drop)},
	[V] = {GO(V),		GO(V, fetch),	GO(D, note_dirty),	GO(D, note_dirty),	GO(V),			GO(I, drop)},
	[D] = {GO(D),		GO(D, fetch),	GO(D),			GO(D),			GO(V, write_back),	GO(I, write_back, drop)},
};

#define GPU_DATA \
	{ON_ANY_LOAD,		ANY_ORDER,				ALL,		{ld_l1}},			\
	{ON(STORE),		ANY_ORDER,				ALL,		{st_l1}}
/* clang-format on */

/* Synchronization that stays in the L1 of its CU. */
/* clang-format off */
#define GPU_LOCAL(scopes) \
	{ON(ATOMIC_LOAD),	ANY_ORDER,				(scopes),	{ld_l1}},			\
	{ON(ATOMIC_STORE),	ANY_ORDER,				(scopes),	{st_l1}},			\
	{ON(RMW),		ANY_ORDER,				(scopes),	{rmw_l1}}
/* clang-format on */

/* Synchronization at the L2: an acquire invalidates the L1, a release flushes it before. */
/* clang-format off */
#define GPU_GLOBAL(scopes) \
	{ON(ATOMIC_LOAD),	ORDER(RELAXED) | ORDER(RELEASE),	(scopes),	{ld_l2}},			\
	{ON(ATOMIC_LOAD),	ORDER(ACQUIRE),				(scopes),	{ld_l2, invalidate_l1}},	\
	{ON(ATOMIC_LOAD),	ORDER(ACQ_REL),				(scopes),	{flush_l1, ld_l2, invalidate_l1}}, \
	{ON(ATOMIC_STORE),	ORDER(RELAXED) | ORDER(ACQUIRE),	(scopes),	{st_l2}},			\
	{ON(ATOMIC_STORE),	ORDER(RELEASE),				(scopes),	{flush_l1, st_l2}},		\
	{ON(ATOMIC_STORE),	ORDER(ACQ_REL),				(scopes),	{flush_l1, st_l2, invalidate_l1}}, \
	{ON(RMW),		ORDER(RELAXED),				(scopes),	{rmw_l2}},			\
	{ON(RMW),		ORDER(ACQUIRE),				(scopes),	{rmw_l2, invalidate_l1}},	\
	{ON(RMW),		ORDER(RELEASE),				(scopes),	{flush_l1, rmw_l2}},		\
	{ON(RMW),		ORDER(ACQ_REL),				(scopes),	{flush_l1, rmw_l2, invalidate_l1}}
/* clang-format on */

/* Dirty bytes are valid, and in D, at both levels. */
static const char *broken_invariant(const struct nvw_machine *m, emu_line_id id)
{
	return coh_broken_dirty(m, id, D);
}

#endif
