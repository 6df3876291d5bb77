/* SPDX-License-Identifier: BSD-3-Clause */
/* Candidates of persistency races, found in what a session's threads have noted (persistency.c). */
#ifndef HOST_CANDIDATES_H
#define HOST_CANDIDATES_H

#include "exec.h"
#include "persistency.h"

/* What speaks against a candidate, in this run. */
enum host_hint {
	HOST_HINT_NONE,
	/* it fences and stores more before it flushes: a flush is missing, or not meant */
	HOST_HINT_UNFLUSHED,
	HOST_HINT_ORDERED, /* an atomic orders the window and the load */
	HOST_HINT_OWN,     /* a lock of the program's own seems to exclude them */
	HOST_HINT_LOCKED,  /* locked instructions change the word, not flushed at once: perhaps a lock */
};

/* A pair of places; sites, of which 0 is unknown. */
struct host_candidate {
	uint32_t store, load;
	uint32_t end; /* of a window; 0: none */
	bool unended; /* some window has no end */
	uint64_t off; /* in the file */
	unsigned bytes;
	uint32_t over, at; /* sets of locks, over the window and at the load */
	uint64_t times;    /* pairs of windows and loads */
	enum host_hint hint;
	uint64_t witness; /* a schedule in which it happens (schedules.h); 0: none */
};

struct host_candidates {
	const struct host_races *races;
	struct host_candidate *list; /* by hint: those without one are the first */
	size_t count, strong;        /* strong: up to HOST_HINT_UNFLUSHED */
	struct {
		size_t count, stores; /* places of their stores */
	} rank[HOST_HINT_UNFLUSHED + 1];
	uint64_t schedules;        /* that were looked at for witnesses; 0: none was */
	size_t witnessed, besides; /* of the list, and pairs that are not in it */
	size_t windows, loads;
	uint64_t without_effect; /* pairs whose load nothing durable follows */
};

/* After a run with host_options.check. NVW_E_MEMORY, NVW_E_SYSTEM. */
NVW_CHECKED int host_candidates_find(const struct host_session *session, struct host_candidates *ret_found);
void host_candidates_free(struct host_candidates *candidates);

const char *host_race_limit_text(enum host_race_limit limit);

#endif
