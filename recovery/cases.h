/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The classification of undo log entries: a decision table in which exactly one row matches each entry (the
 * tests try all combinations).
 *
 *	sealed		each of the four words is sealed for its place, or was never written
 *	one_epoch	the four words name the same epoch (0: never written)
 *	relation	that epoch, or the newest of them, compared with the last settled one of the stream
 *	place		the entry restores an offset that an epoch may change
 */
#ifndef RECOVERY_CASES_H
#define RECOVERY_CASES_H

#include <stdbool.h>

enum rec_relation {
	REC_UNUSED,  /* epoch 0 */
	REC_SETTLED, /* an epoch that completed or was rolled back */
	REC_OPEN,    /* the next one: it did not complete */
	REC_FUTURE,  /* later ones cannot have begun */
	REC_RELATIONS
};

struct rec_entry_facts {
	bool sealed, one_epoch;
	enum rec_relation relation;
	bool place;
};

enum rec_verdict {
	REC_IGNORE,  /* unrelated to an incomplete epoch */
	REC_TORN,    /* torn by the crash: the word that it protects has not changed yet */
	REC_RESTORE, /* restore the old value */
	REC_DAMAGE,  /* not the result of any crash */
};

enum { REC_NO, REC_YES, REC_ANY };

struct rec_entry_case {
	int sealed, one_epoch; /* REC_NO, REC_YES, REC_ANY */
	unsigned relations;    /* set of bits */
	int place;
	enum rec_verdict verdict;
};

#define REC_CASE_COUNT 6
extern const struct rec_entry_case rec_entry_cases[REC_CASE_COUNT];

bool rec_case_fits(const struct rec_entry_case *row, const struct rec_entry_facts *facts);
enum rec_verdict rec_judge_entry(const struct rec_entry_facts *facts);

#endif
