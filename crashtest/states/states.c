/* SPDX-License-Identifier: BSD-3-Clause */
/* The states of an instant. See states.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "core/bits.h"
#include "core/order.h"

#include "mixed.h"
#include "reach.h"
#include "states.h"

/* ---- free ---------------------------------------------------------------------------------------------- */

/* A cell has not all of its levels (ct_cell.beyond), so that the instant cannot be exhausted: adds what they
 * may be at most. */
static bool lacks_states(const struct ct_medium *m, double *log2)
{
	uint64_t beyond = 0;

	NVW_EACH(cell, m->cell, m->cell_count) {
		beyond += cell->beyond;
	}
	*log2 += (double)beyond;
	return beyond > 0;
}

static void free_count(const struct ct_medium *m, struct ct_count *n)
{
	n->old_log2 = 0;
	NVW_EACH(cell, m->cell, m->cell_count) {
		n->log2 += log2(cell->count + 1.0);
		n->old_log2 += log2(cell->old_count + 1.0);
	}
	if (m->obliged) {
		n->old_log2 = -1;
	}
	n->exact = !m->inexact;
	if (lacks_states(m, &n->log2)) {
		n->exact = false;
		n->fresh = CT_COUNT_MANY;
		return;
	}
	/* A few states too many only lengthen an exhaustive walk; beyond 2^40 rounding does not matter. */
	if (n->log2 > 40) {
		n->fresh = CT_COUNT_MANY;
		return;
	}
	double fresh = round(exp2(n->log2));

	if (n->old_log2 >= 0) {
		fresh -= round(exp2(n->old_log2));
	}
	n->fresh = (uint64_t)fmin(fresh, CT_COUNT_MANY);
}

static bool free_by_number(const struct ct_medium *m, struct ct_walk *walk, uint64_t number, unsigned *levels)
{
	bool fresh = m->obliged;

	NVW_FOR(i, m->cell_count) {
		const unsigned radix = m->cell[i].count + 1;

		levels[i] = (unsigned)(number % radix);
		number /= radix;
		fresh |= levels[i] > m->cell[i].old_count;
	}
	return fresh;
}

static void free_sample(const struct ct_medium *m, struct nvw_random *r, unsigned *levels)
{
	if (nvw_random_u64(r) & 1) {
		NVW_FOR(i, m->cell_count) {
			levels[i] = (unsigned)nvw_random_below(r, m->cell[i].count + 1);
		}
		return;
	}
	/* Each further version is durable with the same random probability. */
	const uint64_t density = nvw_random_u64(r);

	NVW_FOR(i, m->cell_count) {
		levels[i] = 0;
		while (levels[i] < m->cell[i].count && nvw_random_u64(r) < density) {
			levels[i]++;
		}
	}
}

/* ---- chain: a state is given by the number of its newest store ----------------------------------------- */

static uint64_t chain_length(const struct ct_medium *m)
{
	uint64_t n = 0;

	NVW_EACH(cell, m->cell, m->cell_count) {
		n += cell->count;
	}
	return n;
}

static uint64_t chain_old(const struct ct_medium *m)
{
	uint64_t n = 0;

	NVW_EACH(cell, m->cell, m->cell_count) {
		n += cell->old_count;
	}
	return n;
}

static void chain_count(const struct ct_medium *m, struct ct_count *n)
{
	n->fresh = chain_length(m) + 1;
	n->log2 = log2((double)n->fresh);
	n->old_log2 = -1;
	n->exact = true;
	if (!m->obliged) {
		n->old_log2 = log2((double)chain_old(m) + 1);
		n->fresh -= chain_old(m) + 1;
	}
}

/* All stores up to a number are durable. */
static void chain_upto(const struct ct_medium *m, uint64_t write, unsigned *levels)
{
	NVW_EACH(c, m->cell, m->cell_count) {
		unsigned *const level = &levels[c - m->cell];

		*level = 0;
		while (*level < c->count && c->write[*level] <= write) {
			++*level;
		}
	}
}

/* The number of the n-th version in flight, from 1; 0 for none. */
static uint64_t chain_write(const struct ct_medium *m, uint64_t n)
{
	const uint64_t length = chain_length(m);
	uint64_t *all = malloc((length + 1) * sizeof *all), count = 0;
	uint64_t write = 0;

	NVW_DEEP_INVARIANT(n <= chain_length(m));
	if (!all || n == 0) {
		free(all);
		return 0;
	}
	NVW_EACH(cell, m->cell, m->cell_count) {
		memcpy(all + count, cell->write, cell->count * sizeof *all);
		count += cell->count;
	}
	qsort(all, count, sizeof *all, nvw_by_u64);
	write = all[n - 1];
	free(all);
	return write;
}

