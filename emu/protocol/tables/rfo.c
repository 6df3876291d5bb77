/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RFO: read for ownership (hechtman14 4.2), the coherence of CPUs' caches. A full-map directory at the L2
 * keeps a single writer or many readers of each line; the states are those of "recent AMD CPU architectures",
 * MOESI.
 *
 *	L1:	I  not here	S  here, perhaps elsewhere, too	E  here and nowhere else
 *		O  here; others may read it, this one answers for it
 *		M  here and nowhere else, some bytes dirty
 *	L2:	I  not here	V  here	X  an L1 is its owner (E, O, M); the bytes here may be old
 *	With a directory of its own (directory.c), its entries are I, V or X, and the L2's lines I or V.
 *
 * Guarantees
 *	(1) A line has one writer or many readers.
 *	(2) A reader gets what the owner has; the owner keeps its dirty bytes, in O.
 *	(3) A writer gets a line that every other L1 has given up; the dirty bytes of the former owner are
 *	    in the L2 then.
 *	(4) So loads see the latest store. Acquires and releases, of any scope, are performed in the L1 and
 *	    add nothing; dirty lines outlive kernels.
 *	(5) The directory includes the L1s (one of its own, the L2, too) and recalls the lines whose entries
 *	    it replaces.
 *	(6) Persistence takes no ownership away: a line that a persist barrier has written back stays with
 *	    its owner.
 *
 * Deviations: the paper has 256 KiB of directory beside an L2 of the same size, and neither the size of an
 * entry nor the time of a look-up; machines/hechtman14-apu.ini marks ours. Elsewhere the L2's tags are the
 * directory. The CPU cores behind the paper's directory are the host, which reads and writes between kernels.
 * Dirty bytes do not go from owner to owner but by way of the L2 (directory.c, guarantee (2)).
 */
#include "owned.h"

enum { I, S, E, O, M, L1_STATES };

static const char *const l1_states[] = {"I", "S", "E", "O", "M"};
static const char *const l2_states[] = {"I", "V", "X"};

/* clang-format off */
static const struct coh_cell l1[L1_STATES][COH_L1_EVENT_COUNT] = {
	OWNED_L1,
	OWNED(READ_ELSEWHERE, NEVER, NEVER, GO(O), GO(O)),
	[O] = {
		[COH_L1_LOAD_HIT] = GO(O),
		[COH_L1_STORE] = GO(M, own),
		[COH_L1_REGISTER] = GO(M, own),
		[COH_L1_PERSIST] = GO(O, write_back),
		[COH_L1_EVICT] = GO(I, write_back, disown, drop),
		[COH_L1_RECALL] = GO(I, drop),
		[COH_L1_WRITTEN_ELSEWHERE] = GO(I, write_back, drop),
		[COH_L1_READ_ELSEWHERE] = GO(O),
	},
};
static const struct coh_cell l2[L2_STATES][COH_L2_EVENT_COUNT] = {
	L2_3(READ_HIT, NEVER, GO(V), GO(X, ask_owner)),
	OWNED_L2,
};
static const struct coh_row rows[] = OWNED_ROWS;
/* clang-format on */

static const char *broken_invariant(const struct nvw_machine *m, emu_line_id id)
{
	return coh_broken_directory(m, id, X);
}

const struct coh_protocol coh_rfo = {
	.name = "rfo",
	.citation = "hechtman14 4.2",
	.summary = "read for ownership: MOESI, inclusive full-map directory, synchronization in the L1, no "
		   "scopes",
	OWNED_PROTOCOL,
};
