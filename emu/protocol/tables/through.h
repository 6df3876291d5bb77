/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Write-through to memory (hechtman14 4.2.3): the lines of an L2, and of an L1, that keep no stored byte
 * back.
 *
 *	I  absent            V  present, clean       D  during a store: its bytes leave at once
 */
#ifndef EMU_PROTOCOL_THROUGH_H
#define EMU_PROTOCOL_THROUGH_H

#include "gpu.h"

extern const struct coh_cell coh_through_l2[][COH_L2_EVENT_COUNT];
/* Nothing waits in any cache, besides what gpu.h asks. */
const char *coh_through_broken_invariant(const struct nvw_machine *m, emu_line_id id);

#define THROUGH_PROTOCOL                                                                        \
	.scopes = EMU_SCOPES_WIDENED, .l1_states = coh_gpu_states, .l2_states = coh_gpu_states, \
	.l1_state_count = GPU_STATES, .l2_state_count = GPU_STATES, .l2 = coh_through_l2[0],    \
	.l3 = COH_L3_PASSES, .rows = rows, .kernel_end = {wait_stores}, .group_barrier = {wait_stores}

#endif
