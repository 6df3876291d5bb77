/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GD: conventional GPU coherence under data-race-free consistency (sinclair15 3 and 4, GPU-D).
 *
 *	(1) There are no scopes: every instruction synchronizes all CUs, whatever its scope.
 *	(2) Synchronization is performed at the L2; an acquire invalidates the L1; a release waits until all
 *	    stores of its CU are written through.
 *	(3) So nothing in an L1 is reused across synchronization, even within a work-group (sinclair15 3).
 *
 * Deviation: the paper's L2 is shared with CPU cores; here the host reads memory between kernels.
 */
#include "gpu.h"

static const struct coh_row rows[] = {
	GPU_DATA,
	GPU_GLOBAL(ALL),
	{0, 0, 0, {NULL}},
};

const struct coh_protocol coh_gd = {
	.name = "gd",
	.citation = "sinclair15 3, 4",
	.summary = "GPU coherence, DRF: no scopes, synchronization at the L2, self-invalidation, coalescing "
		   "writethrough",
	.scopes = EMU_SCOPES_WIDENED,
	GPU_PROTOCOL,
	.l1 = coh_gpu_l1[0],
	.l2 = coh_gpu_l2[0],
	.broken_invariant = coh_gpu_broken_invariant,
};
