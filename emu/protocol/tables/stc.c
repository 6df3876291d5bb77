/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * STC: turn-based spatiotemporal coherence (stc 2 to 4). Address bands have turns: a band is written in its
 * epochs only, and cached only outside them. So no L1 has old data at any time, and neither acquires nor
 * kernels invalidate.
 *
 *	I  not here	V  here	(L2: D  some bytes are newer than the memory's)
 *
 * Guarantees
 *	(1) Loads see the latest store to their bytes, whatever their order and scope (write atomicity, stc
 *	    3.2).
 *	(2) A store is performed at the L2, in an epoch of its band; it is complete when the L2 has
 *	    acknowledged it. Atomics are stores (4.5); atomic loads are loads (4.7).
 *	(3) A release waits for the acknowledgements of its wavefront's stores: a store ends its instruction
 *	    when it is acknowledged, or waits in a store buffer, which atomics and barriers find empty.
 *
 *	stc-nv  turns go round, demanded or not	stc-es  epochs without demand are skipped
 *	stc-ab  bands move (SEB)		stc-mb  up to stc.at_once epochs at once
 *
 * Deviations: transactions are atomic here, so Table 1's states I_V and I_I, in which data are on their way,
 * last for no event; data that return in an epoch of their band (Data_E) are forgotten when the line is next
 * met. An L1's lines learn of epochs when they are next met; the paper's search at an epoch's end is not
 * needed for that. All CUs enter an epoch when the last one has received ChangeEpoch. Bits below 12 play no
 * part in the comparison that moves the bands, and addresses that no band position sets apart move nothing
 * (4.4 says neither). A full BSQ stalls the loads of its CU, too. The EMU is at the node of the first L2
 * bank.
 */
#include "../tables.h"

#include "../turns.h"

enum { I, V, L1_STATES, D = COH_TURNS_DIRTY, L2_STATES };

static const char *const states[] = {"I", "V", "D"};

#define drop_granted coh_line_drop_granted
#define await_turn   (&coh_await_turn)
#define acknowledge  (&coh_acknowledge)
#define ld_turn      (&coh_ld_turn)

/* clang-format off */
static const struct coh_cell l1[L1_STATES][COH_L1_EVENT_COUNT] = {
	/*               I             V */
	L1_2(LOAD_HIT,   NEVER,        GO(V)),
	L1_2(LOAD_MISS,  GO(V, fetch), NEVER),
	L1_2(INVALIDATE, GO(I),        GO(V, drop_granted)),
	L1_2(EVICT,      GO(I, drop),  GO(I, drop)),
};

/* No release asks what the L2 has not written back: no line enters its S-FIFO. */
static const struct coh_cell l2[L2_STATES][COH_L2_EVENT_COUNT] = {
	/*              I             V             D */
	L2_3(READ_HIT,  NEVER,        GO(V),        GO(D)),
	L2_3(READ_MISS, GO(V, fetch), GO(V, fetch), GO(D, fetch)),
	L2_3(WRITE,     GO(D),        GO(D),        GO(D)),
	L2_3(ATOMIC,    GO(D),        GO(D),        GO(D)),
	L2_3(FLUSH,     GO(I),        GO(V),        GO(V, write_back)),
	L2_3(EVICT,     GO(I, drop),  GO(I, drop),  GO(I, write_back, drop)),
};

static const struct coh_row rows[] = {
	{ON_ANY_LOAD | ON(ATOMIC_LOAD), ANY_ORDER, ALL, {ld_turn}},
	{ON(STORE) | ON(ATOMIC_STORE),  ANY_ORDER, ALL, {await_turn, st_l2, acknowledge}},
	{ON(RMW),                       ANY_ORDER, ALL, {await_turn, rmw_l2, acknowledge}},
	{0, 0, 0, {NULL}},
};
/* clang-format on */

#define STC_PROTOCOL                                                                                         \
	.scopes = EMU_SCOPES_WIDENED, .l1_states = states, .l2_states = states, .l1_state_count = L1_STATES, \
	.l2_state_count = L2_STATES, .l1 = l1[0], .l2 = l2[0], .rows = rows,                                 \
	.broken_invariant = coh_turns_broken

const struct coh_protocol coh_stc_nv = {
	.name = "stc-nv",
	.citation = "stc 4.2",
	.summary = "spatiotemporal coherence: bands of addresses are written by turns, and cached at other "
		   "times",
	.turns = &(const struct coh_turns_rules){.skips = false},
	STC_PROTOCOL,
};

const struct coh_protocol coh_stc_es = {
	.name = "stc-es",
	.citation = "stc 4.3",
	.summary = "stc-nv, with turns only for bands that a store waits to write",
	.turns = &(const struct coh_turns_rules){.skips = true},
	STC_PROTOCOL,
};

const struct coh_protocol coh_stc_ab = {
	.name = "stc-ab",
	.citation = "stc 4.4",
	.summary = "stc-es, with bands that move until what is written and what is read are apart",
	.turns = &(const struct coh_turns_rules){.skips = true, .adapts = true},
	STC_PROTOCOL,
};

const struct coh_protocol coh_stc_mb = {
	.name = "stc-mb",
	.citation = "stc 4.4",
	.summary = "stc-ab, with turns of several bands at once",
	.turns = &(const struct coh_turns_rules){.skips = true, .adapts = true, .many = true},
	STC_PROTOCOL,
};
