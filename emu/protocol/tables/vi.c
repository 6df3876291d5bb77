/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * VI: the baseline of gope18 section 3. Write-combining L1s, one write-back inclusive L2, S-FIFOs at both,
 * HRF scopes: a release of agent scope writes back the lines in the S-FIFO of the L1, an acquire of agent
 * scope invalidates the L1 at once; synchronization of work-group scope stays in the L1, that of system scope
 * continues through the S-FIFO of the L2.
 *
 * The lines are those of the GPU protocols (gpu.h), but the L2 includes the L1s and recalls the lines that it
 * replaces. An L1's line holds the stored bytes, or all bytes after a load. A flush makes a D line V; an
 * invalidation drops the clean bytes of a D line, since others may have changed them.
 */
#include "gpu.h"

/* clang-format off */
#define LEAVES GO(I, recall, write_back, drop)

static const struct coh_cell l1[GPU_STATES][COH_L1_EVENT_COUNT] = {
	GPU_L1,
	L1_3(RECALL, GO(I, drop), GO(I, drop), GO(I, write_back, drop)),
};
static const struct coh_cell l2[GPU_STATES][COH_L2_EVENT_COUNT] = {
	GPU_L2,
	L2_3(EVICT, LEAVES, LEAVES, LEAVES),
};
/* clang-format on */

#define TO_MEMORY (SCOPE(SYSTEM) | SCOPE(REMOTE_SYSTEM))

/* clang-format off */
static const struct coh_row rows[] = {
	GPU_DATA,
	GPU_LOCAL(NEAR),
	{ON(ATOMIC_LOAD),  ORDER(ACQ_REL), TO_MEMORY, {flush_l1, flush_l2, ld_l2, invalidate_l1}},
	{ON(ATOMIC_STORE), ORDER(RELEASE), TO_MEMORY, {flush_l1, flush_l2, st_l2}},
	{ON(ATOMIC_STORE), ORDER(ACQ_REL), TO_MEMORY, {flush_l1, flush_l2, st_l2, invalidate_l1}},
	{ON(RMW),          ORDER(RELEASE), TO_MEMORY, {flush_l1, flush_l2, rmw_l2}},
	{ON(RMW),          ORDER(ACQ_REL), TO_MEMORY, {flush_l1, flush_l2, rmw_l2, invalidate_l1}},
	GPU_GLOBAL(FAR),
	{0, 0, 0, {NULL}},
};
/* clang-format on */

/* Inclusion; dirty lines are in D; dirty bytes are valid. */
static const char *broken_invariant(const struct nvw_machine *m, emu_line_id id)
{
	const struct emu_line *const below = coh_l2_line(m, id);

	EMU_EACH_CU(cu, m) {
		const struct emu_line *const line = coh_l1_line(cu, id);

		if (line && line->valid && !(below && coh_is_sharer(below, cu))) {
			return "the L2 does not know a line of an L1 (inclusion)";
		}
	}
	return coh_gpu_broken_invariant(m, id);
}

const struct coh_protocol coh_vi = {
	.name = "vi",
	.citation = "gope18 3",
	.summary =
		"write-combining L1s with S-FIFOs and self-invalidation, inclusive write-back L2, HRF scopes",
	.scopes = EMU_SCOPES_KEPT,
	GPU_PROTOCOL,
	.l1 = l1[0],
	.l2 = l2[0],
	.inclusive = true,
	.broken_invariant = broken_invariant,
};
