/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GH: conventional GPU coherence under HRF-Indirect consistency (sinclair15 3 and 4, GPU-H).
 *
 *	(1) Synchronization of work-group scope (the paper's local scope) is performed in the L1 of the
 *	    work-group's CU; it invalidates nothing and does not wait.
 *	(2) Synchronization of agent and of system scope (global) is as under GD. CPU and GPU share the L2, so
 *	    both scopes do the same.
 *	(3) HRF-Indirect: stores that a work-group has seen by local synchronization are passed on by a global
 *	    release of any work-item of its CU, because a release writes through all dirty data of the L1.
 *
 * Deviation: as GD.
 */
#include "gpu.h"

static const struct coh_row rows[] = {
	GPU_DATA,
	GPU_LOCAL(NEAR),
	GPU_GLOBAL(FAR),
	{0, 0, 0, {NULL}},
};

const struct coh_protocol coh_gh = {
	.name = "gh",
	.citation = "sinclair15 3, 4",
	.summary =
		"GPU coherence, HRF-Indirect: as gd, but synchronization of work-group scope stays in the L1",
	.scopes = EMU_SCOPES_KEPT,
	.local_scope = COH_LOCAL_CU,
	GPU_PROTOCOL,
	.l1 = coh_gpu_l1[0],
	.l2 = coh_gpu_l2[0],
	.broken_invariant = coh_gpu_broken_invariant,
};
