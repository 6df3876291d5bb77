/* SPDX-License-Identifier: BSD-3-Clause */
/* Crash states as files, for tools of others: each tested whole state, before recovery and check see it. */
#ifndef CRASHTEST_EXPORT_H
#define CRASHTEST_EXPORT_H

#include "plan.h"

/*
 * Writes the medium's state to a sparse file, ct_options.exports/INSTANT-DRAW, and a line of JSON about it to
 * the folder's states.jsonl. A leaf of the tree of reads.h has the name INSTANT-leafNUMBER. If a run has
 * several pools, pool i is in INSTANT-DRAW.i. NVW_E_SYSTEM, NVW_E_FULL with a message.
 */
NVW_CHECKED int ct_export_state(
	const struct ct_exploration *e, const struct ct_medium *medium, uint64_t draw);

#endif
