/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GH: conventional GPU coherence under HRF-Indirect consistency (sinclair15 3 and 4, GPU-H).
 *
 *	(1) Synchronization of work-group scope (the paper's local scope) is performed in the L1 that the work-group's
 *	    CU has; it invalidates nothing and waits for nothing.
 *	(2) Synchronization of agent and of system scope (global) is as under GD. CPU and GPU share the L2, so both scopes
 *	    do the same.
 *	(3) HRF-Indirect: what a work-group has learned by local synchronization is passed on by a global release of any
 *	    work-item of its CU, since a release writes through all that the L1 holds.
 *
 * Deviation: as GD.
 */
#include "gpu_lines.h"

static const struct coh_row rows[] = {
	{ON_ANY_LOAD,		ANY_ORDER,				ALL,	{ld_l1}},
	{ON(STORE),		ANY_ORDER,				ALL,	{st_l1}},
	{ON(ATOMIC_LOAD),	ANY_ORDER,				NEAR,	{ld_l1}},
	{ON(ATOMIC_STORE),	ANY_ORDER,				NEAR,	{st_l1}},
	{ON(RMW),		ANY_ORDER,				NEAR,	{rmw_l1}},
	{ON(ATOMIC_LOAD),	ORDER(RELAXED) | ORDER(RELEASE),	FAR,	{ld_l2}},
	{ON(ATOMIC_LOAD),	ORDER(ACQUIRE),				FAR,	{ld_l2, invalidate_l1}},
	{ON(ATOMIC_LOAD),	ORDER(ACQ_REL),				FAR,	{flush_l1, ld_l2, invalidate_l1}},
	{ON(ATOMIC_STORE),	ORDER(RELAXED) | ORDER(ACQUIRE),	FAR,	{st_l2}},
	{ON(ATOMIC_STORE),	ORDER(RELEASE),				FAR,	{flush_l1, st_l2}},
	{ON(ATOMIC_STORE),	ORDER(ACQ_REL),				FAR,	{flush_l1, st_l2, invalidate_l1}},
	{ON(RMW),		ORDER(RELAXED),				FAR,	{rmw_l2}},
	{ON(RMW),		ORDER(ACQUIRE),				FAR,	{rmw_l2, invalidate_l1}},
	{ON(RMW),		ORDER(RELEASE),				FAR,	{flush_l1, rmw_l2}},
	{ON(RMW),		ORDER(ACQ_REL),				FAR,	{flush_l1, rmw_l2, invalidate_l1}},
	{0, 0, 0, {NULL}},
};

const struct coh_protocol coh_gh = {
	.name = "gh",
	.citation = "sinclair15 3, 4",
	.summary = "GPU coherence, HRF-Indirect: as gd, but synchronization of work-group scope stays in the L1",
	.scopes = EMU_SCOPES_KEPT,
	.local_scope = COH_LOCAL_CU,
	.l1_states = states,
	.l2_states = states,
	.l1_state_count = STATES,
	.l2_state_count = STATES,
	.l1 = &l1[0][0],
	.l2 = &l2[0][0],
	.rows = rows,
	.kernel_begin = {invalidate_l1},
	.kernel_end = {flush_l1},
	.broken_invariant = broken_invariant,
};