/* ---- graph --------------------------------------------------------------------------------------------- */

enum { NODES_MAX = 256, GRAPH_COUNT_MAX = 1 << 16, STEPS_MAX = 1 << 21 };

/* The stores in flight, oldest first, and for each the stores that it must precede. A node is a store, or
 * those that persist together. */
struct ct_graph {
	unsigned nodes;
	unsigned first_new; /* nodes from here on are new since the previous instant */
	struct ct_node {
		uint32_t cell[CT_MIXED_UNITS], version[CT_MIXED_UNITS];
		unsigned count;
		uint64_t after[NODES_MAX / 64];
	} node[NODES_MAX];
	uint64_t lost[NODES_MAX / 64];
	bool started, ended;
};

/* NULL: there are too many. */
static struct ct_graph *new_graph(uint64_t nodes)
{
	if (nodes > NODES_MAX) {
		return NULL;
	}
	struct ct_graph *const g = calloc(1, sizeof *g);

	if (g) {
		g->nodes = g->first_new = (unsigned)nodes;
	}
	return g;
}

/* x: the nodes of a log of both kinds; NULL: the stores in flight are. */
static bool precedes(const struct ct_medium *m, const struct ct_mixed *x, unsigned i, unsigned k)
{
	NVW_DEEP_INVARIANT(i < k);
	if (x) {
		return ct_mixed_precedes(m, &x->node[i], &x->node[k]);
	}
	const struct ct_flight *const a = &m->flight[m->flight_head + i],
				      *const b = &m->flight[m->flight_head + k];

	return (a->cell == b->cell && ct_cell_orders(&m->cell[a->cell], a->version, b->version)) ||
	       ct_stamp_precedes(&a->by, &b->by);
}

/* Returns the number of its last store. */
static uint64_t take_node(
	const struct ct_medium *m, const struct ct_mixed *x, unsigned i, struct ct_node *ret_node)
{
	if (!x) {
		const struct ct_flight *const f = &m->flight[m->flight_head + i];

		*ret_node = (struct ct_node){.cell = {f->cell}, .version = {f->version}, .count = 1};
		return f->write;
	}
	const struct ct_mixed_node *const n = &x->node[i];

	memcpy(ret_node->cell, n->cell, sizeof n->cell);
	memcpy(ret_node->version, n->version, sizeof n->version);
	ret_node->count = n->count;
	return n->write;
}

static struct ct_graph *graph_of(const struct ct_medium *m)
{
	const struct ct_mixed *const x = m->rules.mixed ? ct_mixed_of(m) : NULL;

	if (m->rules.mixed && !x) {
		return NULL;
	}
	struct ct_graph *const g = new_graph(x ? x->count : m->flight_count - m->flight_head);

	for (unsigned i = 0; g && i < g->nodes; i++) {
		const uint64_t write = take_node(m, x, i, &g->node[i]);

		if (write > m->old_stores && g->first_new == g->nodes) {
			g->first_new = i;
		}
		for (unsigned k = i + 1; k < g->nodes; k++) {
			if (precedes(m, x, i, k)) {
				nvw_set_bit(g->node[i].after, k);
			}
		}
	}
	return g;
}

static bool is_lost(const struct ct_graph *g, unsigned i)
{
	NVW_DEEP_INVARIANT(i < g->nodes);
	return nvw_has_bit(g->lost, i);
}

static bool may_lose(const struct ct_graph *g, unsigned i)
{
	NVW_DEEP_INVARIANT(i < g->nodes);
	return !NVW_ANY_BELOW(k, NODES_MAX / 64u, g->node[i].after[k] & ~g->lost[k]);
}

/* The next set of lost stores, in the order of binary numbers whose highest digit is the newest store, so
 * that sets in which everything new is lost, which an earlier instant had, come last. */
static bool graph_next(struct ct_graph *g, bool with_old)
{
	unsigned i = 0;

	if (!g->started) {
		g->started = true;
		g->ended = !with_old && g->first_new == g->nodes;
		return !g->ended;
	}
	while (i < g->nodes && (is_lost(g, i) || !may_lose(g, i))) {
		i++;
	}
	if (i == g->nodes || g->ended) {
		g->ended = true;
		return false;
	}
	nvw_set_bit(g->lost, i);
	NVW_FOR(k, i) {
		g->lost[k / 64] &= ~(UINT64_C(1) << k % 64);
	}
	if (with_old) {
		return true;
	}
	for (unsigned k = g->first_new; k < g->nodes; k++) {
		if (!is_lost(g, k)) {
			return true;
		}
	}
	g->ended = true;
	return false;
}

