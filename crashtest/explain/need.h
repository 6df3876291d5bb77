/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a failing state lacks, found by need: which event of the run makes the state fail without the lost
 * stores, and not with them. Every answer is that of recovery and check on a state that was made for the
 * question; nothing follows from places in the source or from numbers alone.
 *
 *	order	the lost store must be durable before the event: another store, a write of the host, an
 *		acknowledgement
 *	apart	the crash fell between two stores, with nothing lost that was stored by then
 *	logic	the state fails with everything durable, and no later store mends it: no crash is needed
 */
#ifndef CRASHTEST_NEED_H
#define CRASHTEST_NEED_H

#include "prefix.h"

enum ct_need_form { CT_NEED_UNKNOWN, CT_NEED_ORDER, CT_NEED_APART, CT_NEED_LOGIC };

struct ct_need {
	enum ct_need_form form;
	/* Order: the lost store that is closest to early. Apart: the first missing store, number 0 if the log
	 * ends before it. */
	struct ct_event lost;
	/* Order: what relies on it. Apart: the last durable one, a store or an acknowledgement. Logic: what
	 * completes the failure. */
	struct ct_event early;
	/* Order between stores: an acknowledgement that relies on the lost store, too; number 0: none. */
	struct ct_event ack;
	/* Apart: without early, the stores behind it fail as well. */
	bool fails_reversed;
	/* Apart: an earlier kernel stored at lost's line, too, and the failure went on: no order ends it. */
	bool goes_on;
	bool guessed; /* no test of a state has shown this: the closest stores of the two sides */
	/* Apart: the stores of one work-item from early to lost, one a source place. */
	unsigned group_count, group_more;
	struct ct_store group[CT_GROUP_MAX];
	struct ct_losses losses;
	unsigned tests;
	bool bounded; /* out of tests */
};

struct ct_need_question {
	struct ct_prefix *prefix;
	const uint8_t *image;  /* the bytes of the failing state */
	const uint8_t *filled; /* their map (core/filled.h) */
	unsigned unit_bytes;   /* that persist together, or in order: 8 or 64 */
	const char *text;      /* of the violation */
	uint64_t operation; /* without whose acknowledgement nothing would be wrong, plus 1; 0: not known */
	bool raises;        /* lost units may be made durable one by one */
	unsigned tests_max;
	/* Recovers and checks; fills findings. */
	void (*judge)(void *context, struct ct_image *image, const struct nvw_acks *acks);
	void *context;
	const struct nvw_findings *findings;
};

/* Fails only without memory. ret_need is freed by ct_need_free(). */
NVW_CHECKED int ct_need_find(const struct ct_need_question *question, struct ct_need *ret_need);
void ct_need_free(struct ct_need *need);

#endif
