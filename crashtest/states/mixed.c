/* SPDX-License-Identifier: BSD-3-Clause */
/* Host code and kernels in one log. See mixed.h. All orders lead from earlier to later stores, so that one
 * pass closes a set. */
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "core/array.h"
#include "core/order.h"

#include "mixed.h"
#include "reach.h"

void ct_mixed_free(struct ct_mixed *x)
{
	free(x->node);
	free(x->bound);
	*x = (struct ct_mixed){0};
}

/* ---- Nodes --------------------------------------------------------------------------------------------- */

static bool add_versions(const struct ct_medium *m, struct ct_mixed *x, uint32_t cell)
{
	NVW_DEEP_INVARIANT(cell < m->cell_count);

	const struct ct_cell *const c = &m->cell[cell];

	if (!NVW_ROOM(x->node, x->room, x->count + c->count)) {
		return false;
	}
	NVW_FOR(v, c->count) {
		const struct ct_flight *const f = ct_medium_flight(m, c->write[v]);

		if (!ct_cell_is_first(c, v)) {
			continue;
		}
		x->node[x->count++] = (struct ct_mixed_node){.write = c->write[v],
			.instruction = f->kernel ? 0 : f->by.group,
			.by = f->by,
			.kernel = f->kernel,
			.line = (uint32_t)(c->off / NVW_LOG_LINE_BYTES),
			.count = 1,
			.cell = {cell},
			.version = {v}};
	}
	return true;
}

/* The stores of one instruction of host code in a line follow each other. */
static void join_instructions(struct ct_mixed *x)
{
	uint64_t kept = 0;

	NVW_INVARIANT(x->count <= x->room);
	NVW_EACH(node, x->node, x->count) {
		const struct ct_mixed_node n = *node;
		struct ct_mixed_node *const last = kept ? &x->node[kept - 1] : NULL;

		if (last && n.kernel == 0 && last->kernel == 0 && n.instruction == last->instruction &&
			n.line == last->line && last->count < CT_MIXED_UNITS) {
			last->cell[last->count] = n.cell[0];
			last->version[last->count++] = n.version[0];
			last->write = n.write;
		} else {
			x->node[kept++] = n;
		}
	}
	x->count = kept;
}

/* Lines get numbers without gaps. */
static bool number_lines(struct ct_mixed *x)
{
	uint32_t *const line = malloc((x->count + 1) * sizeof *line);
	uint32_t n = 0, kept = 0;

	if (!line || !NVW_ROOM(x->bound, x->bound_room, x->count + 1)) {
		free(line);
		return false;
	}
	NVW_EACH(node, x->node, x->count) {
		line[n] = node->line;
		n += node->kernel == 0;
	}
	qsort(line, n, sizeof *line, nvw_by_u32);
	NVW_FOR(i, n) {
		if (i == 0 || line[i] != line[i - 1]) {
			line[kept++] = line[i];
		}
	}
	NVW_EACH(node, x->node, x->count) {
		if (node->kernel == 0) {
			const uint32_t *const at = bsearch(&node->line, line, kept, sizeof *line, nvw_by_u32);

			node->line = (uint32_t)(at - line);
		}
	}
	x->lines = kept;
	free(line);
	return true;
}

static bool make(const struct ct_medium *m, struct ct_mixed *x)
{
	x->count = 0;
	NVW_FOR(i, m->cell_count) {
		if (!add_versions(m, x, i)) {
			return false;
		}
	}
	if (x->count > 0) {
		qsort(x->node, x->count, sizeof *x->node, nvw_by_u64);
	}
	join_instructions(x);
	return number_lines(x);
}

const struct ct_mixed *ct_mixed_of(const struct ct_medium *m)
{
	struct ct_mixed *const x = m->mixed;

	if (x->record != m->record + 1) {
		if (!make(m, x)) {
			return NULL;
		}
		x->record = m->record + 1;
	}
	return x;
}

/* ---- Order --------------------------------------------------------------------------------------------- */

static bool is_chained(const struct ct_medium *m)
{
	return ct_model_info(m->rules.model)->axioms & CT_A(VISIBILITY);
}

static bool has_equations(const struct ct_medium *m)
{
	return ct_model_info(m->rules.model)->levels == CT_GRAPH;
}

