/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits on the states of an instant that no record of a log can say (edit.h): stores that persist together,
 * that are durable at once, or that persist before others. A state's levels are raised, or lowered, until
 * they keep to them.
 *
 * Limits name stores by their numbers in the log, as the cells of permitted models do. A store that its model
 * has joined to a later one, and stores under pmreorder, are not limited: more states are permitted, never
 * fewer.
 */
#ifndef CRASHTEST_LIMITS_H
#define CRASHTEST_LIMITS_H

#include <sys/param.h>

#include "core/each.h"

#include "medium.h"

enum { CT_ORDERS_MAX = 8 };

/* Notes a store in each of its orders that keeps the last one. */
static inline void ct_orders_raise(uint64_t last[CT_ORDERS_MAX], uint8_t orders, uint64_t number)
{
	NVW_EACH_BIT(k, orders) {
		last[k] = MAX(last[k], number);
	}
}

struct ct_limit {
	uint32_t together;     /* stores of one number persist together; 0: none */
	uint8_t before, after; /* bit i: of order i, this is what persists first, or what persists later */
	uint8_t durable; /* at once; bit i: by assumption i of that kind, the last bit: by any further one */
};

struct ct_limits {
	uint64_t stores; /* in the log: number n at n - 1 */
	struct ct_limit *limit;
	uint32_t groups;      /* highest number of stores together */
	uint64_t *stamp, now; /* for ct_limits_keep() */
	/* Assumptions, and orders, that exclude a state of some instant that the model permits: by
	 * ct_limits_look(). */
	uint8_t durable_matter, orders_matter;
};

/* NULL without memory. */
struct ct_limits *ct_limits_create(uint64_t stores, uint32_t groups);
void ct_limits_destroy(struct ct_limits *limits);

/* True if the store that comes next persists together with the last one: there is no instant between the
 * two. */
static inline bool ct_limits_join(const struct ct_medium *m)
{
	const struct ct_limits *const l = m->rules.limits;

	return l && m->stores >= 1 && m->stores < l->stores && l->limit[m->stores].together != 0 &&
	       l->limit[m->stores].together == l->limit[m->stores - 1].together;
}

/* True if the store that comes next is durable at once: an instant lies before it. */
static inline bool ct_limits_complete(const struct ct_medium *m)
{
	const struct ct_limits *const l = m->rules.limits;

	return l && m->stores < l->stores && l->limit[m->stores].durable;
}

/* Notes which of the limits exclude a state of this instant. */
NVW_CHECKED int ct_limits_look(const struct ct_medium *medium);

/* Raises levels until the state keeps to the medium's limits. */
void ct_limits_keep(const struct ct_medium *medium, unsigned *levels);

#endif
