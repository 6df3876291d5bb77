/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many different states a run may leave. Instants share states, and combinations of levels may be equal:
 * a store of what a word has, or had, makes no new one. So states are listed and compared while they are few.
 * Beyond that the combinations of different contents are counted; their number is exact where a word never
 * has a content again that it had since the last acknowledgement, else it is a bound.
 */
#ifndef CRASHTEST_DISTINCT_H
#define CRASHTEST_DISTINCT_H

#include "../table.h"
#include "states.h"

/* Zero-initialise. */
struct ct_distinct {
	struct ct_table keys;       /* of states, and of contents of words */
	struct ct_counted *counted; /* [cell] */
	uint64_t counted_room;
	uint64_t steps;  /* spent on lists */
	uint64_t period; /* the acknowledgements: states of two periods differ */
	bool begun;
	bool unlisted; /* an instant of this period is not in the list */
	bool unsure;   /* nor is it known what words had */
	/* by the host since the last instant; then a word that had never been like that, 0: none */
	bool written;
	nvw_off unseen;
	uint64_t unseen_word;
};
void ct_distinct_free(struct ct_distinct *distinct);

/* Before each record of the host's writes is applied. */
NVW_CHECKED int ct_distinct_host(
	struct ct_distinct *distinct, const struct ct_medium *medium, const struct nvw_log_record *record);
/* At each instant, in order, with its count of levels: counts its new states once. Exact, if the levels'
 * count is, or not. */
NVW_CHECKED int ct_distinct_count(
	struct ct_distinct *distinct, struct ct_medium *medium, struct ct_count *count);

#endif
