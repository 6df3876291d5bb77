/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transactions of libpmemobj that are trusted (--trust=transactions): after a crash, recovery restores what a
 * transaction has added to its undo log, whatever is durable of the stores since then. So states that differ
 * only in such stores are one for every check that opens the pool, and that without them is tested for all.
 *
 * A version of a unit is *hidden* if it changes bytes of added ranges alone, and follows their adds. At an
 * instant cells are without hidden versions; between instants they have all. A range holds
 *   (1) when every store within the call that added it is durable, as its undo entry then is, and those of
 *       the thread's earlier ones are: recovery reads the log up to the first entry that is not whole;
 *   (2) up to the first fence of the thread's commit or abort: no log is taken back before that. What is not
 *       durable then is uncertain like any store.
 * The oldest of the ranges with a byte counts, as libpmemobj keeps its first content alone. A range without
 * an entry (POBJ_XADD_NO_SNAPSHOT, an object that is new) never holds: a new object is not restored, and is
 * not reached only if nothing wrong leads there.
 *
 * What is trusted is that recovery restores what a whole log says. Entries that are not durable are not, so a
 * library that forgets to flush them is seen. --trust=none sees the rest.
 */
#ifndef CRASHTEST_TRUST_H
#define CRASHTEST_TRUST_H

#include "medium.h"

/* A transaction's record, and each record after it was applied. */
NVW_CHECKED int ct_trust_apply(struct ct_medium *medium, const struct nvw_log_record *record);
/* At an instant; when it is left. */
NVW_CHECKED int ct_trust_hide(struct ct_medium *medium);
void ct_trust_show(struct ct_medium *medium);
void ct_trust_free(struct ct_medium *medium);

#endif
