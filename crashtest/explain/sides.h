/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stores that a finding names, on two sides: the durable ones that should not be there yet, and the lost
 * ones that should. Where it is known what the state lacks (need.h), they follow from that. Else they are
 * guessed: those around the violation, those that lead to it, and what the same work-item (group, kernel) had
 * stored but not yet persisted.
 */
#ifndef CRASHTEST_SIDES_H
#define CRASHTEST_SIDES_H

#include "finding.h"
#include "../states/medium.h"
#include "need.h"
#include "stores.h"

enum { CT_SIDE_MAX = CT_PLACES_MAX / 2 };

/*
 * A failing state, whose levels are applied to the medium, and the stores up to its instant. Nothing in it
 * is owned.
 */
struct ct_scene {
	const struct ct_medium *medium;
	const unsigned *levels;
	const struct ct_stores *stores;
	const struct ct_finding *finding;
};

/* The stores of one side, one for each source place. */
struct ct_side {
	unsigned count;
	struct ct_store store[CT_SIDE_MAX];
};

struct ct_sides {
	struct ct_side durable, lost;
};

/* Adds the stores of a need that is known. */
void ct_sides_take(const struct ct_scene *scene, const struct ct_need *need, struct ct_sides *sides);
/*
 * Adds the stores where no need is known; returns the one that they suggest, which is a guess, or
 * CT_NEED_UNKNOWN.
 */
struct ct_need ct_sides_guess(const struct ct_scene *scene, struct ct_sides *sides);

#endif
