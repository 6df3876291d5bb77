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
#include "owned.h"

enum { I, S, E, M, L1_STATES };

static const char *const l1_states[] = {"I", "S", "E", "M"};
static const char *const l2_states[] = {"I", "V", "X"};

/* clang-format off */
static const struct coh_cell l1[L1_STATES][COH_L1_EVENT_COUNT] = {
	OWNED_L1,
	OWNED(READ_ELSEWHERE, NEVER, NEVER, GO(S), GO(S, write_back)),
};
static const struct coh_cell l2[L2_STATES][COH_L2_EVENT_COUNT] = {
	L2_3(READ_HIT, NEVER, GO(V), GO(V, downgrade_owner)),
	OWNED_L2,
};
static const struct coh_row rows[] = OWNED_ROWS;
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
	OWNED_PROTOCOL,
};
