/* SPDX-License-Identifier: BSD-3-Clause */
/* The cure of one finding: its proposals alone, then in pairs and triples, until one holds in the log and, if
 * it can be run, in a run. */
#ifndef CRASHTEST_CANDIDATES_H
#define CRASHTEST_CANDIDATES_H

#include "trial.h"

/* Searches for the cure of a finding, by its number, with all cures so far. */
NVW_CHECKED int ct_candidates_cure(struct ct_proof *proof, unsigned number);

/* The finding's proposals, without those that cannot help. */
void ct_candidates_propose(const struct ct_proof *proof, struct ct_finding *finding);
/* How many sets of them were not tried, since the budget was used up. */
unsigned ct_candidates_left(const struct ct_finding *finding);

bool ct_same_cause(const struct ct_finding *a, const struct ct_finding *b);

#endif