static void lose_version(const struct ct_medium *m, uint32_t cell, unsigned version, unsigned *levels)
{
	NVW_DEEP_INVARIANT(cell < m->cell_count && version < m->cell[cell].count);
	levels[cell] = ct_cell_without(&m->cell[cell], levels[cell], version);
}

static bool is_durable(const struct ct_medium *m, const struct ct_flight *f, const unsigned *levels)
{
	return ct_cell_has(&m->cell[f->cell], levels[f->cell], f->version);
}

static void graph_levels(const struct ct_medium *m, const struct ct_graph *g, unsigned *levels)
{
	NVW_INVARIANT(g->nodes <= NODES_MAX);
	NVW_FOR(i, m->cell_count) {
		levels[i] = m->cell[i].count;
	}
	NVW_FOR(i, g->nodes) {
		for (unsigned k = 0; is_lost(g, i) && k < g->node[i].count; k++) {
			lose_version(m, g->node[i].cell[k], g->node[i].version[k], levels);
		}
	}
}

static void graph_count(const struct ct_medium *m, struct ct_count *n)
{
	struct ct_graph *g = graph_of(m);
	uint64_t count = 0, steps = 0;

	free_count(m, n);
	n->fresh = CT_COUNT_MANY;
	if (m->cell_count == 0 && g) {
		n->exact = true;
		n->fresh = m->obliged;
		free(g);
		return;
	}
	if (!n->exact) {
		free(g);
		return;
	}
	n->exact = false;
	while (g && count < GRAPH_COUNT_MAX && steps < STEPS_MAX && graph_next(g, m->obliged)) {
		count++;
		steps += g->nodes;
	}
	if (g && g->ended) {
		n->fresh = count;
		n->exact = true;
		/* Only fresh states are counted, as if there were no others. */
		n->log2 = log2((double)count);
		n->old_log2 = -1;
	}
	free(g);
}

/* Upward, loses all stores that must persist after a lost one; else makes all durable that must persist
 * before a durable one. levels has those that are lost, or durable, at first. */
static void close_levels(const struct ct_medium *m, bool upward, uint64_t from, unsigned *levels)
{
	struct ct_reach r;

	if (m->rules.mixed) {
		ct_mixed_close(m, upward, levels);
		return;
	}
	if (!ct_reach_begin(m, upward, &r)) {
		return;
	}
	for (uint64_t i = 0; i < m->flight_count - from; i++) {
		const struct ct_flight *const f = &m->flight[upward ? from + i : m->flight_count - 1 - i];

		if (is_durable(m, f, levels) == upward && ct_reach_has(&r, &f->by)) {
			levels[f->cell] = (upward ? ct_cell_without : ct_cell_with)(
				&m->cell[f->cell], levels[f->cell], f->version);
		}
		if (is_durable(m, f, levels) != upward) {
			ct_reach_add(&r, &f->by);
		}
	}
	ct_reach_end(&r);
}

/* Half of them any combination of levels, without what must persist after a lost store; half with few and
 * recent losses. */
static void mixed_sample(const struct ct_medium *m, struct nvw_random *r, unsigned *levels)
{
	const struct ct_mixed *const x = ct_mixed_of(m);

	if (!x || x->count == 0 || (nvw_random_u64(r) & 1)) {
		free_sample(m, r, levels);
		ct_mixed_close(m, true, levels);
		return;
	}
	NVW_FOR(i, m->cell_count) {
		levels[i] = m->cell[i].count;
	}
	const unsigned reaches = 64 - (unsigned)__builtin_clzll(x->count);
	const uint64_t window = UINT64_C(1) << nvw_random_below(r, reaches + 1);

	for (bool more = true; more; more = nvw_random_below(r, 4) != 0) {
		const uint64_t back = 1 + nvw_random_below(r, MIN(window, x->count));
		const struct ct_mixed_node *const n = &x->node[x->count - back];

		lose_version(m, n->cell[0], n->version[0], levels);
	}
	ct_mixed_close(m, true, levels);
}

