/* SPDX-License-Identifier: BSD-3-Clause */
/* Intervals of pmreorder. See elements.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "core/bounds.h"
#include "core/order.h"

#include "elements.h"

enum { SUBSETS_MAX = 12, ORDERS_MAX = 6 }; /* largest cells with all subsets, with all orders */

static struct ct_element *elements_of(const struct ct_medium *m)
{
	return m->element.at;
}

static struct ct_element *element_at(const struct ct_medium *m, uint64_t i)
{
	NVW_DEEP_INVARIANT(i < m->element.count || i < m->element.capacity);
	return elements_of(m) + i;
}

int ct_element_store(struct ct_medium *m, const struct nvw_log_record *r)
{
	const struct ct_element e = {.instruction = r->store.group,
		.off = r->store.off,
		.bytes = r->store.bytes,
		.value = r->store.value};

	NVW_INVARIANT(r->kind == NVW_LOG_STORE);
	m->stores++;
	return CT_ADD(&m->element, &e);
}

/* A flush of any part of an element flushes all of it. */
int ct_element_flush(struct ct_medium *m, const struct nvw_log_record *r)
{
	const nvw_off end = r->flush.off + r->flush.bytes;

	NVW_INVARIANT(r->kind == NVW_LOG_FLUSH);
	NVW_FOR(i, m->element.count) {
		struct ct_element *const e = element_at(m, i);

		if (e->off < end && r->flush.off < e->off + e->bytes) {
			e->flushed = true;
			m->changed = true;
			for (uint64_t k = i; k > 0 && element_at(m, k - 1)->instruction == e->instruction;
				k--) {
				element_at(m, k - 1)->flushed = true;
			}
			for (uint64_t k = i + 1;
				k < m->element.count && element_at(m, k)->instruction == e->instruction;
				k++) {
				element_at(m, k)->flushed = true;
			}
		}
	}
	return 0;
}

/* Flushed elements are durable; the others may be flushed later. */
int ct_element_fence(struct ct_medium *m, const struct nvw_log_record *r)
{
	uint64_t kept = 0;

	ct_medium_drop_cells(m);
	NVW_FOR(i, m->element.count) {
		const struct ct_element e = *element_at(m, i);

		for (unsigned k = 0; e.flushed && k < e.bytes; k++) {
			ct_medium_set_byte(m, e.off + k, (uint8_t)(e.value >> 8 * k));
		}
		if (!e.flushed) {
			*element_at(m, kept++) = e;
		}
	}
	m->element.count = kept;
	return 0;
}

/* ---- Cells --------------------------------------------------------------------------------------------- */

/* Flushed pieces that share words, directly or through others; with instruction numbers in program order. */
struct cluster {
	nvw_off begin, end; /* whole words */
	unsigned count;     /* instructions */
	uint64_t instruction[64];
	bool overlap; /* of bytes */
};

/* Writes an instruction's pieces into content. */
static void put_instruction(
	const struct ct_medium *m, const struct cluster *c, uint64_t instruction, uint8_t *content)
{
	NVW_EACH(e, elements_of(m), m->element.count) {
		if (e->instruction == instruction) {
			memcpy(content + (e->off - c->begin), &e->value, e->bytes);
		}
	}
}

static int add_outcome(struct ct_medium *m, struct ct_cell *cell, const uint8_t *content)
{
	uint64_t *to;

	NVW_FOR(i, cell->count) {
		if (!memcmp(cell->content + (size_t)i * cell->words, content, 8 * (size_t)cell->words)) {
			return 0;
		}
	}
	if (!memcmp(m->image.rw + cell->off, content, 8 * (size_t)cell->words)) {
		return 0;
	}
	const int error = ct_medium_add_version(cell, m->stores, &to);

	if (!error) {
		memcpy(to, content, 8 * (size_t)cell->words);
	}
	return error;
}

/* What a set of the instructions makes of the cell. */
static int add_set(
	struct ct_medium *m, const struct cluster *c, struct ct_cell *cell, uint64_t set, uint8_t *content)
{
	NVW_DEEP_INVARIANT(c->count == 64 || set >> c->count == 0);
	memcpy(content, m->image.rw + c->begin, c->end - c->begin);
	NVW_EACH_BIT(i, set) {
		put_instruction(m, c, c->instruction[i], content);
	}
	return add_outcome(m, cell, content);
}

/* Subsets in program order; the full set comes last. */
static int add_subsets(struct ct_medium *m, const struct cluster *c, struct ct_cell *cell, uint8_t *content)
{
	NVW_INVARIANT(c->count <= SUBSETS_MAX);
	for (uint64_t set = 1; set < UINT64_C(1) << c->count; set++) {
		NVW_TRY(add_set(m, c, cell, set, content));
	}
	return 0;
}

