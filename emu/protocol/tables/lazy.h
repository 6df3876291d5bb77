/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lazy release consistency: only atomics are registered, and coherence actions happen when their registration
 * moves from L1 to L1 (alsop16 III).
 *
 *	I  absent	V  present, clean	D  present, some bytes wait to be written through
 *	R  an atomic is registered here
 *
 * Guarantees
 *	(1) An atomic is performed in the L1 that has registered its line. If it is registered already,
 *	    nothing else happens.
 *	(2) The L1 that obtains a registration is invalidated; the one that loses it, to another L1 or by
 *	    replacement at either level, is flushed first (alsop16 III.B).
 *	(3) A line in R holds only its atomics. Data in the same line is loaded and stored at the L2
 *	    (III.C.1); data and registered bytes never share a write.
 *	(4) The L2 writes data through to memory and keeps no copy of it (V.A); it writes returned atomics
 *	    back.
 *
 * Deviations: a relaxed atomic acts like the others (the paper leaves this open, III.C.3). The store buffer
 * is the L1's S-FIFO. The place "beside" is the paper's local L1 for atomics: their bytes come from the L2
 * without further actions.
 */
#ifndef EMU_PROTOCOL_LAZY_H
#define EMU_PROTOCOL_LAZY_H

#include "../tables.h"

enum { COH_LAZY_STATES = 4 };

extern const char *const coh_lazy_states[];
extern const struct coh_cell coh_lazy_l1[][COH_L1_EVENT_COUNT], coh_lazy_l2[][COH_L2_EVENT_COUNT];
const char *coh_lazy_broken_invariant(const struct nvw_machine *m, emu_line_id id);
/* An invalidation is caused by the registration of an atomic. */
uint64_t *coh_lazy_count_invalidation(struct emu_stats *stats);

/* clang-format off */
#define LAZY_DATA \
	{ON_ANY_LOAD, ANY_ORDER, BESIDE, {ld_l2}}, \
	{ON_ANY_LOAD, ANY_ORDER, ALL,    {ld_l1}}, \
	{ON(STORE),   ANY_ORDER, BESIDE, {st_l2}}, \
	{ON(STORE),   ANY_ORDER, ALL,    {st_l1}}
/* clang-format on */

/* alsop16 Table 3, hLRC: the same at every scope of the set. One request registers an atomic held by
 * another L1; the table's "flush remote L1" is that L1's action when the request reaches it: [R][REVOKE]
 * of the grid. */
/* clang-format off */
#define LAZY_SYNCHRONIZATION(scopes) \
	{ON(ATOMIC_LOAD),  ANY_ORDER, (scopes) | LOCAL,             {ld_l1}}, \
	{ON(ATOMIC_LOAD),  ANY_ORDER, (scopes) | AT_L2 | AT_REMOTE, {register_l1, ld_l1, invalidate_l1}}, \
	{ON(ATOMIC_STORE), ANY_ORDER, (scopes) | LOCAL,             {st_l1}}, \
	{ON(ATOMIC_STORE), ANY_ORDER, (scopes) | AT_L2 | AT_REMOTE, {register_l1, st_l1, invalidate_l1}}, \
	{ON(RMW),          ANY_ORDER, (scopes) | LOCAL,             {rmw_l1}}, \
	{ON(RMW),          ANY_ORDER, (scopes) | AT_L2 | AT_REMOTE, {register_l1, rmw_l1, invalidate_l1}}
/* clang-format on */

#define LAZY_PROTOCOL                                                                                  \
	.l1_states = coh_lazy_states, .l2_states = coh_lazy_states, .l1_state_count = COH_LAZY_STATES, \
	.l2_state_count = COH_LAZY_STATES, .l1 = coh_lazy_l1[0], .l2 = coh_lazy_l2[0],                 \
	.registration = &coh_registers_atomics, .registered_last = true, .rows = rows,                 \
	.kernel_begin = {invalidate_l1}, .kernel_end = {flush_l1},                                     \
	.count_invalidation = coh_lazy_count_invalidation, .synchronizes_within_access = true,         \
	.broken_invariant = coh_lazy_broken_invariant

#endif
