/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds which stores must be durable before which others. See before.h. */
#include <stdlib.h>
#include <string.h>

#include "before.h"

enum { BYTES_MAX = 512 << 20 };

/* A store: the one before it of the same work-item and of the same work-group, + 1; 0: none. */
struct ct_before_node {
	uint32_t older_of_item, older_of_group;
	struct ct_row base; /* its row without the stores to the same unit */
};

/* A work-item or a work-group: its newest store + 1. */
struct ct_member {
	uint32_t newest, epoch;
	struct ct_row closed; /* of a group: what must be durable before a store of this epoch of its */
};

static struct ct_before_node *node_at(const struct ct_before *b, uint32_t number)
{
	return (struct ct_before_node *)b->node.at + number;
}

static const struct ct_flight *flight_at(const struct ct_before *b, uint32_t number)
{
	const struct ct_medium *const m = b->medium;

	NVW_DEEP_INVARIANT(number < m->flight_count - m->flight_head);
	return &m->flight[m->flight_head + number];
}

static struct ct_row *row_at(const struct ct_before *b, uint32_t number)
{
	return (struct ct_row *)b->row.at + number;
}

/* ---- Sets -------------------------------------------------------------------------------------------- */

/* An empty one of the stores so far. */
static int new_row(struct ct_before *b, struct ct_row *ret)
{
	const uint32_t words = (b->count + 63) / 64;
	uint64_t *const bits = calloc(words + 1, sizeof *bits);

	if (!bits || CT_ADD(&b->owned, &bits)) {
		free(bits);
		return nvw_fail(NVW_E_MEMORY, "no memory for the order of stores");
	}
	b->bytes += 8 * (uint64_t)words;
	b->too_many |= b->bytes > (b->most_bytes ? b->most_bytes : BYTES_MAX);
	*ret = (struct ct_row){bits, words};
	return 0;
}

static void add_row(struct ct_row to, struct ct_row row)
{
	NVW_DEEP_INVARIANT(row.words <= to.words);
	nvw_add_bits(to.bits, row.bits, row.words);
}

/* A store with all that must be durable before it. */
static void add_store(const struct ct_before *b, struct ct_row to, uint32_t number)
{
	NVW_DEEP_INVARIANT(number < b->count);
	if (!ct_row_has(to, number)) {
		add_row(to, *row_at(b, number));
		nvw_set_bit(to.bits, number);
	}
}

/* ---- Epochs ------------------------------------------------------------------------------------------ */

static struct ct_member *member(const struct ct_array *members, uint64_t i)
{
	return (struct ct_member *)members->at + i;
}

/* The stores of earlier epochs of the kernel, kept for the newest one. */
static int close_kernel(struct ct_before *b, uint32_t epoch)
{
	const bool has = b->kernel.bits;
	struct ct_row row;

	if (has && b->kernel_epoch == epoch) {
		return 0;
	}
	NVW_DEEP_INVARIANT(!has || b->kernel_epoch < epoch);
	NVW_TRY(new_row(b, &row));
	add_row(row, b->kernel);
	for (uint32_t i = b->count; i > 0 && (!has || flight_at(b, i - 1)->by.epoch_kr >= b->kernel_epoch);
		i--) {
		if (flight_at(b, i - 1)->by.epoch_kr < epoch) {
			add_store(b, row, i - 1);
		}
	}
	b->kernel = row;
	b->kernel_epoch = epoch;
	return 0;
}

/* The same for a work-group. */
static int close_group(struct ct_before *b, struct ct_member *g, uint32_t epoch)
{
	const bool has = g->closed.bits;
	struct ct_row row;

	if (g->newest == 0 || (has && g->epoch == epoch)) {
		return 0;
	}
	NVW_DEEP_INVARIANT(!has || g->epoch < epoch);
	NVW_TRY(new_row(b, &row));
	add_row(row, g->closed);
	for (uint32_t i = g->newest; i > 0; i = node_at(b, i - 1)->older_of_group) {
		if (has && flight_at(b, i - 1)->by.epoch_wg < g->epoch) {
			break;
		}
		if (flight_at(b, i - 1)->by.epoch_wg < epoch) {
			add_store(b, row, i - 1);
		}
	}
	g->closed = row;
	g->epoch = epoch;
	return 0;
}

/* The stores of earlier epochs of the work-item: those of its newest one have not met. */
static void add_item(const struct ct_before *b, const struct ct_stamp *s, struct ct_row to)
{
	const uint32_t newest = member(&b->item, s->work_item)->newest;

	if (newest == 0) {
		return;
	}
	const uint32_t epoch = flight_at(b, newest - 1)->by.epoch_wi;

	add_row(to, node_at(b, newest - 1)->base);
	for (uint32_t i = newest; i > 0 && flight_at(b, i - 1)->by.epoch_wi == epoch;
		i = node_at(b, i - 1)->older_of_item) {
		if (epoch < s->epoch_wi) {
			add_store(b, to, i - 1);
		}
	}
}

