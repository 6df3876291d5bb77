/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The failing states of an exploration: what a power cut left (bytes and acknowledgements), with every kind
 * of text that the state fails with. So the states of two explorations can be compared: a log, and the log
 * with a cure.
 */
#ifndef CRASHTEST_FAILING_H
#define CRASHTEST_FAILING_H

#include "../crash.h"

#include "core/invariant.h"

enum { CT_FAILING_MAX = 1 << 17 }; /* pairs of state and kind */

/* In memory shared by a worker and its parent. */
struct ct_failing {
	uint64_t count;
	bool lost; /* there were more */
	struct ct_failed at[CT_FAILING_MAX];
};

/* NULL: they are not kept. */
void ct_failing_add(struct ct_failing *to, uint64_t state, const char *text);

/* Adds those of a worker to a set that is not yet in order. NVW_E_MEMORY. */
NVW_CHECKED int ct_failed_take(struct ct_failed_set *to, const struct ct_failing *from);
/* Puts a set in order: by state, each pair once. Too many for a worker are too many for all, so that the
 * number of jobs does not matter. */
void ct_failed_sort(struct ct_failed_set *set);

/* Whether the set, which is in order, has the state. */
bool ct_failed_has(const struct ct_failed_set *set, uint64_t state);
/* True if a state fails with a text of this kind. */
bool ct_failed_has_text(const struct ct_failed_set *set, const char *text);
/* True if it is the first pair of its state. */
static inline bool ct_failed_is_first(const struct ct_failed_set *set, uint64_t i)
{
	NVW_DEEP_INVARIANT(i < set->count);
	return i == 0 || set->at[i - 1].state != set->at[i].state;
}

#endif
