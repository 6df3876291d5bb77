/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far a set of stores reaches by barriers, in one pass over the stores of a kernel: the earliest epochs
 * of what is lost, or the latest of what is durable. A store that a barrier orders behind a lost one is lost
 * as well, and one that it orders before a durable one is durable (gope18, equations 1 to 3).
 */
#ifndef CRASHTEST_REACH_H
#define CRASHTEST_REACH_H

#include <stdlib.h>
#include <string.h>

#include "medium.h"

struct ct_reach {
	bool upward; /* of what is lost, in the order of the log; else of what is durable, backwards */
	uint32_t *item, *group, kernel;
};

/* Of no store; false without memory. */
static inline bool ct_reach_begin(const struct ct_medium *m, bool upward, struct ct_reach *ret)
{
	const size_t count = m->work_items + 1;
	const uint32_t none = upward ? UINT32_MAX : 0;
	uint32_t *const both = malloc(2 * count * sizeof *both);

	if (both) {
		memset(both, (int)none, 2 * count * sizeof *both);
		*ret = (struct ct_reach){upward, both, both + count, none};
	}
	return both;
}
static inline void ct_reach_end(struct ct_reach *r)
{
	free(r->item);
}

/* True if what was met comes first on the way. */
static inline bool ct_reach_is_beyond(const struct ct_reach *r, uint64_t met, uint64_t now)
{
	return r->upward ? met < now : met > now;
}
static inline void ct_reach_meet(const struct ct_reach *r, uint32_t *met, uint32_t now)
{
	if (ct_reach_is_beyond(r, now, *met)) {
		*met = now;
	}
}

static inline void ct_reach_add(struct ct_reach *r, const struct ct_stamp *s)
{
	NVW_DEEP_INVARIANT(r->item);
	ct_reach_meet(r, &r->item[s->work_item], s->epoch_wi);
	ct_reach_meet(r, &r->group[s->group], s->epoch_wg);
	ct_reach_meet(r, &r->kernel, s->epoch_kr);
}
/* Does a barrier order the store behind a lost one, or before a durable one? */
static inline bool ct_reach_has(const struct ct_reach *r, const struct ct_stamp *s)
{
	NVW_DEEP_INVARIANT(r->item);
	return ct_reach_is_beyond(r, r->item[s->work_item], s->epoch_wi) ||
	       ct_reach_is_beyond(r, r->group[s->group], s->epoch_wg) ||
	       ct_reach_is_beyond(r, r->kernel, s->epoch_kr);
}

#endif
