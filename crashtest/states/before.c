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
	uint64_t *closed; /* of a group: what must be durable before a store of this epoch of its */
	uint32_t words;
};

static struct ct_before_node *node_at(const struct ct_before *b, uint32_t number)
{
	return (struct ct_before_node *)b->node.at + number;
}

static const struct ct_flight *flight_at(const struct ct_medium *m, uint32_t number)
{
	NVW_DEEP_INVARIANT(number < m->flight_count - m->flight_head);
	return &m->flight[m->flight_head + number];
}

static struct ct_row *row_at(const struct ct_before *b, uint32_t number)
{
	return (struct ct_row *)b->row.at + number;
}

/* ---- Sets -------------------------------------------------------------------------------------------- */

static int new_set(struct ct_before *b, uint32_t words, uint64_t **ret_bits)
{
	uint64_t *const bits = calloc(words + 1, sizeof *bits);

	if (!bits || ct_array_grow(&b->owned, b->owned.count + 1, sizeof bits)) {
		free(bits);
		return nvw_fail(NVW_E_MEMORY, "no memory for the order of stores");
	}
	((uint64_t **)b->owned.at)[b->owned.count++] = bits;
	b->bytes += 8 * (uint64_t)words;
	b->too_many |= b->bytes > (b->most_bytes ? b->most_bytes : BYTES_MAX);
	*ret_bits = bits;
	return 0;
}

/* A store with all that must be durable before it. */
static void add_store(const struct ct_before *b, uint64_t *to, uint32_t number)
{
	NVW_DEEP_INVARIANT(number < b->count);
	if (!nvw_has_bit(to, number)) {
		nvw_add_bits(to, row_at(b, number)->bits, row_at(b, number)->words);
		nvw_set_bit(to, number);
	}
}

/* ---- Epochs ------------------------------------------------------------------------------------------ */

struct epochs {
	uint64_t item, group;
	uint32_t wi, wg, kr;
};

static struct epochs epochs_of(const struct ct_flight *f)
{
	return (struct epochs){f->work_item, f->group, f->epoch_wi, f->epoch_wg, f->epoch_kr};
}

static struct ct_member *member(const struct ct_array *members, uint64_t i)
{
	return (struct ct_member *)members->at + i;
}

/* The stores of earlier epochs of the kernel, kept for the newest one. */
static int close_kernel(struct ct_before *b, const struct ct_medium *m, uint32_t epoch, uint32_t words)
{
	uint64_t *bits;

	if (b->kernel && b->kernel_epoch == epoch) {
		return 0;
	}
	NVW_TRY(new_set(b, words, &bits));
	if (b->kernel) {
		nvw_add_bits(bits, b->kernel, b->kernel_words);
	}
	for (uint32_t i = b->count; i > 0 && (!b->kernel || flight_at(m, i - 1)->epoch_kr >= b->kernel_epoch);
		i--) {
		if (flight_at(m, i - 1)->epoch_kr < epoch) {
			add_store(b, bits, i - 1);
		}
	}
	b->kernel = bits;
	b->kernel_words = words;
	b->kernel_epoch = epoch;
	return 0;
}

/* The same for a work-group. */
static int close_group(
	struct ct_before *b, const struct ct_medium *m, uint64_t group, uint32_t epoch, uint32_t words)
{
	struct ct_member *const g = member(&b->group, group);
	uint64_t *bits;

	if (g->newest == 0 || (g->closed && g->epoch == epoch)) {
		return 0;
	}
	NVW_TRY(new_set(b, words, &bits));
	if (g->closed) {
		nvw_add_bits(bits, g->closed, g->words);
	}
	for (uint32_t i = g->newest; i > 0; i = node_at(b, i - 1)->older_of_group) {
		if (g->closed && flight_at(m, i - 1)->epoch_wg < g->epoch) {
			break;
		}
		if (flight_at(m, i - 1)->epoch_wg < epoch) {
			add_store(b, bits, i - 1);
		}
	}
	g->closed = bits;
	g->words = words;
	g->epoch = epoch;
	return 0;
}

/* The stores of earlier epochs of the work-item: those of its newest one have not met. */
static void add_item(
	const struct ct_before *b, const struct ct_medium *m, const struct epochs *e, uint64_t *bits)
{
	const uint32_t newest = member(&b->item, e->item)->newest;

	if (newest == 0) {
		return;
	}
	nvw_add_bits(bits, node_at(b, newest - 1)->base.bits, node_at(b, newest - 1)->base.words);
	for (uint32_t i = newest;
		i > 0 && flight_at(m, i - 1)->epoch_wi == flight_at(m, newest - 1)->epoch_wi;
		i = node_at(b, i - 1)->older_of_item) {
		if (flight_at(m, i - 1)->epoch_wi < e->wi) {
			add_store(b, bits, i - 1);
		}
	}
}

/* What must be durable before anything of these epochs that comes now. */
static int base_of(
	struct ct_before *b, const struct ct_medium *m, const struct epochs *e, struct ct_row *ret_base)
{
	const uint32_t words = (b->count + 63) / 64;
	uint64_t *bits;

	NVW_DEEP_INVARIANT(e->item < m->work_items && e->group < m->work_items);
	NVW_TRY(close_kernel(b, m, e->kr, words));
	NVW_TRY(close_group(b, m, e->group, e->wg, words));
	NVW_TRY(new_set(b, words, &bits));
	const struct ct_member *const g = member(&b->group, e->group);

	nvw_add_bits(bits, b->kernel, b->kernel_words);
	if (g->closed) {
		nvw_add_bits(bits, g->closed, g->words);
	}
	add_item(b, m, e, bits);
	*ret_base = (struct ct_row){bits, words};
	return 0;
}

