/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who looked at what: for every thing (a number) the parts that looked at it when they were last tried. A
 * thing that changes wakes them; each part is woken once, however many of its things change.
 *
 * A thing has a list of looks, and a part has its looks in the order in which they were made. A part that is
 * tried again mostly looks at the same things in the same order: then its looks stay as they are, and nothing
 * is touched but the part's own memory. What it looks at no longer is taken out. So a try costs what it looks
 * at, in few cache misses.
 */
#ifndef CRASHTEST_WATCH_H
#define CRASHTEST_WATCH_H

#include "core/rows.h"

#include "../states/medium.h"

struct ct_watch {
	struct ct_array thing; /* struct ct_thing */
	struct nvw_rows look;  /* struct ct_look */
	uint32_t *first;       /* by part: its first look; 0: none */
	bool *is_awake;        /* by part */
	uint64_t parts;
	uint32_t tries;  /* of all parts, modulo 2^32 */
	uint32_t rounds; /* of waking, modulo 2^32, too */
	uint32_t trying; /* the part that is being tried */
	uint32_t newest; /* its newest look; 0: none yet. Those after it are of an earlier try */
	bool is_trying;
	struct ct_array awake; /* uint32_t: the parts that are awake */
};

/* All parts are awake. Things are numbered from 0 to things - 1 at first, and may be more later. */
NVW_CHECKED int ct_watch_create(uint64_t parts, uint64_t things, struct ct_watch *ret_watch);
void ct_watch_free(struct ct_watch *watch);

/* The part is tried: what it looked at before counts no longer, unless it looks again. */
void ct_watch_try(struct ct_watch *watch, uint32_t part);
/* The part that is being tried looks at a thing. */
NVW_CHECKED int ct_watch_look(struct ct_watch *watch, uint64_t thing);

/* The thing has changed: wakes all who looked at it. */
NVW_CHECKED int ct_watch_wake(struct ct_watch *watch, uint64_t thing);
NVW_CHECKED int ct_watch_wake_part(struct ct_watch *watch, uint32_t part);

/* The parts that are awake, in ascending order; they fall asleep. *ret_parts is valid until the next wake. */
uint64_t ct_watch_take(struct ct_watch *watch, const uint32_t **ret_parts);

#endif
