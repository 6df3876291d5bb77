/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WT: the realistic write-through GPU memory system, hechtman14's baseline (4.2.1, 4.2.3), and the lines that
 * it shares with no-l1.
 *
 * Guarantees
 *	(1) A store goes through the L1 and the L2 to memory at once, each by itself: nothing is combined.
 *	    Both caches keep its bytes; the L1 allocates a line for them.
 *	(2) A release (StRel, the end of a kernel, a work-group barrier) waits until memory has acknowledged
 *	    all stores of its CU. Acknowledgements come in order, so there are no MSHRs to look through.
 *	(3) An acquire (LdAcq, the beginning of a kernel) invalidates the L1.
 *	(4) Atomics are performed at the L2 and written through from there. There are no scopes.
 *
 * Deviations: the thesis' point of coherence is a directory behind the L2, which CPUs share; here the GPU is
 * alone, and that point is the L2. A wavefront waits until the L2 has accepted its store. A release waits for
 * other wavefronts of its CU, too.
 */
#include "core/each.h"

#include "through.h"

/* clang-format off */
const struct coh_cell coh_through_l2[GPU_STATES][COH_L2_EVENT_COUNT] = {
	/*              I                  V                  D */
	L2_3(READ_HIT,  NEVER,             GO(V),             NEVER),
	L2_3(READ_MISS, GO(V, fetch),      GO(V, fetch),      NEVER),
	L2_3(WRITE,     GO(V, write_back), GO(V, write_back), NEVER),
	L2_3(ATOMIC,    GO(V, write_back), GO(V, write_back), NEVER),
	L2_3(FLUSH,     GO(I),             GO(V),             NEVER),
	L2_3(EVICT,     GO(I, drop),       GO(I, drop),       NEVER),
};

static const struct coh_row rows[] = {
	{ON_ANY_LOAD,      ANY_ORDER,      ALL, {ld_l1}},
	{ON(STORE),        ANY_ORDER,      ALL, {st_l1, send_stores}},
	{ON(ATOMIC_LOAD),  ORDER(RELAXED), ALL, {ld_l2}},
	{ON(ATOMIC_LOAD),  ORDER(ACQUIRE), ALL, {ld_l2, invalidate_l1}},
	{ON(ATOMIC_LOAD),  ORDER(RELEASE), ALL, {wait_stores, ld_l2}},
	{ON(ATOMIC_LOAD),  ORDER(ACQ_REL), ALL, {wait_stores, ld_l2, invalidate_l1}},
	{ON(ATOMIC_STORE), ORDER(RELAXED), ALL, {st_l2}},
	{ON(ATOMIC_STORE), ORDER(ACQUIRE), ALL, {st_l2, invalidate_l1}},
	{ON(ATOMIC_STORE), ORDER(RELEASE), ALL, {wait_stores, st_l2}},
	{ON(ATOMIC_STORE), ORDER(ACQ_REL), ALL, {wait_stores, st_l2, invalidate_l1}},
	{ON(RMW),          ORDER(RELAXED), ALL, {rmw_l2}},
	{ON(RMW),          ORDER(ACQUIRE), ALL, {rmw_l2, invalidate_l1}},
	{ON(RMW),          ORDER(RELEASE), ALL, {wait_stores, rmw_l2}},
	{ON(RMW),          ORDER(ACQ_REL), ALL, {wait_stores, rmw_l2, invalidate_l1}},
	{0, 0, 0, {NULL}},
};
/* clang-format on */

const char *coh_through_broken_invariant(const struct nvw_machine *m, emu_line_id id)
{
	const struct emu_line *const below = coh_l2_line(m, id);

	if (below && below->dirty) {
		return "the L2 has not written a byte through";
	}
	EMU_EACH_CU(cu, m) {
		const struct emu_line *const line = coh_l1_line(cu, id);

		if (line && line->dirty) {
			return "an L1 has not written a byte through";
		}
	}
	return NULL;
}

const struct coh_protocol coh_wt = {
	.name = "wt",
	.citation = "hechtman14 4.2.3",
	.summary = "stores go through L1 and L2 to memory one by one, releases wait for them, acquires "
		   "invalidate the L1; no scopes",
	THROUGH_PROTOCOL,
	.l1 = coh_gpu_l1[0],
	.kernel_begin = {invalidate_l1},
	.broken_invariant = coh_through_broken_invariant,
};
