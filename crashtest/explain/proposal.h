/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What may cure a cause: edits (edit.h) that whoever finds the cause proposes, and the one, or the smallest
 * set, that was applied to the log and explored (cure.h).
 */
#ifndef CRASHTEST_PROPOSAL_H
#define CRASHTEST_PROPOSAL_H

#include "edit.h"

enum {
	CT_PROPOSALS_MAX = 8,
	CT_CURE_MAX = 3,    /* edits that are tried together */
	CT_CURE_EDITS = 12, /* of a finding that several were joined to */
	CT_CURE_TEXT = 400  /* of how a run with a cure ended */
};

/* Best first; each is tried alone, then sets of them, in this order. count 0: nothing is proposed. */
struct ct_proposals {
	unsigned count;
	struct ct_edit edit[CT_PROPOSALS_MAX];
};

/* What a run of the program with the cure has shown. */
enum ct_cure_outcome { CT_CURE_NOT_RUN, CT_CURE_HOLDS, CT_CURE_REFUTED };

/* What became of the proposals of a finding. */
struct ct_cure {
	unsigned count; /* edits that cure it together; 0: none of what was tried does */
	struct ct_edit edit[CT_CURE_EDITS];
	unsigned tried; /* proposals and sets of them that were explored */
	unsigned left;  /* those that were not, since the budget of the search was used up */
	bool searched;  /* its turn came: else its failure did not come up again, or the budget was used up */
	/* No tested state failed with the cure, and with those of all other findings that have one. Unless
	 * run is CT_CURE_HOLDS, these are states of the edited log alone. */
	bool verified;
	/* A run of a program with exactly these edits: it must end right, and no tested state may fail. */
	enum ct_cure_outcome run;
	char run_text[CT_CURE_TEXT]; /* what refutes it, or why it was not run; "": no run was asked for */
	unsigned refuted; /* sets that hold in the log, and that a run refuted; the first of them: */
	char refuted_edit[320], refuted_why[CT_CURE_TEXT];
	unsigned others;  /* how many other cures were applied with it */
	unsigned assumed; /* for how many findings without a cure the lost stores were assumed durable */
	bool masked;      /* this finding is one of those: mask is the assumption */
	struct ct_edit mask;
	uint64_t states;      /* tested with them */
	double possible_log2; /* states that were possible */
	bool possible_exact;  /* otherwise a bound */
	bool exhaustive;      /* all of them are accounted for */
	uint64_t only;        /* states that fail without this cure, with all the others */
	uint64_t only_of;     /* of so many tested */
	unsigned behind;      /* the finding was met with so many cures applied */
	/* Measured by the run with all cures: the difference in simulated time, and that of the run without
	 * it. */
	bool costed;
	int64_t cost_ps;
	uint64_t cost_of_ps;
	/* number of the finding whose cure, or assumption, alone takes this one away; 0: none */
	unsigned cured_by;
	uint64_t cured_in; /* states of the exploration that shows it */
	bool gone;         /* never searched: with those of the others together it did not come up again */
};

/* No tested state failed, and it is not only the log of another run that says so. */
static inline bool ct_cure_is_verified(const struct ct_cure *c)
{
	return c->verified && c->run == CT_CURE_HOLDS;
}

#endif
