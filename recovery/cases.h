/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What recovery makes of an undo log entry: a table of predicates, of which exactly one row fits (the tests try
 * all combinations).
 *
 *	sealed		each of the four words is sealed for its place, or was never written
 *	one_epoch	the four words name the same epoch (0: never written)
 *	relation	that epoch compared with the last settled one of the stream
 *	place		the offset that the entry restores is one that an epoch may change
 */
#ifndef RECOVERY_CASES_H
#define RECOVERY_CASES_H

#include <stdbool.h>

enum rec_relation {
	REC_UNUSED,  /* epoch 0 */
	REC_SETTLED, /* an epoch that completed or was rolled back */
	REC_OPEN,    /* the one after: it did not complete */
	REC_FUTURE,  /* later ones cannot have begun */
	REC_RELATIONS
};

struct rec_entry_facts {
	bool sealed, one_epoch;
	enum rec_relation relation;
	bool place;
};

enum rec_verdict {
	REC_IGNORE,  /* nothing to do with an incomplete epoch */
	REC_TORN,    /* the crash came while it was written: what it protects was not changed yet */
	REC_RESTORE, /* put the old value back */
	REC_DAMAGE,  /* no crash leaves this */
};

enum { REC_NO, REC_YES, REC_ANY };

struct rec_entry_case {
	int sealed, one_epoch; /* REC_NO, REC_YES, REC_ANY */
	unsigned relations;    /* bit set */
	int place;
	enum rec_verdict verdict;
};

#define REC_CASE_COUNT 6
extern const struct rec_entry_case rec_entry_cases[REC_CASE_COUNT];

bool rec_case_fits(const struct rec_entry_case *row, const struct rec_entry_facts *facts);
enum rec_verdict rec_judge_entry(const struct rec_entry_facts *facts);

#endif