/* What must be durable before anything of these epochs that comes now. */
static int base_of(struct ct_before *b, const struct ct_stamp *s, struct ct_row *ret_base)
{
	struct ct_member *const g = member(&b->group, s->group);

	NVW_DEEP_INVARIANT(MAX(s->work_item, s->group) < b->medium->work_items);
	NVW_TRY(close_kernel(b, s->epoch_kr));
	NVW_TRY(close_group(b, g, s->epoch_wg));
	NVW_TRY(new_row(b, ret_base));
	add_row(*ret_base, b->kernel);
	add_row(*ret_base, g->closed);
	add_item(b, s, *ret_base);
	return 0;
}

/* ---- Stores and acknowledgements --------------------------------------------------------------------- */

/* True if the epochs of the work-item, of its group and of the kernel only grow. */
static bool is_regular(const struct ct_before *b, const struct ct_stamp *s)
{
	const struct ct_member *const g = member(&b->group, s->group);
	const uint32_t of_item = member(&b->item, s->work_item)->newest, of_group = g->newest;

	return (!g->closed.bits || g->epoch <= s->epoch_wg) &&
	       (!b->kernel.bits || b->kernel_epoch <= s->epoch_kr) &&
	       (of_item == 0 || flight_at(b, of_item - 1)->by.epoch_wi <= s->epoch_wi) &&
	       (of_group == 0 || flight_at(b, of_group - 1)->by.epoch_wg <= s->epoch_wg) &&
	       (b->count == 0 || flight_at(b, b->count - 1)->by.epoch_kr <= s->epoch_kr);
}

static bool has_epochs(const struct ct_stamp *a, const struct ct_stamp *b)
{
	return a->epoch_wi == b->epoch_wi && a->epoch_wg == b->epoch_wg && a->epoch_kr == b->epoch_kr;
}

/* A store comes after the one before it, which comes after all others, unless stores are to different
 * bytes. */
static unsigned first_to_look_at(const struct ct_cell *c, unsigned version)
{
	return c->straight == 0 && version > 0 ? version - 1 : 0;
}

static bool comes_after(const struct ct_cell *c, unsigned version, unsigned other)
{
	NVW_DEEP_INVARIANT(version < c->count);
	NVW_DEEP_INVARIANT(other < c->count);
	return c->write[other] < c->write[version] && ct_cell_orders(c, other, version);
}

/* Does the version come after others that are not in the row? */
static bool comes_after_others(
	const struct ct_before *b, const struct ct_cell *c, unsigned version, struct ct_row base)
{
	for (unsigned v = first_to_look_at(c, version); v < version; v++) {
		if (comes_after(c, version, v) && !ct_row_has(base, ct_before_number(b, c->write[v]))) {
			return true;
		}
	}
	return false;
}

/* The row of a store, with the stores to the same bytes. */
static int row_of(struct ct_before *b, const struct ct_flight *f, struct ct_row base, struct ct_row *ret_row)
{
	const struct ct_cell *const c = &b->medium->cell[f->cell];

	*ret_row = base;
	if (!comes_after_others(b, c, f->version, base)) {
		return 0;
	}
	NVW_TRY(new_row(b, ret_row));
	add_row(*ret_row, base);
	for (unsigned v = first_to_look_at(c, f->version); v < f->version; v++) {
		if (comes_after(c, f->version, v)) {
			add_store(b, *ret_row, ct_before_number(b, c->write[v]));
		}
	}
	return 0;
}

static int add_flight(struct ct_before *b)
{
	const uint32_t number = b->count;
	const struct ct_flight *const f = flight_at(b, number);
	struct ct_member *const item = member(&b->item, f->by.work_item), *const group = member(
										  &b->group, f->by.group);
	struct ct_row base;

	NVW_INVARIANT(number < b->medium->flight_count - b->medium->flight_head);
	NVW_TRY(ct_array_grow(&b->row, number + 1, sizeof(struct ct_row)));
	NVW_TRY(ct_array_grow(&b->node, number + 1, sizeof(struct ct_before_node)));
	if (!is_regular(b, &f->by)) {
		b->too_many = true;
		return 0;
	}
	if (item->newest != 0 && has_epochs(&flight_at(b, item->newest - 1)->by, &f->by)) {
		base = node_at(b, item->newest - 1)->base;
	} else {
		NVW_TRY(base_of(b, &f->by, &base));
	}
	NVW_TRY(row_of(b, f, base, row_at(b, number)));
	*node_at(b, number) = (struct ct_before_node){item->newest, group->newest, base};
	item->newest = group->newest = ++b->count;
	return 0;
}

