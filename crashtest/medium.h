/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NVRAM of a logged run, replayed: the durable image, the writes in flight and the acknowledgements, and
 * the instants at which a power cut may leave something new.
 *
 * An *instant* lies before a record that makes something durable (a completed write, a write of the
 * host) or at the end of the log, if anything was issued, acknowledged or written since the instant
 * before (crash.h, guarantee 4).
 */
#ifndef CRASHTEST_MEDIUM_H
#define CRASHTEST_MEDIUM_H

#include <check/check.h>
#include <nvw/persist_log.h>

#include "image.h"

/* One write in flight to a unit: the unit's whole content once it is there. */
struct ct_version {
	uint64_t write;
	uint64_t word[8]; /* the first only, if units are words */
};

/* A unit with writes in flight; level l of a state means that the first l of them are durable. */
struct ct_cell {
	nvw_off off;
	unsigned count, capacity;
	unsigned old_count; /* of them in flight at the instant before */
	struct ct_version *version;
};

struct ct_flight {
	uint64_t write;
	nvw_off off;
	uint64_t mask;
	bool done;
};

struct ct_medium {
	struct ct_image image; /* the durable bytes */
	struct nvw_acks acks;
	struct nvw_log_reader *reader;
	uint64_t first_record, record;
	uint64_t time_ps;       /* of the last record that was applied */
	uint64_t instant;       /* the instant that the medium is at */
	bool at_end;
	bool changed;           /* something new since the last instant */
	bool obliged;           /* acknowledgement or host write since: every state is new */
	bool obliged_by_ack;    /* at this instant: an acknowledgement among them */
	struct nvw_log_record pending; /* read, and to be applied after the instant */
	uint64_t pending_line[512];    /* what it points to */
	bool has_pending;

	unsigned unit_bytes;
	uint32_t *cell_of; /* unit -> its cell + 1, 0 if nothing is in flight to it */
	struct ct_cell *cell;
	unsigned cell_count, cell_capacity;
	struct ct_flight *flight; /* oldest first, from flight_head */
	uint64_t flight_head, flight_count, flight_capacity;

	/* Called with every record before it is applied; may be NULL. */
	void (*seen)(void *context, const struct ct_medium *medium, const struct nvw_log_record *record);
	void *context;
};

/* A medium with this content at the start of the log. */
NVW_CHECKED int ct_medium_create(int log_fd, const void *initial, uint64_t bytes, uint64_t first_record,
	struct ct_medium *ret_medium);
void ct_medium_destroy(struct ct_medium *medium);

/* Moves on to the next instant: 1, 0 at the end of the log, or an error. */
NVW_CHECKED int ct_medium_next(struct ct_medium *medium);

/* How many states this instant has, and how many of these an earlier instant had as well. */
struct ct_states {
	double possible_log2, old_log2; /* old_log2 is -1 if there are none */
};
struct ct_states ct_medium_states(const struct ct_medium *medium);

/* Writes the units' levels (one a cell) into the image, on top of the durable bytes. */
void ct_medium_apply(struct ct_medium *medium, const unsigned *levels);

#endif
