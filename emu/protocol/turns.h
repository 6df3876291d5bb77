/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns: write permission by epochs (spatiotemporal coherence, stc 2 and 4).
 *
 * Bits of an address, from the start epoch bits (SEB) on, are the number of its band. The bands of the
 * current epochs may be written and are not cached; all others are cached and not written. The epoch
 * management unit (EMU) changes epochs by a handshake with all CUs. A store out of its turn waits in its CU's
 * blocked store queue (BSQ).
 *
 * Guarantees
 *	(1) At any event all CUs are in the same epochs (rule ER3): a change happens at one instant, when
 *	    ChangeEpoch has come to the last CU.
 *	(2) A write that has passed await_turn is acknowledged before the next change (ER2).
 *	(3) A line of a band that has had an epoch since the line was last met is forgotten before it is
 *	    used (ER1).
 *	(4) While stores wait, the EMU is awake or will be, and every band of theirs is demanded; no demand
 *	    is passed over by more changes than there are bands (DAR 1 to 3).
 */
#ifndef EMU_PROTOCOL_TURNS_H
#define EMU_PROTOCOL_TURNS_H

#include "protocol.h"

enum { TURNS_BANDS_MAX = 32, TURNS_BANKS_MAX = 64, TURNS_SEB_MOST = 32 };

/* What the four variants differ in. */
struct coh_turns_rules {
	bool skips;  /* epochs without demand are skipped (4.3) */
	bool adapts; /* the bands move (4.4) */
	bool many;   /* several epochs at once (4.4, MultiBands) */
};

struct turns_cu {
	struct coh_wait *blocked, **blocked_end; /* the BSQ, the oldest first */
	struct coh_wait *outside, **outside_end; /* requests that a full BSQ holds up */
	uint64_t count;                          /* in the BSQ */
	uint32_t blocked_bands, demanded;        /* sets of bands */
	bool has_told;                           /* of a conflict, in this epoch */
	emu_time stops;        /* PrepareEpochChange is here then; UINT64_MAX: none is on its way */
	unsigned pending;      /* writes without acknowledgement (Table 1: PW) */
	emu_time acknowledged; /* when the last write is */
};

/* An entry of the EMU's epoch request vector (ERV). */
struct turns_demand {
	bool is_set;
	emu_time at;      /* when it came to the EMU */
	emu_line_id line; /* that a store waits to write */
	unsigned passed;  /* choices that have gone to other bands since it came */
};

struct coh_turns {
	const struct coh_turns_rules *rules;
	unsigned bands, seb, seb_least;
	uint32_t granted; /* the bands of the current epochs (CER) */
	uint32_t changes; /* how many there were; every L1's generation */
	uint32_t last_granted
		[TURNS_BANDS_MAX]; /* the latest change that granted the band or left it granted */
	struct turns_demand erv[TURNS_BANDS_MAX];
	enum { TURNS_ASLEEP, TURNS_WAKING, TURNS_CHANGING } emu;
	uint32_t next;                       /* bands of the change under way */
	emu_line_id chosen[TURNS_BANDS_MAX]; /* the demands that it fulfils */
	unsigned chosen_count;
	unsigned current;          /* the last band granted in turn */
	int votes;                 /* for a higher SEB, less those for a lower one */
	emu_time tick, ready, due; /* the latest wake-up, when it was over, and the next */
	emu_time at;               /* of the EMU's next event; m->now is later if no kernel ran then */
	const char *broken;        /* a rule that was broken; NULL */
	struct turns_cu *cu;
};

/* The band of a line. */
static inline unsigned coh_band(const struct coh_turns *turns, emu_line_id id)
{
	return (unsigned)((uint64_t)id * EMU_LINE >> turns->seb) & (turns->bands - 1);
}

/* The state of the L2's lines with dirty bytes. */
enum { COH_TURNS_DIRTY = 2 };

/* The first rule that the line breaks, or that is broken for all lines; NULL if none. */
const char *coh_turns_broken(const struct nvw_machine *m, emu_line_id id);

#endif
