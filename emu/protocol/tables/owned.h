/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines that one L1 may write: what the protocols of hechtman14 with a directory at the L2 share (3.3, 4.2).
 *
 *	L1:	I  not here	S  here, perhaps elsewhere, too	E  here and nowhere else
 *		M  here and nowhere else, some bytes dirty
 *	L2:	I  not here	V  here	X  an L1 is its owner; the bytes here may be old
 *
 * They differ in what a read elsewhere makes of an owner's line. A file of this family names the L1's states.
 */
#ifndef EMU_PROTOCOL_OWNED_H
#define EMU_PROTOCOL_OWNED_H

#include "../tables.h"

enum { V = 1, X, L2_STATES };

/* clang-format off */
#define OWNED_I { \
	[COH_L1_LOAD_MISS] = GO(I, read_shared),	[COH_L1_SHARED] = GO(S),		[COH_L1_ALONE] = GO(E),		\
	[COH_L1_STORE] = GO(M, read_own),		[COH_L1_REGISTER] = GO(E, read_own),	[COH_L1_EVICT] = GO(I, drop),	\
}

#define OWNED_S { \
	[COH_L1_LOAD_HIT] = GO(S),			[COH_L1_STORE] = GO(M, own),		[COH_L1_REGISTER] = GO(E, own),	\
	[COH_L1_WRITTEN_ELSEWHERE] = GO(I, drop),									\
	[COH_L1_PERSIST] = GO(S),			[COH_L1_EVICT] = GO(I, drop),		[COH_L1_RECALL] = GO(I, drop),	\
}

#define OWNED_E(read_elsewhere) { \
	[COH_L1_LOAD_HIT] = GO(E),			[COH_L1_STORE] = GO(M),			[COH_L1_REGISTER] = GO(E),	\
	[COH_L1_WRITTEN_ELSEWHERE] = GO(I, drop),	[COH_L1_READ_ELSEWHERE] = read_elsewhere,				\
	[COH_L1_PERSIST] = GO(E),			[COH_L1_EVICT] = GO(I, disown, drop),	[COH_L1_RECALL] = GO(I, drop),	\
}

#define OWNED_M(read_elsewhere) { \
	[COH_L1_LOAD_HIT] = GO(M),			[COH_L1_STORE] = GO(M),			[COH_L1_REGISTER] = GO(M),	\
	[COH_L1_WRITTEN_ELSEWHERE] = GO(I, write_back, drop), [COH_L1_READ_ELSEWHERE] = read_elsewhere,				\
	[COH_L1_PERSIST] = GO(E, write_back),		[COH_L1_EVICT] = GO(I, write_back, disown, drop), [COH_L1_RECALL] = GO(I, drop), \
}

/* READ_HIT READ_MISS WRITE ATOMIC FLUSH EVICT REGISTER RETURN WANT OWN WRITTEN_BESIDE LEFT_BESIDE READ_BESIDE DISOWN ENTER */
#define OWNED_L2(read_owned) { \
	[I] = {NEVER,		GO(V, fetch),	GO(V),	NEVER,	NEVER,			GO(I, drop),				NEVER,	NEVER,	GO(I),				NEVER,	NEVER,	NEVER,	NEVER,	NEVER,	GO(V)},	\
	[V] = {GO(V),		GO(V, fetch),	GO(V),	NEVER,	GO(V, write_back),	GO(I, recall, write_back, drop),	NEVER,	NEVER,	GO(V, invalidate_sharers),	GO(X),	NEVER,	NEVER,	NEVER,	NEVER,	NEVER},	\
	[X] = {read_owned,	NEVER,		GO(X),	NEVER,	GO(X, write_back),	GO(I, recall, write_back, drop),	NEVER,	NEVER,	GO(V, invalidate_sharers),	NEVER,	NEVER,	NEVER,	NEVER,	GO(V),	NEVER},	\
}

#define OWNED_ROWS { \
	{ON_ANY_LOAD | ON(ATOMIC_LOAD),		ANY_ORDER,	ALL,	{ld_l1}},	\
	{ON(STORE) | ON(ATOMIC_STORE),		ANY_ORDER,	ALL,	{st_l1}},	\
	{ON(RMW),				ANY_ORDER,	ALL,	{rmw_l1}},	\
	{0, 0, 0, {NULL}},								\
}
/* clang-format on */

#define OWNED_PROTOCOL                                                                              \
	.scopes = EMU_SCOPES_WIDENED, .l1_states = l1_states, .l2_states = l2_states,               \
	.l1_state_count = L1_STATES, .l2_state_count = L2_STATES, .l1 = &l1[0][0], .l2 = &l2[0][0], \
	.inclusive = true, .directory = true, .rows = rows, .broken_invariant = broken_invariant

#endif
