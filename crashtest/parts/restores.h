/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the undo log entries that can name a word, in any version that their words have at this instant.
 * It follows the changes of a medium, so it costs what the stores to the log do.
 */
#ifndef CRASHTEST_RESTORES_H
#define CRASHTEST_RESTORES_H

#include "mentions.h"

struct ct_restores {
	const struct ct_medium *medium;
	struct nvw_pool_geometry geometry;
	/* The offsets of words that entries name, each with the latest epoch in which it does; an entry is
	 * stream * entries of a log + number. */
	struct ct_mentions words;
	uint64_t *completed; /* by stream: epochs up to this have completed in every state */
};

/* What a change tells: named() gets every word that an entry named or names, settled() every word that an
 * entry no longer restores because its epoch has completed. */
struct ct_restores_told {
	int (*named)(void *context, nvw_off off);
	int (*settled)(void *context, nvw_off off);
	void *context;
};

NVW_CHECKED int ct_restores_create(const struct ct_medium *medium, const struct nvw_pool_geometry *geometry,
	struct ct_restores *ret_restores);
void ct_restores_free(struct ct_restores *restores);

/* A word of the log or of the epoch status table has changed. *ret_fell: fewer epochs are known to have
 * completed, which nobody can have relied on. */
NVW_CHECKED int ct_restores_changed(
	struct ct_restores *restores, nvw_off off, const struct ct_restores_told *told, bool *ret_fell);

/* The entries that can restore the word, in the order in which the first that does decides; at most max. How
 * many there are. */
unsigned ct_restores_of(const struct ct_restores *restores, nvw_off off, uint32_t *ret_entries, unsigned max);

/* The values that entries can restore in the word, at most max. How many there are; if more than max, at
 * least so many. */
unsigned ct_restores_values(
	const struct ct_restores *restores, nvw_off off, uint64_t *ret_values, unsigned max);

/* Whether all that the entry can restore at this instant, in any state, is one value. */
bool ct_restores_one_value(const struct ct_restores *restores, uint32_t entry, uint64_t *ret_value);

#endif
