/* SPDX-License-Identifier: BSD-3-Clause */
/* The search for cures (cure.h), and its trials: explorations of the log with edits, or of a run of the
 * program with them. */
#ifndef CRASHTEST_TRIAL_H
#define CRASHTEST_TRIAL_H

#include "../crash.h"
#include "../judge/hang.h"
#include "cure_run.h"

enum { CT_PROOF_ASSUMED = 16, CT_PROOF_EDITS = CT_FINDINGS_MAX * CT_CURE_MAX + CT_PROOF_ASSUMED };

struct ct_proof {
	const struct ct_exploration *e;
	enum ct_model model;
	struct ct_result *result; /* the findings, to which those that come to light are added */
	struct ct_result *trial;  /* of the exploration made last */
	struct ct_edit edit[CT_PROOF_EDITS];
	unsigned edits; /* assumptions of the test, then the cures so far */
	unsigned cures, masks;
	uint64_t failing;    /* states that failed with the cures so far */
	bool clean;          /* no state failed in the last trial, which had all cures */
	uint64_t states;     /* budget of a trial */
	uint64_t used, most; /* states that the search tested, and may test */
	bool unshown;        /* no state failed without any cure: none can be proved */
	bool ended; /* the search came to its end: what is left is that of findings for which nothing helps */
	/* with which budget of a trial a finding's cure was searched; 0: not yet */
	uint64_t searched[CT_FINDINGS_MAX];
	uint64_t done;
	double began;
	bool by_running;  /* explorations are of runs with the edits, since a cure shows in none but these */
	unsigned refuted; /* proposals of the present finding, as bits */
	char why[CT_CURE_TEXT]; /* the last set was refuted; "": it was not */
	struct ct_hangs hangs;  /* of all trials, unless the caller remembers them */
};

/* How far a trial goes: up to the first state that fails, explained or not; up to so many kinds of failures;
 * to the end. */
enum ct_trial_extent { CT_TRIAL_BARE = -1, CT_TRIAL_WHOLE = 0, CT_TRIAL_FIRST = 1 };

/* Explores with edits. 0: done, and trial has the result; 1: an edit is refused, or a run with it is (why);
 * else an error. kinds: of failures, after which it ends, or an extent. */
NVW_CHECKED int ct_proof_explore(
	struct ct_proof *proof, const struct ct_edit *edits, unsigned count, int kinds);
/* The same in the search, where every tested state counts. */
NVW_CHECKED int ct_proof_search(
	struct ct_proof *proof, const struct ct_edit *edits, unsigned count, int kinds);
/* Explores a run that has ended: it is refuted unless all tested states hold. */
NVW_CHECKED int ct_proof_explore_run(struct ct_proof *proof, struct ct_cure_run *run, int kinds);

/* Counts the states of the last trial; whether the budget is used up. */
void ct_proof_count(struct ct_proof *proof);
bool ct_proof_is_spent(const struct ct_proof *proof);

/* All of it, without a state that fails or has no answer. */
bool ct_is_clean(const struct ct_result *result);

/* Collects the edits of the test, and of some findings (a bit each) the cures and what stands for missing
 * ones. Their number. */
unsigned ct_proof_collect(
	const struct ct_proof *proof, uint32_t findings, struct ct_edit ret_edits[CT_PROOF_EDITS]);

#endif
