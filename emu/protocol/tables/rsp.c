/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RSP: write-through caches with HRF scopes and remote-scope promotion (alsop16 II.D, Table 3; the actions
 * are those of Wickerson et al., which it builds on). Without remote operations it is alsop16's baseline
 * (IV).
 *
 *	(1) Synchronization of work-group scope stays in the L1; of agent scope it is performed at the L2, an
 *	    acquire invalidates the L1, a release first flushes it.
 *	(2) A remote operation does not know which L1 it synchronizes with: it flushes or invalidates all of
 *	    them.
 *	(3) A remote store or read-modify-write locks the read-modify-writes of every CU during the operation.
 *	(4) The L2 writes through to memory; writes of L1s leave no copy in the L2 (alsop16 V.A), writes of
 *	    atomics at the L2 do.
 *
 * Deviations: the store buffer is the L1's S-FIFO, whose entries coalesce. System scope is agent scope: the
 * CPU reads memory, which is written through. "All L1s" includes the local one.
 */
#include "gpu.h"

/* clang-format off */
static const struct coh_cell l2[GPU_STATES][COH_L2_EVENT_COUNT] = {
	/*              I                        V                        D */
	L2_3(READ_HIT,  NEVER,                   GO(V),                   NEVER),
	L2_3(READ_MISS, GO(V, fetch),            GO(V, fetch),            NEVER),
	L2_3(WRITE,     GO(I, write_back, drop), GO(I, write_back, drop), NEVER),
	L2_3(ATOMIC,    GO(V, write_back),       GO(V, write_back),       NEVER),
	L2_3(FLUSH,     GO(I),                   GO(V),                   NEVER),
	L2_3(EVICT,     GO(I, drop),             GO(I, drop),             NEVER),
};

static const struct coh_row rows[] = {
	GPU_DATA,
	GPU_LOCAL(NEAR),
	GPU_GLOBAL(SCOPE(AGENT) | SCOPE(SYSTEM)),
	{ON(ATOMIC_LOAD),  ORDER(RELAXED) | ORDER(RELEASE) | ORDER(ACQUIRE), REMOTE,
	                   {ld_l2, flush_all_l1s, invalidate_l1}},
	{ON(ATOMIC_LOAD),  ORDER(ACQ_REL),                                   REMOTE,
	                   {flush_all_l1s, invalidate_all_l1s, ld_l2, flush_all_l1s, invalidate_l1}},
	{ON(ATOMIC_STORE), ANY_ORDER,                                        REMOTE,
	                   {lock_rmws, flush_all_l1s, invalidate_all_l1s, st_l2,
	                    invalidate_all_l1s, unlock_rmws}},
	{ON(RMW),          ANY_ORDER,                                        REMOTE,
	                   {lock_rmws, flush_all_l1s, invalidate_all_l1s, rmw_l2,
	                    flush_all_l1s, invalidate_all_l1s, unlock_rmws}},
	{0, 0, 0, {NULL}},
};
/* clang-format on */

/* As for the other GPU protocols; in addition, nothing waits in the L2. */
static const char *broken_invariant(const struct nvw_machine *m, emu_line_id id)
{
	const struct emu_line *const below = coh_l2_line(m, id);

	if (below && below->dirty) {
		return "the L2 has not written a byte through";
	}
	return coh_gpu_broken_invariant(m, id);
}

const struct coh_protocol coh_rsp = {
	.name = "rsp",
	.citation = "alsop16 II.D, Table 3",
	.summary = "write-through, HRF scopes and remote-scope promotion by broadcast; alsop16's baseline",
	.scopes = EMU_SCOPES_PROMOTED,
	GPU_PROTOCOL,
	.l1 = coh_gpu_l1[0],
	.l2 = l2[0],
	.broken_invariant = broken_invariant,
};
