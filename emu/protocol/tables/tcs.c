/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCS: temporal coherence, the strong variant, as stc compares itself with it (stc 5.1, 7.5). An L1 keeps a
 * line for the time of a lease; stores wait at the L2 until all leases on their line have ended. So no L1 has
 * old data at any time, and neither acquires nor kernels invalidate.
 *
 *	I  not here	V  here; in an L1 it is hit until its lease ends
 *	L2:		D  some bytes are newer than the memory's
 *
 * Guarantees
 *	(1) Loads see the latest store to their bytes, whatever their order and scope (write atomicity, stc
 *	    7.5).
 *	(2) A store is performed at the L2 when no other L1 has a lease on its line; it is complete when the
 *	    L2 has acknowledged it. Atomics are stores; atomic loads are loads.
 *	(3) A release waits for the acknowledgements of its wavefront's stores, as under stc-*.
 *
 * Deviations: the L2 is inclusive in that it knows the lease of each line in an L1, also of those that it has
 * replaced; it recalls nothing. An MSHR that is missing costs time, and the lease is remembered all the same.
 * stc has no numbers for the prediction: the keys tcs.* are free. stc lacks the case of guarantee (3) of
 * leases.h; without it, each store to a line that its CU has just read would wait. Loads that come while a
 * store waits get no lease, so its wait ends. The clock has no end (32 bits in 7.5), but messages carry 4
 * bytes of it.
 */
#include "../tables.h"

#include "../leases.h"

enum { I, V, L1_STATES, D = COH_LEASES_DIRTY, L2_STATES };

static const char *const states[] = {"I", "V", "D"};

#define lease       coh_line_lease
#define take_lease  coh_line_take_lease
#define keep_lease  coh_line_keep_lease
#define await_lease (&coh_await_lease)

/* clang-format off */
static const struct coh_cell l1[L1_STATES][COH_L1_EVENT_COUNT] = {
	/*              I                         V */
	L1_2(LOAD_HIT,  NEVER,                    GO(V)),
	L1_2(LOAD_MISS, GO(V, fetch, take_lease), GO(V, drop_clean, fetch, take_lease)),
	L1_2(EVICT,     GO(I, drop),              GO(I, drop)),
};

/* No release asks what the L2 has not written back: no line enters its S-FIFO. */
static const struct coh_cell l2[L2_STATES][COH_L2_EVENT_COUNT] = {
	/*              I                    V                        D */
	L2_3(READ_HIT,  NEVER,               GO(V, lease),            GO(D, lease)),
	L2_3(READ_MISS, GO(V, fetch, lease), GO(V, fetch, lease),     GO(D, fetch, lease)),
	L2_3(WRITE,     GO(D),               GO(D),                   GO(D)),
	L2_3(ATOMIC,    GO(D),               GO(D),                   GO(D)),
	L2_3(FLUSH,     GO(I),               GO(V),                   GO(V, write_back)),
	L2_3(EVICT,     GO(I, drop),         GO(I, keep_lease, drop), GO(I, keep_lease, write_back, drop)),
};

static const struct coh_row rows[] = {
	{ON_ANY_LOAD | ON(ATOMIC_LOAD), ANY_ORDER, ALL, {ld_l1}},
	{ON(STORE) | ON(ATOMIC_STORE),  ANY_ORDER, ALL, {await_lease, st_l2}},
	{ON(RMW),                       ANY_ORDER, ALL, {await_lease, rmw_l2}},
	{0, 0, 0, {NULL}},
};
/* clang-format on */

static bool hits(
	const struct nvw_machine *m, const struct emu_cu *cu, const struct emu_line *line, uint64_t bytes)
{
	return (line->valid & bytes) == bytes && (!cu || coh_is_leased(m, line));
}

const struct coh_protocol coh_tcs = {
	.name = "tcs",
	.citation = "stc 7.5",
	.summary =
		"temporal coherence, strong: L1s keep lines for the time of a lease, and stores wait until "
		"it ends",
	.scopes = EMU_SCOPES_WIDENED,
	.l1_states = states,
	.l2_states = states,
	.l1_state_count = L1_STATES,
	.l2_state_count = L2_STATES,
	.l1 = l1[0],
	.l2 = l2[0],
	.rows = rows,
	.leases = true,
	.hits = hits,
	.broken_invariant = coh_leases_broken,
};
