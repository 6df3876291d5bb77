/* SPDX-License-Identifier: BSD-3-Clause */
/* Common code of the conventional GPU protocols (gpu.h): the lines of caches without inclusion, the
 * invariants. */
#include "gpu.h"

const char *const coh_gpu_states[] = {"I", "V", "D"};

const struct coh_cell coh_gpu_l1[GPU_STATES][COH_L1_EVENT_COUNT] = {GPU_L1};
const struct coh_cell coh_gpu_l2[GPU_STATES][COH_L2_EVENT_COUNT] = {
	GPU_L2, L2_3(EVICT, GO(I, drop), GO(I, drop), GO(I, write_back, drop))};

const char *coh_gpu_broken_invariant(const struct nvw_machine *m, emu_line_id id)
{
	return coh_broken_dirty(m, id, D);
}
