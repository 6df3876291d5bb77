/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leases: an L1 may keep a line until a time that the L2 has given it, by clocks that run alike (temporal
 * coherence; stc 5.1, 7.5).
 *
 * A line in an L1 is hit until its lease ends, and then forgets itself: nobody sends invalidations. The L2
 * remembers of each line when the last lease ends, also of lines that it has replaced (in MSHRs), and a store
 * waits there until then. How long leases are is predicted by bank: longer after a read that comes because
 * its lease has ended, shorter after a store or a replacement that comes before the end.
 *
 * Guarantees
 *	(1) At any event, if a line in an L1 can be hit, the L2 knows of a lease that lasts as long, and the
 *	    line's bytes are those of the L2's side.
 *	(2) A store that waits at the L2 ends the giving of leases on its line, so it waits for one end and
 *	    no more.
 *	(3) A CU whose L1 alone has leases on a line writes it without waiting: its own copy leaves with the
 *	    store.
 */
#ifndef EMU_PROTOCOL_LEASES_H
#define EMU_PROTOCOL_LEASES_H

#include "protocol.h"

enum { LEASES_TIMESTAMP = 4 }; /* bytes that go with a read and its answer (stc 7.5) */

/* The lease of a line that the L2 has replaced: an MSHR. */
struct leases_left {
	emu_line_id line;
	emu_time until, refuses;
};

struct leases_bank {
	emu_time prediction;      /* the length of the next lease */
	struct leases_left *left; /* the first to end first; those that have ended may still be there */
	uint32_t count, capacity;
};

struct coh_leases {
	struct leases_bank *bank; /* as many as the L2 has */
};

/* The state of the L2's lines with dirty bytes. */
enum { COH_LEASES_DIRTY = 2 };

/* For the classifier of an L1: whether the line's lease still runs. */
static inline bool coh_is_leased(const struct nvw_machine *m, const struct emu_line *line)
{
	return m->now < line->lease;
}

/* The first guarantee that the line breaks; NULL if none. */
const char *coh_leases_broken(const struct nvw_machine *m, emu_line_id id);

#endif