/* What was told of the operations before, one and the same of all; CT_TOLD_TWICE: not the same. */
static uint32_t told_before(const struct ct_before *b, const struct ct_told *t)
{
	const uint32_t *const of = (const uint32_t *)b->told_of.at + t->first;

	NVW_DEEP_INVARIANT(t->first + t->count <= b->told_of.capacity);
	for (uint64_t i = 1; i < t->count; i++) {
		if (of[i] != of[0]) {
			return CT_TOLD_TWICE;
		}
	}
	return t->count > 0 ? of[0] : 0;
}

/* An operation that is told of again waits for both. */
static int told_row_of(struct ct_before *b, const struct ct_told *t, uint32_t before, struct ct_row *ret_row)
{
	if (!is_regular(b, &t->by)) {
		b->too_many = true;
		return 0;
	}
	NVW_TRY(base_of(b, &t->by, ret_row));
	if (before != 0 && before != CT_TOLD_TWICE) {
		add_row(*ret_row, ((const struct ct_row *)b->told_row.at)[before - 1]);
	}
	return 0;
}

static int grow_told(struct ct_before *b, const struct ct_told *t, uint64_t i)
{
	NVW_TRY(ct_array_grow(&b->told_row, i + 1, sizeof(struct ct_row)));
	NVW_TRY(ct_array_grow(&b->told_of, t->first + t->count, sizeof(uint32_t)));
	return ct_array_grow(&b->told_ops, i + 1, sizeof *t);
}

static int add_told(struct ct_before *b, uint64_t i)
{
	const struct ct_told *const t = (const struct ct_told *)b->medium->told.at + i;
	struct ct_row row = {0};

	NVW_INVARIANT(i < b->medium->told.count);
	NVW_TRY(grow_told(b, t, i));
	const uint32_t before = told_before(b, t);
	const int error = told_row_of(b, t, before, &row);

	((struct ct_row *)b->told_row.at)[i] = row;
	((struct ct_told *)b->told_ops.at)[i] = *t;
	b->told_row.count = b->told_ops.count = i + 1;
	for (uint64_t op = t->first; op < t->first + t->count; op++) {
		((uint32_t *)b->told_of.at)[op] = before == CT_TOLD_TWICE ? CT_TOLD_TWICE : (uint32_t)(i + 1);
	}
	return error;
}

/* ---- All --------------------------------------------------------------------------------------------- */

static void forget_rows(struct ct_before *b)
{
	NVW_FOR(i, b->owned.count) {
		free(((uint64_t **)b->owned.at)[i]);
	}
	b->owned.count = 0;
	b->kernel = (struct ct_row){0};
	b->bytes = 0;
}

static void forget_told(struct ct_before *b)
{
	NVW_FOR(i, b->told_ops.count) {
		const struct ct_told *const t = (const struct ct_told *)b->told_ops.at + i;

		memset((uint32_t *)b->told_of.at + t->first, 0, t->count * sizeof(uint32_t));
	}
	b->told_row.count = b->told_ops.count = 0;
}

/* The kernel has ended: everything is durable. */
static void forget(struct ct_before *b)
{
	forget_told(b);
	forget_rows(b);
	b->count = 0;
	b->item.count = b->group.count = 0;
	b->too_many = false;
}

void ct_before_free(struct ct_before *b)
{
	forget_rows(b);
	free(b->row.at);
	free(b->node.at);
	free(b->told_row.at);
	free(b->item.at);
	free(b->group.at);
	free(b->told_of.at);
	free(b->told_ops.at);
	free(b->owned.at);
	*b = (struct ct_before){0};
}

static int begin_members(struct ct_array *members, uint64_t count)
{
	NVW_TRY(ct_array_grow(members, count, sizeof(struct ct_member)));
	memset(members->at, 0, count * sizeof(struct ct_member));
	return 0;
}

static int begin_kernel(struct ct_before *b, uint64_t first)
{
	b->first = first;
	NVW_TRY(begin_members(&b->item, b->medium->work_items + 1));
	return begin_members(&b->group, b->medium->work_items + 1);
}

int ct_before_update(struct ct_before *b, const struct ct_medium *m)
{
	const uint64_t count = m->flight_count - m->flight_head, first = m->stores + 1 - count;
	const struct ct_told *const told = m->told.at;
	int error = 0;

	b->medium = m;
	if (b->first != first || m->told.count < b->told_row.count || count == 0) {
		forget(b);
	}
	if (b->count == 0 && b->told_row.count == 0) {
		error = begin_kernel(b, first);
	}
	while (!error && !b->too_many && (b->count < count || b->told_row.count < m->told.count)) {
		const bool is_told =
			b->told_row.count < m->told.count &&
			(b->count == count || told[b->told_row.count].after < b->first + b->count);

		error = is_told ? add_told(b, b->told_row.count) : add_flight(b);
	}
	if (b->too_many) {
		forget_rows(b);
	}
	return error;
}

uint32_t ct_before_told(const struct ct_before *b, uint64_t op)
{
	return op < b->told_of.capacity ? ((const uint32_t *)b->told_of.at)[op] : 0;
}
