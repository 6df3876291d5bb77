/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * QuickRelease: write-combining caches beside read caches at three levels, each with an S-FIFO that releases
 * go through (hechtman14 4.3).
 *
 *	I  not here
 *	V  a copy in the read cache
 *	W  the same with its written bit: newer bytes are in the write cache beside it
 *	D  in the write cache: some bytes dirty
 *
 * Guarantees (4.3.1)
 *	(1) A store goes into the wL1, its address into the S-FIFO, and it is done; nobody acknowledges it.
 *	    A line leaves by replacement, at the S-FIFO's head, or with a release. It takes the copy in the
 *	    rL1 along.
 *	(2) What leaves the wL2 takes the copy in the rL2 and those in all rL1s along (broadcast). Nobody
 *	    answers; releases wait until the invalidations have arrived.
 *	(3) A load hits the rL1 if the written bit is clear; else it hits the wL1 if that has all its bytes;
 *	    else what the wL1 has of the line is written through and the request goes down. The L2 does the
 *	    same.
 *	(4) A release sends a marker through the three S-FIFOs; the lines ahead of it leave. When it comes
 *	    out of the last, the wavefront goes on. A StRel's store then takes the way of stores, drives out
 *	    what the S-FIFOs hold, and is not waited for.
 *	(5) An acquire does nothing, the beginning of a kernel neither: LdAcq is a load. A copy whose line
 *	    has been released is gone.
 *	(6) An atomic that changes memory enters the S-FIFO and goes down at once. There are no scopes.
 *
 * Deviations: the directory, which performs atomics, is the L2 here, and what they store goes through to the
 * L3 at once. The wL3 holds DRAM only (l3.c) and invalidates no CPUs, which this machine does not have. On a
 * machine without an L3 the S-FIFO of the L2 is the last.
 */
#include "../tables.h"

enum { I, V, W, D, STATES };

static const char *const states[] = {"I", "V", "W", "D"};

/* clang-format off */
#define LEAVES GO(I, drop_copy, write_back, drop)

/* A miss in W: nothing has been stored beside it after all (an atomic that failed). */
static const struct coh_cell l1[STATES][COH_L1_EVENT_COUNT] = {
	/*                   I                  V            W            D */
	L1_4(LOAD_HIT,       NEVER,             GO(V),       NEVER,       GO(D)),
	L1_4(LOAD_MISS,      GO(V, fetch),      NEVER,       GO(V),       NEVER),
	L1_4(STORE,          GO(D, note_dirty), NEVER,       NEVER,       GO(D)),
	L1_4(FLUSH,          GO(I),             NEVER,       NEVER,       LEAVES),
	L1_4(PERSIST,        GO(I),             NEVER,       NEVER,       LEAVES),
	L1_4(EVICT,          GO(I, drop),       GO(I, drop), GO(I, drop), LEAVES),
	L1_4(WRITTEN_BESIDE, GO(I),             GO(W),       GO(W),       NEVER),
	L1_4(LEFT_BESIDE,    GO(I),             GO(I, drop), GO(I, drop), NEVER),
	L1_4(READ_BESIDE,    GO(I),             NEVER,       NEVER,       LEAVES),
};

#define LEAVES_L2 GO(I, drop_copies, drop_copy, write_back)

static const struct coh_cell l2[STATES][COH_L2_EVENT_COUNT] = {
	/*                   I                  V            W            D */
	L2_4(READ_HIT,       NEVER,             GO(V),       NEVER,       GO(D)),
	L2_4(READ_MISS,      GO(V, fetch),      NEVER,       GO(V),       NEVER),
	L2_4(WRITE,          GO(D, note_dirty), NEVER,       NEVER,       GO(D)),
	L2_4(ATOMIC,         LEAVES_L2,         NEVER,       NEVER,       LEAVES_L2),
	L2_4(FLUSH,          GO(I),             NEVER,       NEVER,       LEAVES_L2),
	L2_4(EVICT,          GO(I, drop),       GO(I, drop), GO(I, drop), LEAVES_L2),
	L2_4(WRITTEN_BESIDE, GO(I),             GO(W),       GO(W),       NEVER),
	L2_4(LEFT_BESIDE,    GO(I),             GO(I, drop), GO(I, drop), NEVER),
	L2_4(READ_BESIDE,    GO(I),             NEVER,       NEVER,       LEAVES_L2),
};

static const struct coh_row rows[] = {
	{ON_ANY_LOAD,      ANY_ORDER,  ALL, {ld_l1}},
	{ON(STORE),        ANY_ORDER,  ALL, {st_l1}},
	{ON(ATOMIC_LOAD),  NO_RELEASE, ALL, {ld_l1}},
	{ON(ATOMIC_LOAD),  A_RELEASE,  ALL, {mark_sfifos, ld_l1}},
	{ON(ATOMIC_STORE), NO_RELEASE, ALL, {enter_atomic, st_l2}},
	{ON(ATOMIC_STORE), A_RELEASE,  ALL, {mark_sfifos, st_l1, push_sfifos}},
	{ON(RMW),          NO_RELEASE, ALL, {enter_atomic, rmw_l2}},
	{ON(RMW),          A_RELEASE,  ALL, {mark_sfifos, enter_atomic, rmw_l2}},
	{0, 0, 0, {NULL}},
};
/* clang-format on */

/* A copy with its written bit is no hit, whatever bytes it has. */
static bool hits(
	const struct nvw_machine *m, const struct emu_cu *cu, const struct emu_line *line, uint64_t bytes)
{
	return line->state == V;
}

/* Copies and stores keep to their caches, and a copy knows of dirty bytes beside it. */
static const char *broken_at(const struct emu_cache *read, const struct emu_cache *write, emu_line_id id)
{
	const struct emu_line *const copy = emu_cache_peek(read, id), *const stored =
									      emu_cache_peek(write, id);

	if (copy && (copy->dirty || copy->state == D)) {
		return "a read cache has a dirty line";
	}
	if (stored && stored->dirty && stored->state != D) {
		return "a dirty line of a write cache is not in state D";
	}
	if (copy && stored && stored->dirty && copy->state == V) {
		return "a copy's written bit is clear although its line has been written";
	}
	return NULL;
}

static const char *broken_invariant(const struct nvw_machine *m, emu_line_id id)
{
	const char *broken = broken_at(&m->l2.cache, &m->l2.write, id);

	for (unsigned i = 0; !broken && i < m->config.cus; i++) {
		broken = broken_at(&m->cus[i].l1, &m->cus[i].write, id);
	}
	return broken;
}

const struct coh_protocol coh_quickrelease = {
	.name = "quickrelease",
	.citation = "hechtman14 4.3",
	.summary = "read and write caches apart, releases are markers in S-FIFOs, broadcast invalidation, "
		   "acquires do nothing; no scopes",
	.scopes = EMU_SCOPES_WIDENED,
	.caches = COH_CACHES_APART,
	.l3 = COH_L3_APART,
	.l1_states = states,
	.l2_states = states,
	.l1_state_count = STATES,
	.l2_state_count = STATES,
	.l1 = &l1[0][0],
	.l2 = &l2[0][0],
	.rows = rows,
	.kernel_end = {flush_l1, flush_l2, flush_l3},
	.hits = hits,
	.broken_invariant = broken_invariant,
};
