/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MTTOP-WB: the write-back protocol over which hechtman14 3 compares consistency models. The L2's banks hold
 * a directory (3.3): a single writer or many readers of each line, and writers invalidate.
 *
 *	L1:	I  not here	S  here, perhaps elsewhere, too	E  here and nowhere else
 *		M  here and nowhere else, some bytes dirty
 *	L2:	I  not here	V  here	X  an L1 may write it (E, M); the bytes here may be old
 *
 * Guarantees
 *	(1) A line has one writer or many readers.
 *	(2) Before an L1 reads a line that another may write, that one has written it back, and may no
 *	    longer write it.
 *	(3) A store is complete when its L1 owns the line: no L1 can read what it has overwritten (write
 *	    atomicity). So the order in which an L1 serves instructions is the order of memory, and what
 *	    waits in front of it decides the consistency model (gpu.consistency). Acquires and releases add
 *	    nothing.
 *	(4) The directory includes the L1s and recalls the lines whose entries it replaces; it is the L2's
 *	    tags, or one of its own.
 *	(5) Persistence takes no ownership away.
 *
 * Deviations: the paper names no states, and its figure of the machine is lost; MESI is ours, the smallest
 * set that lets private data be read and written with one request. Without O, unlike rfo: an owner that is
 * read writes its bytes back to the L2.
 */
#include "tables.h"

enum { I, S, E, M, L1_STATES };
enum { V = 1, X, L2_STATES };

static const char *const l1_states[] = {"I", "S", "E", "M"};
static const char *const l2_states[] = {"I", "V", "X"};

/* clang-format off */
static const struct coh_cell l1[L1_STATES][COH_L1_EVENT_COUNT] = {
	[I] = {
		[COH_L1_LOAD_MISS] = GO(I, read_shared),	[COH_L1_SHARED] = GO(S),		[COH_L1_ALONE] = GO(E),
		[COH_L1_STORE] = GO(M, read_own),		[COH_L1_REGISTER] = GO(E, read_own),	[COH_L1_EVICT] = GO(I, drop),
	},
	[S] = {
		[COH_L1_LOAD_HIT] = GO(S),			[COH_L1_STORE] = GO(M, own),		[COH_L1_REGISTER] = GO(E, own),
		[COH_L1_WRITTEN_ELSEWHERE] = GO(I, drop),
		[COH_L1_PERSIST] = GO(S),			[COH_L1_EVICT] = GO(I, drop),		[COH_L1_RECALL] = GO(I, drop),
	},
	[E] = {
		[COH_L1_LOAD_HIT] = GO(E),			[COH_L1_STORE] = GO(M),			[COH_L1_REGISTER] = GO(E),
		[COH_L1_WRITTEN_ELSEWHERE] = GO(I, drop),	[COH_L1_READ_ELSEWHERE] = GO(S),
		[COH_L1_PERSIST] = GO(E),			[COH_L1_EVICT] = GO(I, disown, drop),	[COH_L1_RECALL] = GO(I, drop),
	},
	[M] = {
		[COH_L1_LOAD_HIT] = GO(M),			[COH_L1_STORE] = GO(M),			[COH_L1_REGISTER] = GO(M),
		[COH_L1_WRITTEN_ELSEWHERE] = GO(I, write_back, drop), [COH_L1_READ_ELSEWHERE] = GO(S, write_back),
		[COH_L1_PERSIST] = GO(E, write_back),		[COH_L1_EVICT] = GO(I, write_back, disown, drop), [COH_L1_RECALL] = GO(I, drop),
	},
};

static const struct coh_cell l2[L2_STATES][COH_L2_EVENT_COUNT] = {
	/* READ_HIT READ_MISS WRITE ATOMIC FLUSH EVICT REGISTER RETURN WANT OWN WRITTEN_BESIDE LEFT_BESIDE
	 * READ_BESIDE DISOWN ENTER */
	[I] = {NEVER,			GO(V, fetch),	GO(V),	NEVER,	NEVER,			GO(I, drop),				NEVER,		NEVER,	GO(I),				NEVER,	NEVER,		NEVER,		NEVER,		NEVER,	GO(V)},
	[V] = {GO(V),			GO(V, fetch),	GO(V),	NEVER,	GO(V, write_back),	GO(I, recall, write_back, drop),	NEVER,		NEVER,	GO(V, invalidate_sharers),	GO(X),	NEVER,		NEVER,		NEVER,		NEVER,	NEVER},
	[X] = {GO(V, downgrade_owner),	NEVER,		GO(X),	NEVER,	GO(X, write_back),	GO(I, recall, write_back, drop),	NEVER,		NEVER,	GO(V, invalidate_sharers),	NEVER,	NEVER,		NEVER,		NEVER,		GO(V),	NEVER},
};

static const struct coh_row rows[] = {
	{ON_ANY_LOAD | ON(ATOMIC_LOAD),		ANY_ORDER,	ALL,	{ld_l1}},
	{ON(STORE) | ON(ATOMIC_STORE),		ANY_ORDER,	ALL,	{st_l1}},
	{ON(RMW),				ANY_ORDER,	ALL,	{rmw_l1}},
	{0, 0, 0, {NULL}},
};
/* clang-format on */

static const char *broken_invariant(const struct nvw_machine *m, emu_line_id id)
{
	return coh_broken_directory(m, id, X);
}

const struct coh_protocol coh_mttop_wb = {
	.name = "mttop-wb",
	.citation = "hechtman14 3.3",
	.summary =
		"write-back with a directory: MESI, writers invalidate, consistency models in front of it, "
		"no scopes",
	.scopes = EMU_SCOPES_WIDENED,
	.l1_states = l1_states,
	.l2_states = l2_states,
	.l1_state_count = L1_STATES,
	.l2_state_count = L2_STATES,
	.l1 = &l1[0][0],
	.l2 = &l2[0][0],
	.inclusive = true,
	.directory = true,
	.rows = rows,
	.broken_invariant = broken_invariant,
};
