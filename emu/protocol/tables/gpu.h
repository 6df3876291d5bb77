/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conventional GPU coherence, its lines and its synchronization (sinclair15 3): no ownership, no
 * invalidations by writers, only valid bits. A store's bytes wait in the L1 until the next release or until
 * the store buffer is full, and are written through to the L2, which all CUs share and which is not
 * inclusive. The store buffer is the L1's S-FIFO: it names lines, so that stores to one line coalesce;
 * l1.sfifo_unit selects whether its entries are counted in lines or words.
 *
 *	I  absent            V  present, clean       D  present, some bytes wait to be written through
 *
 * The protocols of the family differ in their scopes and in their L2.
 */
#ifndef EMU_PROTOCOL_GPU_H
#define EMU_PROTOCOL_GPU_H

#include "../tables.h"

/* The states of its lines, at both levels. */
enum { I, V, D, GPU_STATES };

extern const char *const coh_gpu_states[];
/* For an L2 that is not inclusive. */
extern const struct coh_cell coh_gpu_l1[][COH_L1_EVENT_COUNT], coh_gpu_l2[][COH_L2_EVENT_COUNT];
/* Dirty bytes are valid, and in D, at both levels. */
const char *coh_gpu_broken_invariant(const struct nvw_machine *m, emu_line_id id);

/* The grids, except the L1's actions when the L2 replaces a line, and the L2's actions then. */
/* clang-format off */
#define GPU_L1(recalled_i, recalled_v, recalled_d) { \
	/*	 LOAD_HIT	LOAD_MISS	STORE			FLUSH			PERSIST			INVALIDATE		EVICT				RECALL */ \
	[I] = {NEVER,		GO(V, fetch),	GO(D, note_dirty),	GO(I),			GO(I),			GO(I),			GO(I, drop),			recalled_i}, \
	[V] = {GO(V),		GO(V, fetch),	GO(D, note_dirty),	GO(V),			GO(V),			GO(I, drop_clean),	GO(I, drop),			recalled_v}, \
	[D] = {GO(D),		GO(D, fetch),	GO(D),			GO(V, write_back),	GO(V, write_back),	GO(D, drop_clean),	GO(I, write_back, drop),	recalled_d}, \
}

#define GPU_L2(replaced_i, replaced_v, replaced_d) { \
	/*	 READ_HIT	READ_MISS	WRITE			ATOMIC			FLUSH			EVICT */ \
	[I] = {NEVER,		GO(V, fetch),	GO(D, note_dirty),	GO(D, note_dirty),	GO(I),			replaced_i}, \
	[V] = {GO(V),		GO(V, fetch),	GO(D, note_dirty),	GO(D, note_dirty),	GO(V),			replaced_v}, \
	[D] = {GO(D),		GO(D, fetch),	GO(D),			GO(D),			GO(V, write_back),	replaced_d}, \
}

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

/* Synchronization at the L2: an acquire invalidates the L1, a release first flushes it. */
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

/* Common to all members of the family. */
#define GPU_PROTOCOL                                                                            \
	.l1_states = coh_gpu_states, .l2_states = coh_gpu_states, .l1_state_count = GPU_STATES, \
	.l2_state_count = GPU_STATES, .rows = rows, .kernel_begin = {invalidate_l1},            \
	.kernel_end = {flush_l1}

#endif
