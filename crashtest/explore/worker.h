/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker: a forked process that tests the states of a range of instants, many thousands of them. Its
 * results are in memory shared with its parent, which starts another worker after a state that killed it.
 */
#ifndef CRASHTEST_WORKER_H
#define CRASHTEST_WORKER_H

#include <sys/types.h>

#include "failing.h"
#include "../group.h"
#include "../judge/hang.h"
#include "../judge/process.h"
#include "plan.h"
#include "reads.h"

/* Shared by parent and worker. */
struct ct_shared {
	volatile uint64_t sequence; /* number of states begun: does not change while one hangs */
	volatile uint64_t instant, draw, time_ps;
	volatile uint64_t next;    /* next draw of instant, when none is being tested */
	volatile uint64_t no_tree; /* instant in whose tree a worker died: its states are drawn instead */
	volatile uint32_t stop, hold, held; /* requests to stop and to pause; paused */
	volatile uint32_t phase;
	volatile uint32_t finished;
	uint32_t gave_up;          /* too many workers died in this range */
	uint64_t hangs_alike;      /* of a slice: those that its process cut early */
	volatile uint64_t judged;  /* key of the state being judged, 0: none */
	volatile uint32_t counted; /* that state has been counted */
	uint64_t retried; /* key of a state whose worker was killed from outside: it is judged again */
	volatile uint32_t in_part;         /* the phase is that of a part, not of a state */
	volatile uint32_t no_parts;        /* a part killed a worker: the rest is tested without */
	volatile uint64_t no_confirmation; /* instant at which the state of a part killed a worker */
	struct ct_by_parts parts;
	uint64_t alike; /* states that had the answer of another one */
	struct ct_recoveries recoveries;
	volatile uint64_t tree, leaves; /* how many of the tree of this instant have been counted */
	struct ct_left left;            /* by the explorer itself */
	uint64_t distinct, equal, failing, unread, symmetric, undecided, settled;
	uint64_t known; /* of the equal ones: tested in another log (known.h) */
	char why_undecided[CT_TEXT_BYTES];
	uint64_t by_reads; /* instants exhausted by read-based pruning */
	struct ct_groups groups;
	struct ct_frames frames;
	/* Hashes of tested states, 0 is empty. When it is nearly full, all are dropped: memory use is
	 * bounded, and a state that recurs after so many others is tested again. */
	uint64_t seen_capacity; /* power of two */
	uint64_t seen_count;
	uint64_t seen[];
};

struct ct_worker {
	pid_t pid; /* 0: none runs */
	struct ct_shared *shared;
	size_t shared_bytes;
	struct ct_failing *failing; /* shared as well; NULL: not kept */
	struct ct_medium medium;    /* the parent's, at the worker's beginning */
	uint64_t next_draw;         /* of medium's instant */
	uint64_t first, last;       /* instants of the range */
	uint64_t sequence;          /* at the last look, and the time of its last change */
	double sequence_cpu, sequence_wall;
	double used;              /* CPU seconds of the state, as of the last look */
	double slowest;           /* of the slowest state that terminated */
	struct ct_hang_look look; /* at a state that takes long */
	unsigned deaths;
	uint64_t killed; /* key of the state in which the last worker was killed from outside, */
	unsigned kills;  /* and number of kills */
	bool hung;
};

/* Draws from here on are leaves of the instant's tree (reads.h), in search order. */
#define CT_DRAW_LEAF (UINT64_C(1) << 62)

/* Tests states from next_draw of the medium's instant to the end of the worker's range. For instants
 * before the range it only records the states, so that equal ones are recognised. Called in the child; never
 * returns. */
_Noreturn void ct_worker_run(
	const struct ct_exploration *e, const struct ct_plan *plan, struct ct_worker *worker);

/* Counts a state of the instant without a verdict. */
void ct_worker_note_undecided(struct ct_shared *shared, const struct ct_plan *plan, const char *why);

#endif
