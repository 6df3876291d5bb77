/* SPDX-License-Identifier: BSD-3-Clause */
/* The search for what a failing state lacks (need.c), and its tests of other states of the run
 * (need_search.c). */
#ifndef CRASHTEST_NEED_SEARCH_H
#define CRASHTEST_NEED_SEARCH_H

#include "core/invariant.h"

#include "losses.h"
#include "need.h"

struct need_search {
	const struct ct_need_question *q;
	struct ct_prefix *p;
	struct ct_need *need;
	struct nvw_findings with; /* the violations of the last state that was tested with losses */
	char text[NVW__FINDING_TEXT];
};

static inline const struct ct_event *need_event(const struct need_search *s, uint64_t i)
{
	NVW_DEEP_INVARIANT(i < s->p->count);
	return &s->p->event[i];
}

/* Counts a test; false: there may be no more. */
bool need_may_test(struct need_search *s);
/* True if the state that is made fails; it is undone. */
bool need_fails_now(struct need_search *s);

/* True if the state after so many events fails: in any way; with the search's text; as the question says, but
 * for numbers, and then text is how. */
bool need_fails(struct need_search *s, uint64_t stores, uint64_t acks, const struct ct_losses *losses);
bool need_fails_with_text(
	struct need_search *s, uint64_t stores, uint64_t acks, const struct ct_losses *losses);
bool need_fails_likewise(struct need_search *s, uint64_t events, const struct ct_losses *losses);
/* The same with nothing lost. */
bool need_fails_somehow(struct need_search *s, uint64_t events);

/* True if it is for the losses that the state after so many events fails; then text is how. Texts are
 * compared with their numbers: a check that tells of one violation alone tells of one key or another. */
bool need_fails_for_losses(struct need_search *s, uint64_t events);

bool need_has_text(const struct nvw_findings *findings, const char *text);
bool need_is_same_item(const struct ct_store *a, const struct ct_store *b);
/* The event is a store of the other's work-item. */
bool need_is_store_of(const struct ct_event *e, const struct ct_store *by);
/* 3: both stores are of the same work-item, 2: of one group, 1: of one kernel, 0: of different kernels. */
unsigned need_related(const struct ct_store *a, const struct ct_store *b);

#endif
