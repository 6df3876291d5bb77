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

/* The grids, except what the L1 does when the L2 replaces a line, and the L2 then. */
/* clang-format off */
#define GPU_L1 \
	/*               I                  V                  D */ \
	L1_3(LOAD_HIT,   NEVER,             GO(V),             GO(D)), \
	L1_3(LOAD_MISS,  GO(V, fetch),      GO(V, fetch),      GO(D, fetch)), \
	L1_3(STORE,      GO(D, note_dirty), GO(D, note_dirty), GO(D)), \
	L1_3(FLUSH,      GO(I),             GO(V),             GO(V, write_back)), \
	L1_3(PERSIST,    GO(I),             GO(V),             GO(V, write_back)), \
	L1_3(INVALIDATE, GO(I),             GO(I, drop_clean), GO(D, drop_clean)), \
	L1_3(EVICT,      GO(I, drop),       GO(I, drop),       GO(I, write_back, drop))

#define GPU_L2 \
	/*               I                  V                  D */ \
	L2_3(READ_HIT,   NEVER,             GO(V),             GO(D)), \
	L2_3(READ_MISS,  GO(V, fetch),      GO(V, fetch),      GO(D, fetch)), \
	L2_3(WRITE,      GO(D, note_dirty), GO(D, note_dirty), GO(D)), \
	L2_3(ATOMIC,     GO(D, note_dirty), GO(D, note_dirty), GO(D)), \
	L2_3(FLUSH,      GO(I),             GO(V),             GO(V, write_back))

#define GPU_DATA \
	{ON_ANY_LOAD, ANY_ORDER, ALL, {ld_l1}}, \
	{ON(STORE),   ANY_ORDER, ALL, {st_l1}}
/* clang-format on */

/* Synchronization that stays in the L1 of its CU. */
/* clang-format off */
#define GPU_LOCAL(scopes) \
	{ON(ATOMIC_LOAD),  ANY_ORDER, (scopes), {ld_l1}}, \
	{ON(ATOMIC_STORE), ANY_ORDER, (scopes), {st_l1}}, \
	{ON(RMW),          ANY_ORDER, (scopes), {rmw_l1}}
/* clang-format on */

/* Common to all members of the family. */
#define GPU_PROTOCOL                                                                            \
	.l1_states = coh_gpu_states, .l2_states = coh_gpu_states, .l1_state_count = GPU_STATES, \
	.l2_state_count = GPU_STATES, .rows = rows, .kernel_begin = {invalidate_l1},            \
	.kernel_end = {flush_l1}

#endif
