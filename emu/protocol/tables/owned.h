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
/* A row of the L1's grid. */
#define OWNED(event, i, s, e, m) \
	[I][COH_L1_##event] = i, [S][COH_L1_##event] = s, [E][COH_L1_##event] = e, [M][COH_L1_##event] = m

/* All but READ_ELSEWHERE. */
#define OWNED_L1 \
	/*                       I                   S            E                    M */ \
	OWNED(LOAD_HIT,          NEVER,              GO(S),       GO(E),               GO(M)), \
	OWNED(LOAD_MISS,         GO(I, read_shared), NEVER,       NEVER,               NEVER), \
	OWNED(SHARED,            GO(S),              NEVER,       NEVER,               NEVER), \
	OWNED(ALONE,             GO(E),              NEVER,       NEVER,               NEVER), \
	OWNED(STORE,             GO(M, read_own),    GO(M, own),  GO(M),               GO(M)), \
	OWNED(REGISTER,          GO(E, read_own),    GO(E, own),  GO(E),               GO(M)), \
	OWNED(PERSIST,           NEVER,              GO(S),       GO(E),               GO(E, write_back)), \
	OWNED(EVICT,             GO(I, drop),        GO(I, drop), GO(I, disown, drop), \
	                                                          GO(I, write_back, disown, drop)), \
	OWNED(RECALL,            NEVER,              GO(I, drop), GO(I, drop),         GO(I, drop)), \
	OWNED(WRITTEN_ELSEWHERE, NEVER,              GO(I, drop), GO(I, drop), \
	                                                          GO(I, write_back, drop))

/* All but READ_HIT. */
#define OWNED_L2 \
	/*              I             V                          X */ \
	L2_3(READ_MISS, GO(V, fetch), GO(V, fetch),              NEVER), \
	L2_3(WRITE,     GO(V),        GO(V),                     GO(X)), \
	L2_3(FLUSH,     NEVER,        GO(V, write_back),         GO(X, write_back)), \
	L2_3(EVICT,     GO(I, drop),  GO(I, recall, write_back, drop), GO(I, recall, write_back, drop)), \
	L2_3(WANT,      GO(I),        GO(V, invalidate_sharers), GO(V, invalidate_sharers)), \
	L2_3(OWN,       NEVER,        GO(X),                     NEVER), \
	L2_3(DISOWN,    NEVER,        NEVER,                     GO(V)), \
	L2_3(ENTER,     GO(V),        NEVER,                     NEVER)

#define OWNED_ROWS { \
	{ON_ANY_LOAD | ON(ATOMIC_LOAD), ANY_ORDER, ALL, {ld_l1}}, \
	{ON(STORE) | ON(ATOMIC_STORE),  ANY_ORDER, ALL, {st_l1}}, \
	{ON(RMW),                       ANY_ORDER, ALL, {rmw_l1}}, \
	{0, 0, 0, {NULL}}, \
}
/* clang-format on */

#define OWNED_PROTOCOL                                                                              \
	.scopes = EMU_SCOPES_WIDENED, .l1_states = l1_states, .l2_states = l2_states,               \
	.l1_state_count = L1_STATES, .l2_state_count = L2_STATES, .l1 = &l1[0][0], .l2 = &l2[0][0], \
	.inclusive = true, .directory = true, .rows = rows, .broken_invariant = broken_invariant

#endif
