/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits on the states of an instant. See limits.h. */
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "states.h"

struct ct_limits *ct_limits_create(uint64_t stores, uint32_t groups)
{
	struct ct_limits *const l = calloc(1, sizeof *l);

	if (l) {
		l->stores = stores;
		l->groups = groups;
		l->limit = calloc(stores + 1, sizeof *l->limit);
		l->stamp = calloc((size_t)groups + 1, sizeof *l->stamp);
	}
	if (l && (!l->limit || !l->stamp)) {
		ct_limits_destroy(l);
		return NULL;
	}
	return l;
}

void ct_limits_destroy(struct ct_limits *l)
{
	if (l) {
		free(l->limit);
		free(l->stamp);
		free(l);
	}
}

/* ---- Keeping to them ----------------------------------------------------------------------------------- */

/* What the stores of one kind, durable or lost, come to. */
struct extent {
	/* number of the last durable one that comes later; of the first lost one that comes first */
	uint64_t order[CT_ORDERS_MAX];
};

static const struct ct_limit *limit_of(const struct ct_medium *m, const struct ct_cell *c, unsigned version)
{
	static const struct ct_limit none;
	const uint64_t number = c->write[version];

	NVW_DEEP_INVARIANT(version < c->count);
	return number >= 1 && number <= m->rules.limits->stores ? &m->rules.limits->limit[number - 1] : &none;
}

static bool is_stamped(const struct ct_limits *l, uint32_t together)
{
	NVW_DEEP_INVARIANT(together <= l->groups);
	return together != 0 && l->stamp[together] == l->now;
}

static void lower_orders(uint64_t first[CT_ORDERS_MAX], uint8_t orders, uint64_t number)
{
	NVW_EACH_BIT(k, orders) {
		first[k] = MIN(first[k], number);
	}
}

/* What a store asks of others: a durable one of those before it, a lost one of those after it. */
static void see_store(
	const struct ct_medium *m, const struct ct_cell *c, unsigned version, bool durable, struct extent *e)
{
	const struct ct_limit *const at = limit_of(m, c, version);
	struct ct_limits *const l = m->rules.limits;

	NVW_DEEP_INVARIANT(version < c->count);
	l->stamp[at->together] = l->now;
	if (durable) {
		ct_orders_raise(e->order, at->after, c->write[version]);
	} else {
		lower_orders(e->order, at->before, c->write[version]);
	}
}

static void see_cell(
	const struct ct_medium *m, const struct ct_cell *c, unsigned level, bool durable, struct extent *e)
{
	NVW_FOR(v, c->count) {
		if (ct_cell_has(c, level, v) == durable) {
			see_store(m, c, v, durable, e);
		}
	}
}

static void see_all(const struct ct_medium *m, const unsigned *levels, bool durable, struct extent *e)
{
	m->rules.limits->now++;
	NVW_FOR(i, m->cell_count) {
		see_cell(m, &m->cell[i], levels[i], durable, e);
	}
}

static bool must_persist(
	const struct ct_medium *m, const struct extent *e, const struct ct_cell *c, unsigned version)
{
	NVW_DEEP_INVARIANT(version < c->count);

	const struct ct_limit *const at = limit_of(m, c, version);
	bool must = at->durable || is_stamped(m->rules.limits, at->together) ||
		    (at->together != 0 && at->together < m->landed.capacity &&
			    ((const uint8_t *)m->landed.at)[at->together]);

	NVW_EACH_BIT(k, at->before) {
		must |= c->write[version] < e->order[k];
	}
	return must;
}

static bool raise_once(const struct ct_medium *m, unsigned *levels)
{
	struct extent e;
	bool changed = false;

	memcpy(e.order, m->landed_after, sizeof e.order);
	see_all(m, levels, true, &e);
	NVW_FOR(i, m->cell_count) {
		const struct ct_cell *const c = &m->cell[i];

		for (unsigned v = c->count; v > 0; v--) {
			if (!ct_cell_has(c, levels[i], v - 1) && must_persist(m, &e, c, v - 1)) {
				ct_levels_raise(m, i, ct_cell_with(c, levels[i], v - 1), levels);
				changed = true;
			}
		}
	}
	return changed;
}

void ct_limits_keep(const struct ct_medium *m, unsigned *levels)
{
	while (m->rules.limits && raise_once(m, levels)) {
	}
}