/* Adds every sequence of different instructions that extends the present content. */
static int add_orders(struct ct_medium *m, const struct cluster *c, struct ct_cell *cell, unsigned used,
	const uint8_t *content)
{
	const size_t bytes = c->end - c->begin;
	uint8_t *next = malloc(bytes);
	int error = next ? 0 : nvw_fail(NVW_E_MEMORY, "no memory for an interval");

	for (unsigned i = 0; i < c->count && !error; i++) {
		if (used >> i & 1) {
			continue;
		}
		memcpy(next, content, bytes);
		put_instruction(m, c, c->instruction[i], next);
		error = add_outcome(m, cell, next);
		if (!error) {
			error = add_orders(m, c, cell, used | 1u << i, next);
		}
	}
	free(next);
	return error;
}

/* Too many for all orders: all prefixes, and all sets without one of them. */
static int add_some(struct ct_medium *m, const struct cluster *c, struct ct_cell *cell, uint8_t *content)
{
	const uint64_t all = (UINT64_C(2) << (c->count - 1)) - 1;

	m->inexact = true;
	NVW_FOR(k, c->count) {
		NVW_TRY(add_set(m, c, cell, all & ~(UINT64_C(1) << k), content));
	}
	NVW_FOR(k, c->count) {
		NVW_TRY(add_set(m, c, cell, (UINT64_C(2) << k) - 1, content));
	}
	return 0;
}

static int add_cluster(struct ct_medium *m, const struct cluster *c)
{
	const size_t bytes = c->end - c->begin;
	uint8_t *content = malloc(bytes);
	struct ct_cell *cell;
	int error = content ? ct_medium_add_cell(m, c->begin, (unsigned)(bytes / 8), &cell) :
			      nvw_fail(NVW_E_MEMORY, "no memory for an interval");

	if (!error && c->overlap && c->count <= ORDERS_MAX) {
		memcpy(content, m->image.rw + c->begin, bytes);
		error = add_orders(m, c, cell, 0, content);
	}
	if (!error) {
		m->inexact |= c->overlap && c->count > ORDERS_MAX;
		error = c->count <= SUBSETS_MAX ? add_subsets(m, c, cell, content) :
						  add_some(m, c, cell, content);
	}
	free(content);
	return error;
}

static int by_place(const void *a, const void *b)
{
	const struct ct_element *x = a, *y = b;

	return NVW_OR(NVW_ORDER(x->off, y->off), NVW_ORDER(x->instruction, y->instruction));
}

static nvw_off end_of_instruction(const struct ct_medium *m, uint64_t instruction)
{
	nvw_off end = 0;

	NVW_EACH(e, elements_of(m), m->element.count) {
		if (e->instruction == instruction && e->off + e->bytes > end) {
			end = e->off + e->bytes;
		}
	}
	return end;
}

static bool is_member(const struct cluster *c, uint64_t instruction)
{
	return NVW_ANY(one, c->instruction, c->count, *one == instruction);
}

static void join(const struct ct_medium *m, struct cluster *c, const struct ct_element *e, nvw_off *last_byte)
{
	const nvw_off end = (end_of_instruction(m, e->instruction) + 7) & ~(nvw_off)7;

	c->overlap |= e->off < *last_byte;
	*last_byte = MAX(e->off + e->bytes, *last_byte);
	c->end = MAX(c->end, end);
	if (c->count < 64 && !is_member(c, e->instruction)) {
		c->instruction[c->count++] = e->instruction;
	}
}

static int end_cluster(struct ct_medium *m, struct cluster *c)
{
	qsort(c->instruction, c->count, sizeof c->instruction[0], nvw_by_u64);
	return c->count > 0 ? add_cluster(m, c) : 0;
}

int ct_element_cells(struct ct_medium *m)
{
	struct ct_element *sorted = malloc((m->element.count + 1) * sizeof *sorted);
	struct cluster c = {0};
	uint64_t n = 0;
	nvw_off last_byte = 0;
	int error = 0;

	NVW_ALLOCATED(sorted, "no memory for an interval");
	ct_medium_drop_cells(m);
	NVW_FOR(i, m->element.count) {
		if (element_at(m, i)->flushed) {
			sorted[n++] = *element_at(m, i);
		}
	}
	qsort(sorted, n, sizeof *sorted, by_place);
	for (uint64_t i = 0; i < n && !error; i++) {
		const struct ct_element *const e = &sorted[i];

		if ((e->off & ~(nvw_off)7) >= c.end && !is_member(&c, e->instruction)) {
			error = end_cluster(m, &c);
			c = (struct cluster){.begin = e->off & ~(nvw_off)7};
		}
		join(m, &c, e, &last_byte);
	}
	if (!error) {
		error = end_cluster(m, &c);
	}
	free(sorted);
	return error;
}
