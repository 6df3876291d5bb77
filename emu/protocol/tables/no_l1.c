/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No L1: coherent accesses pass the L1, as in NVIDIA's Kepler (hechtman14 4.2.1, 4.5.1): what the thesis' run
 * times are relative to.
 *
 * Guarantees
 *	(1) A load reads its bytes at the L2, a store goes to the L2 and to memory at once. The L1 has no
 *	    line afterwards.
 *	(2) A release waits until memory has acknowledged all stores of its CU; an acquire has nothing to do.
 *	(3) Atomics as under wt. There are no scopes.
 *
 * Deviations: those of wt. A load's answer has the bytes that its wavefront wants; the thesis does not say
 * how much is sent.
 */
#include "core/each.h"

#include "through.h"

/* clang-format off */
static const struct coh_cell l1[GPU_STATES][COH_L1_EVENT_COUNT] = {
	/* A line is here while its store passes. */
	[I] = {[COH_L1_STORE] = GO(D, note_dirty)},
	[D] = {[COH_L1_FLUSH] = GO(I, write_back, drop), [COH_L1_PERSIST] = GO(I, write_back, drop)},
};

static const struct coh_row rows[] = {
	{ON_ANY_LOAD,      ANY_ORDER,  ALL, {ld_l2}},
	{ON(STORE),        ANY_ORDER,  ALL, {st_l1, send_stores}},
	{ON(ATOMIC_LOAD),  NO_RELEASE, ALL, {ld_l2}},
	{ON(ATOMIC_LOAD),  A_RELEASE,  ALL, {wait_stores, ld_l2}},
	{ON(ATOMIC_STORE), NO_RELEASE, ALL, {st_l2}},
	{ON(ATOMIC_STORE), A_RELEASE,  ALL, {wait_stores, st_l2}},
	{ON(RMW),          NO_RELEASE, ALL, {rmw_l2}},
	{ON(RMW),          A_RELEASE,  ALL, {wait_stores, rmw_l2}},
	{0, 0, 0, {NULL}},
};
/* clang-format on */

static const char *broken_invariant(const struct nvw_machine *m, emu_line_id id)
{
	EMU_EACH_CU(cu, m) {
		if (coh_l1_line(cu, id)) {
			return "a line has stayed in an L1";
		}
	}
	return coh_through_broken_invariant(m, id);
}

const struct coh_protocol coh_no_l1 = {
	.name = "no-l1",
	.citation = "hechtman14 4.2.1",
	.summary =
		"loads and stores pass the L1, stores go through the L2 to memory, releases wait for them; "
		"no scopes",
	THROUGH_PROTOCOL,
	.l1 = l1[0],
	.broken_invariant = broken_invariant,
};
