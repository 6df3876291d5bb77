/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the words with a key in one of their versions at this instant, or in one that the log may restore:
 * references, found from what they refer to. A medium's changes keep it current, at the cost of the stores.
 */
#ifndef CRASHTEST_HOLDERS_H
#define CRASHTEST_HOLDERS_H

#include "restores.h"

/* A key of no word: the log may restore too many values in one. */
#define CT_HOLDERS_UNKNOWN UINT64_MAX

struct ct_holders {
	const struct ct_medium *medium;
	const struct ct_restores *restores;
	uint64_t (*key)(const void *plan, uint64_t word);
	const void *plan;
	bool is_started;
	struct ct_mentions keys; /* of words, by off / 8 */
	uint64_t unknown;        /* words of which the log may restore too many values */
};

void ct_holders_free(struct ct_holders *holders);
/* Finds the keys of all words, if it has not been done. */
NVW_CHECKED int ct_holders_start(struct ct_holders *holders);
/* A word has changed, or what the log may restore in it. Calls held() with every key that it had and has no
 * longer, or has and had not before. */
NVW_CHECKED int ct_holders_changed(
	struct ct_holders *holders, nvw_off off, int (*held)(void *context, uint64_t key), void *context);
/* All of them are found anew. */
NVW_CHECKED int ct_holders_restart(struct ct_holders *holders);
/* As nvw_pool_holders(); max + 1 if it is not known. */
unsigned ct_holders_of(const struct ct_holders *holders, uint64_t key, nvw_off *ret_offs, unsigned max);

#endif
