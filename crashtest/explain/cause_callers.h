/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers: one line that stores, flushes or fences for several callers. Where it is right for one caller and
 * wrong for another, the cause is this caller's.
 */
#ifndef CRASHTEST_CAUSE_CALLERS_H
#define CRASHTEST_CAUSE_CALLERS_H

#include "callers.h"
#include "need.h"

enum { CAUSE_WAITING_MAX = 64 };

/* What the log says of a need's lines. */
struct cause_helping {
	bool early_flushes; /* what is done at this site is a flush or a fence, for somebody else's stores */
	bool lost_fences;
	/* a store at lost's line, called from elsewhere, is durable before what relies on it */
	bool right_elsewhere;
	struct cause_waiting {
		uint64_t thread;
		nvw_off line;
		bool stored, flushed;
	} waiting[CAUSE_WAITING_MAX]; /* such stores that are not durable yet */
	unsigned next;
};

/* Takes the next record of the log. Only the log of a host program tells it anything. */
void cause_helping_look(struct cause_helping *helping, const struct ct_stores *stores,
	const struct ct_need *need, const struct nvw_log_record *record);

/* Called last. Returns sites of calls that tell lost and early from others of their line; 0: not needed. */
void cause_helping_callers(const struct cause_helping *helping, const struct ct_stores *stores,
	const struct ct_need *need, uint32_t *ret_lost, uint32_t *ret_early);

#endif