/* Loses some stores, recent ones more often, and with them those that must persist after them. */
static void graph_sample(const struct ct_medium *m, struct nvw_random *r, unsigned *levels)
{
	const uint64_t n = m->flight_count - m->flight_head;
	uint64_t first = m->flight_count;
	unsigned seeds = 1;

	NVW_FOR(i, m->cell_count) {
		levels[i] = m->cell[i].count;
	}
	if (n == 0) {
		return;
	}
	while (seeds < 64 && nvw_random_below(r, 4) != 0) {
		seeds++;
	}
	const unsigned reaches = 64 - (unsigned)__builtin_clzll(n);
	const uint64_t window = UINT64_C(1) << nvw_random_below(r, reaches + 1);

	if (nvw_random_below(r, 32) == 0) {
		return; /* nothing is lost */
	}
	NVW_FOR(s, seeds) {
		const uint64_t back = 1 + nvw_random_below(r, MIN(window, n));
		const struct ct_flight *const f = &m->flight[m->flight_count - back];

		lose_version(m, f->cell, f->version, levels);
		first = MIN(first, m->flight_count - back);
	}
	close_levels(m, true, first, levels);
}

/* ---- What every state keeps ---------------------------------------------------------------------------- */

/* Every durable store is older than every lost one. */
static bool is_chain(const struct ct_medium *m, const unsigned *levels)
{
	uint64_t durable = 0, lost = UINT64_MAX;

	NVW_FOR(i, m->cell_count) {
		const struct ct_cell *const c = &m->cell[i];

		if (levels[i] > 0 && c->write[levels[i] - 1] > durable) {
			durable = c->write[levels[i] - 1];
		}
		if (levels[i] < c->count && c->write[levels[i]] < lost) {
			lost = c->write[levels[i]];
		}
	}
	return durable < lost;
}

/* No store is durable that must persist after a lost one. */
static bool is_closed(const struct ct_medium *m, const unsigned *levels)
{
	struct ct_reach r;
	bool closed = true;

	if (m->rules.mixed) {
		return ct_mixed_is_closed(m, levels);
	}
	if (!ct_reach_begin(m, true, &r)) {
		return true;
	}
	for (uint64_t i = m->flight_head; i < m->flight_count && closed; i++) {
		const struct ct_flight *const f = &m->flight[i];

		if (is_durable(m, f, levels)) {
			closed = !ct_reach_has(&r, &f->by);
		} else {
			ct_reach_add(&r, &f->by);
		}
	}
	ct_reach_end(&r);
	return closed;
}

void ct_walk_end(struct ct_walk *w)
{
	free(w->graph);
	*w = (struct ct_walk){0};
}

static bool graph_by_number(const struct ct_medium *m, struct ct_walk *w, uint64_t number, unsigned *levels)
{
	NVW_INVARIANT(m->instant > 0);
	if (!w->graph || w->instant != m->instant || w->next > number) {
		ct_walk_end(w);
		w->graph = graph_of(m);
		w->instant = m->instant;
	}
	while (w->graph && w->next <= number) {
		if (!graph_next(w->graph, m->obliged)) {
			return false;
		}
		w->next++;
	}
	if (w->graph) {
		graph_levels(m, w->graph, levels);
	}
	return w->graph;
}

static void graph_or_mixed_sample(const struct ct_medium *m, struct nvw_random *random, unsigned *levels)
{
	if (m->rules.mixed) {
		mixed_sample(m, random, levels);
	} else {
		graph_sample(m, random, levels);
	}
}

/* ---- The three of them ------------------------------------------------------------------------------- */

static bool chain_by_number(
	const struct ct_medium *m, struct ct_walk *walk, uint64_t number, unsigned *levels)
{
	chain_upto(m, chain_write(m, number), levels);
	return m->obliged || number > chain_old(m);
}

static void chain_sample(const struct ct_medium *m, struct nvw_random *random, unsigned *levels)
{
	chain_upto(m, chain_write(m, nvw_random_below(random, chain_length(m) + 1)), levels);
}

static void chain_lower(const struct ct_medium *m, uint64_t write, unsigned *levels)
{
	chain_upto(m, write - 1, levels);
}

static void graph_raise(const struct ct_medium *m, uint64_t write, unsigned *levels)
{
	close_levels(m, false, m->flight_head, levels);
}

static void graph_lower(const struct ct_medium *m, uint64_t write, unsigned *levels)
{
	close_levels(m, true, m->flight_head, levels);
}

