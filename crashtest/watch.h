/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who looked at what: for every thing (a number) the parts that looked at it when they were last tried. A thing that
 * changes wakes them; each part is woken once, however many of its things change.
 *
 * A thing has a list of looks, each with the try of its part. A part that is tried again does not take its old looks out: they
 * are known by their try, and a list that has grown to twice its length loses them. So a try costs what it looks at now.
 */
#ifndef CRASHTEST_WATCH_H
#define CRASHTEST_WATCH_H

#include "medium.h"

struct ct_watch {
	struct ct_array thing; /* struct ct_thing */
	struct ct_array look;  /* struct ct_look */
	uint32_t spare;        /* the first unused look + 1 */
	uint32_t *tried;       /* by part: how often it was tried */
	bool *is_awake;        /* by part */
	uint64_t parts;
	uint32_t tries;        /* of all parts, modulo 2^32 */
	uint32_t trying;       /* the part that is being tried */
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