/* True if the model orders a version of a unit and the node's version of the same unit. */
static bool orders_unit(
	const struct ct_cell *c, uint32_t cell, unsigned version, const struct ct_mixed_node *b)
{
	return NVW_ANY_BELOW(k, b->count, cell == b->cell[k] && ct_cell_orders(c, version, b->version[k]));
}

static bool share_bytes(
	const struct ct_medium *m, const struct ct_mixed_node *a, const struct ct_mixed_node *b)
{
	return NVW_ANY_BELOW(i, a->count, orders_unit(&m->cell[a->cell[i]], a->cell[i], a->version[i], b));
}

bool ct_mixed_precedes(
	const struct ct_medium *m, const struct ct_mixed_node *a, const struct ct_mixed_node *b)
{
	if (share_bytes(m, a, b)) {
		return true;
	}
	if (a->kernel == 0 || b->kernel == 0) {
		return a->kernel == b->kernel && a->line == b->line && a->instruction < b->instruction;
	}
	return is_chained(m) ||
	       (has_equations(m) && a->kernel == b->kernel && ct_stamp_precedes(&a->by, &b->by));
}

static bool has(const struct ct_medium *m, const struct ct_mixed_node *n, unsigned i, const unsigned *levels)
{
	NVW_DEEP_INVARIANT(i < n->count);
	return ct_cell_has(&m->cell[n->cell[i]], levels[n->cell[i]], n->version[i]);
}

bool ct_mixed_is_durable(const struct ct_medium *m, const struct ct_mixed_node *n, const unsigned *levels)
{
	return !NVW_ANY_BELOW(i, n->count, !has(m, n, i, levels));
}

static bool is_lost(const struct ct_medium *m, const struct ct_mixed_node *n, const unsigned *levels)
{
	return !NVW_ANY_BELOW(i, n->count, has(m, n, i, levels));
}

/* What a pass has met: host code by line, the running kernel by epoch, and whether a store of any kernel. */
struct pass {
	const struct ct_mixed *of;
	struct ct_reach reach; /* of the kernel that runs */
	uint64_t *line;        /* the instruction that orders the most, by line */
	bool chained;          /* a store of a kernel */
};

/* False without memory. The lines are the medium's, as the nodes are. */
static bool begin(const struct ct_medium *m, bool upward, struct pass *ret)
{
	const struct ct_mixed *const x = ct_mixed_of(m);

	if (!x || !ct_reach_begin(m, upward, &ret->reach)) {
		return false;
	}
	NVW_INVARIANT(x->lines <= x->count);
	ret->of = x;
	ret->line = x->bound;
	ret->chained = false;
	memset(x->bound, (int)ret->reach.kernel, x->lines * sizeof *x->bound);
	return true;
}

static bool counts_epochs(const struct ct_medium *m, const struct ct_mixed_node *n)
{
	return has_equations(m) && n->kernel == m->kernel &&
	       MAX(n->by.work_item, n->by.group) < m->work_items;
}

static void note(const struct ct_medium *m, struct pass *p, const struct ct_mixed_node *n)
{
	if (n->kernel == 0) {
		if (ct_reach_is_beyond(&p->reach, n->instruction, p->line[n->line])) {
			p->line[n->line] = n->instruction;
		}
		return;
	}
	p->chained = is_chained(m);
	if (counts_epochs(m, n)) {
		ct_reach_add(&p->reach, &n->by);
	}
}

/* Something earlier is lost that must persist before the node; or something later is durable that must
 * persist after it. */
static bool is_bound_node(const struct ct_medium *m, const struct pass *p, const struct ct_mixed_node *n)
{
	if (n->kernel == 0) {
		return ct_reach_is_beyond(&p->reach, p->line[n->line], n->instruction);
	}
	return p->chained || (counts_epochs(m, n) && ct_reach_has(&p->reach, &n->by));
}

/* The node is lost upward, else durable. */
static void set(
	const struct ct_medium *m, const struct pass *p, const struct ct_mixed_node *n, unsigned *levels)
{
	NVW_FOR(k, n->count) {
		unsigned *const level = &levels[n->cell[k]];

		NVW_DEEP_INVARIANT(n->cell[k] < m->cell_count);
		*level = (p->reach.upward ? ct_cell_without : ct_cell_with)(
			&m->cell[n->cell[k]], *level, n->version[k]);
	}
}

