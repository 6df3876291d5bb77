/* SPDX-License-Identifier: BSD-3-Clause */
/* Crash states as files, for tools of others: each tested whole state, before recovery and check see it. */
#ifndef CRASHTEST_EXPORT_H
#define CRASHTEST_EXPORT_H

#include "plan.h"

/*
 * Writes the medium's state to ct_options.exports/INSTANT-DRAW (a leaf of the tree of reads.h:
 * INSTANT-leafNUMBER), a sparse file, and a line of JSON about it to the folder's states.jsonl. Of a run with
 * several pools pool i is INSTANT-DRAW.i. NVW_E_SYSTEM, NVW_E_FULL with a message.
 */
NVW_CHECKED int ct_export_state(
	const struct ct_exploration *e, const struct ct_medium *medium, uint64_t draw);

#endif
