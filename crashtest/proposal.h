/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What may cure a cause: edits (edit.h) that whoever finds the cause proposes, and the one, or the smallest set, that
 * was applied to the log and explored (cure.h).
 */
#ifndef CRASHTEST_PROPOSAL_H
#define CRASHTEST_PROPOSAL_H

#include "edit.h"

enum { CT_PROPOSALS_MAX = 8, CT_CURE_MAX = 3 };

/* Best first; each is tried alone, then sets of them, in this order. count 0: nothing is proposed. */
struct ct_proposals {
	unsigned count;
	struct ct_edit edit[CT_PROPOSALS_MAX];
};

#endif