void ct_mixed_close(const struct ct_medium *m, bool upward, unsigned *levels)
{
	struct pass p;

	if (!begin(m, upward, &p)) {
		return;
	}
	NVW_FOR(i, p.of->count) {
		const struct ct_mixed_node *const n = &p.of->node[upward ? i : p.of->count - 1 - i];
		const bool is_as_before = upward ? ct_mixed_is_durable(m, n, levels) : is_lost(m, n, levels);

		if (!is_as_before || is_bound_node(m, &p, n)) {
			set(m, &p, n, levels);
			note(m, &p, n);
		}
	}
	ct_reach_end(&p.reach);
}

bool ct_mixed_is_closed(const struct ct_medium *m, const unsigned *levels)
{
	bool closed = true;
	struct pass p;

	if (!begin(m, true, &p)) {
		return true;
	}
	for (uint64_t i = 0; i < p.of->count && closed; i++) {
		const struct ct_mixed_node *const n = &p.of->node[i];

		if (is_lost(m, n, levels)) {
			note(m, &p, n);
		} else {
			closed = ct_mixed_is_durable(m, n, levels) && !is_bound_node(m, &p, n);
		}
	}
	ct_reach_end(&p.reach);
	return closed;
}

/* ---- What becomes certain ------------------------------------------------------------------------------ */

/* A store of host code to a unit up to an instruction; 0: there is none. */
static uint64_t write_up_to(
	const struct ct_medium *m, const struct ct_cell *c, uint64_t instruction, uint64_t *ret_bytes)
{
	for (unsigned v = 0; c && v < c->count; v++) {
		const struct ct_flight *const f = ct_medium_flight(m, c->write[v]);

		if (f->kernel == 0 && f->by.group <= instruction) {
			*ret_bytes = c->made[v].bytes;
			return c->write[v];
		}
	}
	return 0;
}

static void complete_line(struct ct_medium *m, nvw_off own, uint64_t instruction)
{
	const nvw_off line = own & ~(nvw_off)(NVW_LOG_LINE_BYTES - 1);
	uint64_t write, bytes = 0;

	NVW_INVARIANT(m->rules.mixed);
	for (nvw_off off = line; off < line + NVW_LOG_LINE_BYTES && instruction; off += m->unit_bytes) {
		while ((write = write_up_to(m, ct_medium_cell_at(m, off), instruction, &bytes)) != 0) {
			ct_medium_complete(m, off, write, bytes);
		}
	}
}

void ct_mixed_completed(struct ct_medium *m, nvw_off off, const struct ct_last *last)
{
	complete_line(m, off, last->instruction);
	if (is_chained(m) && last->of_kernel > 0) {
		ct_mixed_land_kernels(m, last->of_kernel);
	}
}

void ct_mixed_complete_flushed(struct ct_medium *m, nvw_off line, uint64_t write)
{
	for (unsigned at = 0; at < NVW_LOG_LINE_BYTES; at += m->unit_bytes) {
		ct_medium_complete(m, line + at, write, CT_ALL_BYTES);
	}
}

void ct_mixed_settle(struct ct_medium *m)
{
	for (uint64_t i = m->flight_head; i < m->flight_count; i++) {
		struct ct_flight *const f = &m->flight[i];
		const struct ct_cell *const c = ct_medium_cell_at(m, ct_flight_unit(m, f));
		bool uncertain = false;

		for (unsigned v = 0; c && v < c->count; v++) {
			uncertain |= c->write[v] == f->write;
		}
		f->done |= f->kernel == 0 && !uncertain;
	}
	while (m->flight_head < m->flight_count && m->flight[m->flight_head].done) {
		m->flight_head++;
	}
}

/* What lands may take others with it (ct_mixed_completed()). */
void ct_mixed_land_kernels(struct ct_medium *m, uint64_t write)
{
	struct ct_mixed *const x = m->mixed;

	NVW_INVARIANT(m->mixed);
	x->chained = MAX(x->chained, write);
	if (x->chaining) {
		return;
	}
	x->chaining = true;
	for (uint64_t landed = 0; landed < x->chained;) {
		landed = x->chained;
		for (uint64_t i = m->flight_head; i < m->flight_count && m->flight[i].write <= landed; i++) {
			if (m->flight[i].kernel != 0 && !m->flight[i].done) {
				ct_medium_land(m, &m->flight[i]);
			}
		}
	}
	x->chaining = false;
}
