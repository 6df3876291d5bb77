/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which states of a run are tested: the budget shared out over the instants, and the states of one instant by
 * number, so that any of them can be made again from (seed, instant, draw).
 */
#ifndef CRASHTEST_PLAN_H
#define CRASHTEST_PLAN_H

#include "crash.h"
#include "medium.h"
#include "states.h"

struct ct_plan {
	uint64_t seed;
	uint64_t instants, interval_room;
	struct ct_interval *interval; /* likewise; memory shared with the workers */
	uint32_t *fresh;              /* instant i at i - 1: states that are new there, capped; CT_PLAN_CUT */
	uint64_t share; /* the most states that one instant gets; 0: only some instants get one */
	uint64_t budget;
	double possible, possible_log2; /* a bound unless exact */
	bool exact;
	uint64_t exhausted; /* instants whose states are all tested */
	uint64_t draws;     /* states that are tested in all */
};

enum { CT_PLAN_CAP = 0x7fffffff };
#define CT_PLAN_CUT 0x80000000u /* work may be divided here: mostly, an acknowledgement came just before */

/* Passes over the whole log with medium. Counts the run's records into result. */
NVW_CHECKED int ct_plan_create(struct ct_medium *medium, uint64_t budget, uint64_t seed,
	struct ct_result *result, struct ct_plan *ret_plan);
void ct_plan_destroy(struct ct_plan *plan);

/* True if no state on one side of a cut equals one on the other. */
bool ct_plan_cuts_apart(const struct ct_rules *rules);

/* How many states are tested at an instant, not counting those that draws skip. */
uint64_t ct_plan_share(const struct ct_plan *plan, uint64_t instant);
bool ct_plan_exhausts(const struct ct_plan *plan, uint64_t instant);

/* Draws of the medium's instant are numbered from 0 to this. */
uint64_t ct_plan_draws(const struct ct_plan *plan, const struct ct_medium *medium);

/* Makes draw number draw: levels has one element a cell. False if an earlier instant had this state. */
bool ct_plan_draw(const struct ct_plan *plan, const struct ct_medium *medium, uint64_t draw,
	struct ct_walk *walk, unsigned *levels);

#endif
