/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of the races of a program's runs (crash_races.c), and where the power is cut
 * (race_cuts.c). */
#ifndef CLI_RACE_CUTS_H
#define CLI_RACE_CUTS_H

#include <nvw/persist_log.h>

#include "crash_races.h"

enum { UNFLUSHED = 256, LINE = NVW_LOG_LINE_BYTES };

/* A race of the last run; or an execution of a store whose flush is late or missing, for whose loss no load
 * is needed. */
struct happened {
	size_t race;
	struct host_witness witness;
	struct host_place store;
	bool nameless; /* code of a library's header: the log has its caller's place */
	bool alone;
	uint64_t record;   /* alone: the store's, in the log */
	bool fails_behind; /* where a store behind its own is lost, in the line, and its own is not */
};

/* A store whose flush is late or missing, in the last run: one of its executions. */
struct unflushed {
	struct host_place store;
	uint32_t site; /* of the session */
	size_t race;
	uint64_t executions, record, word;
};

/* A store to its line that was found by comparison, at this event. */
struct found {
	uint64_t line, event;
};

/* What a cut has shown: pairs with the same store have it in common. */
struct outcome {
	uint64_t line, record, store;
	enum ct_race_fate fate;
	bool fails_behind;
	char text[CT_TEXT_BYTES];
};

/* Where stores and loads are executed, of all runs. */
struct place {
	struct host_access_place of;
	char text[256];
	unsigned held; /* its thread, behind a store, until all others had ended or waited */
};

struct crash_races {
	struct place *place;
	size_t places, places_room;
	struct ct_race *race;
	size_t count, room;
	struct happened happened[HOST_SCHEDULE_WITNESSES + UNFLUSHED];
	unsigned happened_count;
	struct unflushed unflushed[UNFLUSHED];
	unsigned unflushed_count;
	struct found *found; /* of the last run */
	size_t found_count, found_room;
	bool found_more;         /* there is no memory for all of them */
	struct outcome *outcome; /* of its cuts */
	size_t outcomes, outcomes_room;
	uint64_t schedule; /* of the last run */
	bool loads;        /* were seen */
};

static inline bool has_happened(const struct ct_race *r)
{
	return r->schedule != 0;
}

static inline uint64_t line_of(const struct happened *h)
{
	return h->witness.word * 8 / LINE * LINE;
}

/* Whether more cuts may tell something of it. */
bool crash_race_is_undecided(const struct crash_races *races, const struct ct_race *race);

#endif