/* ---- Stores and acknowledgements --------------------------------------------------------------------- */

/* True if the epochs of the work-item, of its group and of the kernel only grow. */
static bool is_regular(const struct ct_before *b, const struct ct_medium *m, const struct epochs *e)
{
	const struct ct_member *const g = member(&b->group, e->group);
	const uint32_t of_item = member(&b->item, e->item)->newest, of_group = g->newest;

	return (!g->closed || g->epoch <= e->wg) && (!b->kernel || b->kernel_epoch <= e->kr) &&
	       (of_item == 0 || flight_at(m, of_item - 1)->epoch_wi <= e->wi) &&
	       (of_group == 0 || flight_at(m, of_group - 1)->epoch_wg <= e->wg) &&
	       (b->count == 0 || flight_at(m, b->count - 1)->epoch_kr <= e->kr);
}

static bool has_epochs(const struct ct_flight *f, const struct epochs *e)
{
	return f->epoch_wi == e->wi && f->epoch_wg == e->wg && f->epoch_kr == e->kr;
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
static int row_of(struct ct_before *b, const struct ct_medium *m, const struct ct_flight *f,
	struct ct_row base, struct ct_row *ret_row)
{
	const struct ct_cell *const c = &m->cell[f->cell];
	const uint32_t words = (b->count + 63) / 64;
	uint64_t *bits;

	*ret_row = base;
	if (!comes_after_others(b, c, f->version, base)) {
		return 0;
	}
	NVW_TRY(new_set(b, words, &bits));
	nvw_add_bits(bits, base.bits, base.words);
	for (unsigned v = first_to_look_at(c, f->version); v < f->version; v++) {
		if (comes_after(c, f->version, v)) {
			add_store(b, bits, ct_before_number(b, c->write[v]));
		}
	}
	*ret_row = (struct ct_row){bits, words};
	return 0;
}

static int add_flight(struct ct_before *b, const struct ct_medium *m)
{
	const uint32_t number = b->count;
	const struct ct_flight *const f = flight_at(m, number);
	const struct epochs e = epochs_of(f);
	struct ct_member *const item = member(&b->item, e.item), *const group = member(&b->group, e.group);
	struct ct_row base;

	NVW_INVARIANT(b->count < m->flight_count - m->flight_head);
	NVW_TRY(ct_array_grow(&b->row, number + 1, sizeof(struct ct_row)));
	NVW_TRY(ct_array_grow(&b->node, number + 1, sizeof(struct ct_before_node)));
	if (!is_regular(b, m, &e)) {
		b->too_many = true;
		return 0;
	}
	if (item->newest != 0 && has_epochs(flight_at(m, item->newest - 1), &e)) {
		base = node_at(b, item->newest - 1)->base;
	} else {
		NVW_TRY(base_of(b, m, &e, &base));
	}
	NVW_TRY(row_of(b, m, f, base, row_at(b, number)));
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
static int told_row_of(struct ct_before *b, const struct ct_medium *m, const struct ct_told *t,
	uint32_t before, struct ct_row *ret_row)
{
	const struct epochs e = {t->work_item, t->group, t->epoch_wi, t->epoch_wg, t->epoch_kr};

	if (!is_regular(b, m, &e)) {
		b->too_many = true;
		return 0;
	}
	NVW_TRY(base_of(b, m, &e, ret_row));
	if (before != 0 && before != CT_TOLD_TWICE) {
		const struct ct_row had = ((const struct ct_row *)b->told_row.at)[before - 1];

		nvw_add_bits((uint64_t *)(uintptr_t)ret_row->bits, had.bits, had.words);
	}
	return 0;
}

static int grow_told(struct ct_before *b, const struct ct_told *t, uint64_t i)
{
	NVW_TRY(ct_array_grow(&b->told_row, i + 1, sizeof(struct ct_row)));
	NVW_TRY(ct_array_grow(&b->told_of, t->first + t->count, sizeof(uint32_t)));
	return ct_array_grow(&b->told_ops, i + 1, sizeof *t);
}

static int add_told(struct ct_before *b, const struct ct_medium *m, uint64_t i)
{
	const struct ct_told *const t = (const struct ct_told *)m->told.at + i;
	struct ct_row row = {0};

	NVW_INVARIANT(i < m->told.count);
	NVW_TRY(grow_told(b, t, i));
	const uint32_t before = told_before(b, t);
	const int error = told_row_of(b, m, t, before, &row);

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
	b->kernel = NULL;
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

static int begin_kernel(struct ct_before *b, const struct ct_medium *m, uint64_t first)
{
	b->first = first;
	NVW_TRY(begin_members(&b->item, m->work_items + 1));
	return begin_members(&b->group, m->work_items + 1);
}

int ct_before_update(struct ct_before *b, const struct ct_medium *m)
{
	const uint64_t count = m->flight_count - m->flight_head, first = m->stores + 1 - count;
	const struct ct_told *const told = m->told.at;
	int error = 0;

	if (b->first != first || m->told.count < b->told_row.count || count == 0) {
		forget(b);
	}
	if (b->count == 0 && b->told_row.count == 0) {
		error = begin_kernel(b, m, first);
	}
	while (!error && !b->too_many && (b->count < count || b->told_row.count < m->told.count)) {
		const bool is_told =
			b->told_row.count < m->told.count &&
			(b->count == count || told[b->told_row.count].after < b->first + b->count);

		error = is_told ? add_told(b, m, b->told_row.count) : add_flight(b, m);
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