/* How the models combine levels. */
static const struct combination {
	void (*count)(const struct ct_medium *m, struct ct_count *n);
	bool (*by_number)(const struct ct_medium *m, struct ct_walk *walk, uint64_t number, unsigned *levels);
	void (*sample)(const struct ct_medium *m, struct nvw_random *random, unsigned *levels);
	/* With the stores that must be durable before those that are, whose newest is this one; without those
	 * that must be durable after one that is lost. NULL: there are none. */
	void (*raise)(const struct ct_medium *m, uint64_t write, unsigned *levels);
	void (*lower)(const struct ct_medium *m, uint64_t write, unsigned *levels);
} combinations[] = {
	[CT_FREE] = {free_count, free_by_number, free_sample, NULL, NULL},
	[CT_CHAIN] = {chain_count, chain_by_number, chain_sample, chain_upto, chain_lower},
	[CT_GRAPH] = {graph_count, graph_by_number, graph_or_mixed_sample, graph_raise, graph_lower},
};

static const struct combination *combination_of(const struct ct_medium *m)
{
	return &combinations[ct_medium_levels(m)];
}

/* Does the model permit these levels? */
__attribute__((unused)) static bool is_permitted(const struct ct_medium *m, const unsigned *levels)
{
	NVW_FOR(i, m->cell_count) {
		if (levels[i] > m->cell[i].count) {
			return false;
		}
	}
	switch (ct_medium_levels(m)) {
	case CT_CHAIN:
		return is_chain(m, levels);
	case CT_GRAPH:
		return is_closed(m, levels);
	case CT_FREE:
		break;
	}
	return true;
}

/* ---- All ----------------------------------------------------------------------------------------------- */

int ct_states_count(const struct ct_medium *m, struct ct_count *ret_count)
{
	*ret_count = (struct ct_count){0};
	combination_of(m)->count(m, ret_count);
	ret_count->exact &= !m->rules.limits; /* limits are not counted */
	return 0;
}

uint64_t ct_states_numbers(const struct ct_medium *m)
{
	struct ct_count n;

	if (ct_medium_levels(m) == CT_CHAIN) {
		return chain_length(m) + 1;
	}
	if (ct_states_count(m, &n)) {
		return 0;
	}
	return ct_medium_levels(m) == CT_GRAPH ? n.fresh : (uint64_t)round(exp2(n.log2));
}

bool ct_states_by_number(const struct ct_medium *m, struct ct_walk *walk, uint64_t number, unsigned *levels)
{
	const bool is_there = combination_of(m)->by_number(m, walk, number, levels);

	NVW_DEEP_INVARIANT(!is_there || is_permitted(m, levels));
	return is_there;
}

void ct_states_sample(const struct ct_medium *m, struct nvw_random *random, unsigned *levels)
{
	combination_of(m)->sample(m, random, levels);
	NVW_DEEP_INVARIANT(is_permitted(m, levels));
}

/* With the stores that must be durable before those that are. newest: the number of the newest one. */
static void close_raised(const struct ct_medium *m, uint64_t newest, unsigned *levels)
{
	const struct combination *const by = combination_of(m);

	if (by->raise) {
		by->raise(m, newest, levels);
	}
	NVW_DEEP_INVARIANT(is_permitted(m, levels));
}

void ct_levels_raise(const struct ct_medium *m, unsigned cell, unsigned level, unsigned *levels)
{
	NVW_INVARIANT(cell < m->cell_count && level <= m->cell[cell].count);
	const unsigned joined = ct_cell_join(&m->cell[cell], levels[cell], level);

	if (joined != levels[cell]) {
		levels[cell] = joined;
		close_raised(m, m->cell[cell].write[joined - 1], levels);
	}
}

void ct_levels_raise_all(const struct ct_medium *m, unsigned first, unsigned end, unsigned *levels)
{
	uint64_t newest = 0;

	NVW_INVARIANT(end <= m->cell_count);
	for (unsigned i = first; i < end; i++) {
		const struct ct_cell *const c = &m->cell[i];

		if (levels[i] < c->count) {
			levels[i] = c->count;
			newest = MAX(newest, c->write[c->count - 1]);
		}
	}
	if (newest != 0) {
		close_raised(m, newest, levels);
	}
}

void ct_levels_lower(const struct ct_medium *m, unsigned cell, unsigned level, unsigned *levels)
{
	const struct combination *const by = combination_of(m);

	NVW_INVARIANT(cell < m->cell_count);
	if (level >= levels[cell]) {
		return;
	}
	levels[cell] = ct_cell_meet(&m->cell[cell], levels[cell], level);
	if (by->lower) {
		by->lower(m, m->cell[cell].write[level], levels);
	}
	NVW_DEEP_INVARIANT(is_permitted(m, levels));
}
