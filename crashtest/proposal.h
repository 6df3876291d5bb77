/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What may cure a cause: edits (edit.h) that whoever finds the cause proposes, and the one, or the smallest set, that
 * was applied to the log and explored (cure.h).
 */
#ifndef CRASHTEST_PROPOSAL_H
#define CRASHTEST_PROPOSAL_H

#include "edit.h"

enum {
	CT_PROPOSALS_MAX = 8,
	CT_CURE_MAX = 3,   /* edits that are tried together */
	CT_CURE_EDITS = 12 /* of a finding that several were joined to */
};

/* Best first; each is tried alone, then sets of them, in this order. count 0: nothing is proposed. */
struct ct_proposals {
	unsigned count;
	struct ct_edit edit[CT_PROPOSALS_MAX];
};

/* What became of the proposals of a finding. */
struct ct_cure {
	unsigned count; /* edits that cure it together; 0: none of what was tried does */
	struct ct_edit edit[CT_CURE_EDITS];
	unsigned tried; /* proposals and sets of them that were explored */
	/* No tested state failed with the cure, and with those of all other findings that have one. */
	bool verified;
	unsigned others;  /* how many other cures were applied with it */
	unsigned assumed; /* and of how many findings without a cure the lost stores were assumed durable */
	bool masked;      /* this finding is one of those: mask is the assumption */
	struct ct_edit mask;
	uint64_t states;      /* tested with them */
	double possible_log2; /* states that were possible */
	bool possible_exact;  /* otherwise a bound */
	bool exhaustive;      /* all of them are accounted for */
	uint64_t only;        /* states that fail without this cure, with all the others */
	uint64_t only_of;     /* of so many tested */
	unsigned behind;      /* the finding was met with so many cures applied */
	/* Measured by a run of the workload with this cure alone: the difference in simulated time, and that of the run without it. */
	bool costed;
	int64_t cost_ps;
	uint64_t cost_of_ps;
	unsigned cured_by; /* number of the finding whose cure cures this one, too; 0: none */
};

#endif