static bool must_be_lost(
	const struct ct_medium *m, const struct extent *e, const struct ct_cell *c, unsigned version)
{
	NVW_DEEP_INVARIANT(version < c->count);

	const struct ct_limit *const at = limit_of(m, c, version);
	bool must = is_stamped(m->rules.limits, at->together);

	NVW_EACH_BIT(k, at->after) {
		must |= c->write[version] > e->order[k];
	}
	return must;
}

static bool lower_once(const struct ct_medium *m, unsigned *levels)
{
	struct extent e;
	bool changed = false;

	memset(e.order, 0xFF, sizeof e.order); /* none */
	see_all(m, levels, false, &e);
	NVW_FOR(i, m->cell_count) {
		const struct ct_cell *const c = &m->cell[i];

		NVW_FOR(v, c->count) {
			if (ct_cell_has(c, levels[i], v) && must_be_lost(m, &e, c, v)) {
				ct_levels_lower(m, i, ct_cell_without(c, levels[i], v), levels);
				changed = true;
			}
		}
	}
	return changed;
}

void ct_states_raise(const struct ct_medium *m, unsigned cell, unsigned level, unsigned *levels)
{
	NVW_DEEP_INVARIANT(cell < m->cell_count && level <= m->cell[cell].count);
	ct_levels_raise(m, cell, level, levels);
	ct_limits_keep(m, levels);
}

void ct_states_raise_all(const struct ct_medium *m, unsigned first, unsigned end, unsigned *levels)
{
	NVW_DEEP_INVARIANT(first <= end && end <= m->cell_count);
	ct_levels_raise_all(m, first, end, levels);
	ct_limits_keep(m, levels);
}

/* What is durable for certain stays so: then the level comes back. */
void ct_states_lower(const struct ct_medium *m, unsigned cell, unsigned level, unsigned *levels)
{
	NVW_DEEP_INVARIANT(cell < m->cell_count && level <= m->cell[cell].count);
	ct_levels_lower(m, cell, level, levels);
	while (m->rules.limits && lower_once(m, levels)) {
	}
	ct_limits_keep(m, levels);
}

/* ---- Whether they matter ------------------------------------------------------------------------------- */

/* With this store, and what the model requires with it, durable and all others lost: is one lost that had to
 * persist first? */
static uint8_t broken_by(
	const struct ct_medium *m, unsigned cell, unsigned version, uint8_t orders, unsigned *levels)
{
	const uint64_t number = m->cell[cell].write[version];
	uint8_t broken = 0;

	NVW_INVARIANT(version < m->cell[cell].count);
	memset(levels, 0, m->cell_count * sizeof *levels);
	ct_levels_raise(m, cell, version + 1, levels);
	NVW_FOR(i, m->cell_count) {
		for (unsigned v = levels[i]; v < m->cell[i].count; v++) {
			if (m->cell[i].write[v] < number) {
				broken |= limit_of(m, &m->cell[i], v)->before;
			}
		}
	}
	return broken & orders;
}

/* Lost, though a later one is durable for certain. */
static uint8_t broken_by_landed(const struct ct_medium *m, const struct ct_cell *c, unsigned version)
{
	NVW_DEEP_INVARIANT(version < c->count);

	uint8_t broken = 0;

	NVW_FOR(k, CT_ORDERS_MAX) {
		broken |= (unsigned)(c->write[version] < m->landed_after[k]) << k;
	}
	return broken & limit_of(m, c, version)->before;
}

static void look_at_store(const struct ct_medium *m, unsigned cell, unsigned version, unsigned *levels)
{
	struct ct_limits *const l = m->rules.limits;
	const struct ct_limit *const at = limit_of(m, &m->cell[cell], version);
	const uint8_t open = at->after & (uint8_t)~l->orders_matter;

	l->durable_matter |= at->durable;
	l->orders_matter |= broken_by_landed(m, &m->cell[cell], version);
	if (open != 0) {
		l->orders_matter |= broken_by(m, cell, version, open, levels);
	}
}

int ct_limits_look(const struct ct_medium *m)
{
	struct ct_limits *const l = m->rules.limits;

	if (!l || m->cell_count == 0) {
		return 0;
	}
	unsigned *const levels = malloc(m->cell_count * sizeof *levels);

	NVW_ALLOCATED(levels, "no memory for the levels of %u cells", m->cell_count);
	NVW_FOR(i, m->cell_count) {
		NVW_FOR(v, m->cell[i].count) {
			look_at_store(m, i, v, levels);
		}
	}
	free(levels);
	return 0;
}
