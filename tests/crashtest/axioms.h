/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The persistency models a second time: every set of stores is made, and kept if it breaks none of the
 * model's axioms, which are written out here pair by pair. Each function adds the states of a run to the set
 * "permitted".
 */
#ifndef TESTS_CRASHTEST_AXIOMS_H
#define TESTS_CRASHTEST_AXIOMS_H

#include "random_runs.h"

void permit_epoch(const struct history *h);
void permit_strict(const struct history *h);
void permit_eadr(const struct history *h);
void permit_buffered(const struct history *h);

#endif
