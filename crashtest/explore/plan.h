/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of states to test: the budget divided among the instants, and the states of one instant by
 * number, so that any of them can be made again from (seed, instant, draw).
 */
#ifndef CRASHTEST_PLAN_H
#define CRASHTEST_PLAN_H

#include "../crash.h"
#include "../states/medium.h"
#include "../states/states.h"

struct ct_plan {
	uint64_t seed;
	uint64_t instants, interval_room;
	struct ct_interval *interval; /* likewise; memory shared with the workers */
	uint32_t *fresh;              /* instant i at i - 1: number of its new states, capped; CT_PLAN_CUT */
	uint64_t share;               /* most states per instant; 0: only some instants get one */
	uint64_t budget;
	double possible, possible_log2; /* a bound unless exact */
	bool exact;
	bool known;         /* an exhausted instant has no other states than those of its levels */
	uint64_t exhausted; /* instants whose states are all tested */
	uint64_t draws;     /* total number of tested states */
};

enum { CT_PLAN_CAP = 0x7fffffff };
#define CT_PLAN_CUT 0x80000000u /* work may be divided here: usually just after an acknowledgement */

/* Passes over the whole log with medium. Counts the run's records in result. */
NVW_CHECKED int ct_plan_create(struct ct_medium *medium, uint64_t budget, uint64_t seed,
	struct ct_result *result, struct ct_plan *ret_plan);
void ct_plan_destroy(struct ct_plan *plan);

/* True if no state on one side of a cut equals one on the other. */
bool ct_plan_cuts_apart(const struct ct_rules *rules);

/* Number of states to test at an instant, without those that draws skip. */
uint64_t ct_plan_share(const struct ct_plan *plan, uint64_t instant);
bool ct_plan_exhausts(const struct ct_plan *plan, uint64_t instant);

/* Draws of the medium's instant are numbered from 0 to this. */
uint64_t ct_plan_draws(const struct ct_plan *plan, const struct ct_medium *medium);

/* Makes draw number draw: levels has one element per cell. False if an earlier instant had this state. */
bool ct_plan_draw(const struct ct_plan *plan, const struct ct_medium *medium, uint64_t draw,
	struct ct_walk *walk, unsigned *levels);

#endif
