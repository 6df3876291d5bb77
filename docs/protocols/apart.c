/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Apart: the smallest protocol with read and write caches apart, to start the next one of that kind from
 * (docs/protocols.md). It is QuickRelease (hechtman14 4) without what makes it fast.
 *
 *	I  not here
 *	V  a copy in the read cache	W  the same, but the line has been written in the write cache
 *	D  in the write cache: some bytes dirty
 *
 * Guarantees
 *	(1) A store goes to the write cache and waits for nothing. It leaves by replacement, at the S-FIFO's
 *	    end, or with a release.
 *	(2) A read looks into the read cache, then into the write cache; if that has a part of the bytes, it
 *	    writes them down first.
 *	(3) What leaves an L1's write cache takes the copy beside it along; what leaves the L2's also those of
 *	    all L1s (broadcast).
 *	(4) A release sends a marker through all S-FIFOs. What was stored before is then in memory, and no L1
 *	    has an old copy: so acquires and kernels' beginnings have nothing to do. There are no scopes.
 *	(5) Atomics are performed at the L2.
 *
 * Deviations: it is no paper's. QuickRelease's release waits in the S-FIFOs with the stores before it, and
 * its atomics go to the directory.
 *
 * It is not in protocols.def; tests bring it along as they do the skeleton.
 */
#include "protocol/tables.h"

enum { I, V, W, D, STATES };

static const char *const states[] = {"I", "V", "W", "D"};

/* A miss in W: nothing has been stored beside it after all (an atomic that failed). */
/* clang-format off */
#define LEAVES GO(I, drop_copy, write_back, drop)

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
	L2_4(ATOMIC,         GO(D, note_dirty), NEVER,       NEVER,       GO(D)),
	L2_4(FLUSH,          GO(I),             NEVER,       NEVER,       LEAVES_L2),
	L2_4(EVICT,          GO(I, drop),       GO(I, drop), GO(I, drop), LEAVES_L2),
	L2_4(WRITTEN_BESIDE, GO(I),             GO(W),       GO(W),       NEVER),
	L2_4(LEFT_BESIDE,    GO(I),             GO(I, drop), GO(I, drop), NEVER),
	L2_4(READ_BESIDE,    GO(I),             NEVER,       NEVER,       LEAVES_L2),
};

#define NO_RELEASE (ORDER(RELAXED) | ORDER(ACQUIRE))
#define A_RELEASE  (ORDER(RELEASE) | ORDER(ACQ_REL))

static const struct coh_row rows[] = {
	{ON_ANY_LOAD,      ANY_ORDER,  ALL, {ld_l1}},
	{ON(STORE),        ANY_ORDER,  ALL, {st_l1}},
	{ON(ATOMIC_LOAD),  NO_RELEASE, ALL, {ld_l2}},
	{ON(ATOMIC_LOAD),  A_RELEASE,  ALL, {mark_sfifos, ld_l2}},
	{ON(ATOMIC_STORE), NO_RELEASE, ALL, {st_l2}},
	{ON(ATOMIC_STORE), A_RELEASE,  ALL, {mark_sfifos, st_l2}},
	{ON(RMW),          NO_RELEASE, ALL, {rmw_l2}},
	{ON(RMW),          A_RELEASE,  ALL, {mark_sfifos, rmw_l2}},
	{0, 0, 0, {NULL}},
};
/* clang-format on */

/* A copy whose line has been written beside it is no hit, whatever bytes it has. */
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
		return "a copy does not know that its line has been written beside it";
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

const struct coh_protocol coh_apart = {
	.name = "apart",
	.citation = "docs/protocols.md",
	.summary =
		"read and write caches apart, markers through S-FIFOs, broadcast invalidation; acquires do "
		"nothing, no scopes",
	.scopes = EMU_SCOPES_WIDENED,
	.caches = COH_CACHES_APART,
	.l1_states = states,
	.l2_states = states,
	.l1_state_count = STATES,
	.l2_state_count = STATES,
	.l1 = &l1[0][0],
	.l2 = &l2[0][0],
	.rows = rows,
	.kernel_end = {flush_l1, flush_l2},
	.hits = hits,
	.broken_invariant = broken_invariant,
};
