/* SPDX-License-Identifier: BSD-3-Clause */
/* A partial choice of a closed set of stores. See closed.h. */
#include <stdlib.h>
#include <string.h>

#include "closed.h"
#include "core/bits.h"
#include "core/search.h"

struct ct_levels_of {
	uint32_t cell;
	unsigned least, most;
};

static const uint32_t *numbers(const struct ct_array *a)
{
	return a->at;
}

static uint32_t word_count(const struct ct_closed *c)
{
	return (c->before.count + 63) / 64;
}

static uint64_t *durable(const struct ct_closed *c)
{
	return c->durable.at;
}

static bool is_durable(const struct ct_closed *c, uint32_t number)
{
	return !c->is_empty && nvw_has_bit(durable(c), number);
}

static uint32_t number_of(const struct ct_closed *c, uint32_t cell, unsigned version)
{
	NVW_DEEP_INVARIANT(cell < c->medium->cell_count);
	return ct_before_number(&c->before, c->medium->cell[cell].write[version]);
}

static struct ct_row told_row(const struct ct_closed *c, uint32_t told)
{
	NVW_DEEP_INVARIANT(told < c->before.told_row.count);
	return ((const struct ct_row *)c->before.told_row.at)[told];
}

void ct_closed_free(struct ct_closed *c)
{
	ct_before_free(&c->before);
	free(c->durable.at);
	free(c->row.at);
	free(c->lost.at);
	free(c->unacked.at);
	free(c->acked.at);
	free(c->range.at);
	*c = (struct ct_closed){0};
}

void ct_closed_begin(struct ct_closed *c, const struct ct_medium *m)
{
	c->medium = m;
	c->is_empty = true;
	c->lost.count = c->unacked.count = c->acked.count = c->range.count = 0;
	c->has_failed = ct_array_grow(&c->durable, word_count(c) + 1, sizeof(uint64_t)) != 0 ||
			ct_array_grow(&c->row, word_count(c) + 1, sizeof(uint64_t)) != 0;
}

/* ---- May it be? -------------------------------------------------------------------------------------- */

/* Would the least set, with this row and this store (UINT32_MAX: none), have all that the operation waited
 * for? */
static bool would_ack(const struct ct_closed *c, uint32_t told, struct ct_row with, uint32_t number)
{
	const struct ct_row row = told_row(c, told);

	NVW_FOR(i, row.words) {
		uint64_t has = c->is_empty ? 0 : durable(c)[i];

		has |= i < with.words ? with.bits[i] : 0;
		has |= number / 64 == i ? UINT64_C(1) << number % 64 : 0;
		if (row.bits[i] & ~has) {
			return false;
		}
	}
	return true;
}

/* May the least set be extended by this row, and this store? */
static bool adds_lost(const struct ct_closed *c, struct ct_row with, uint32_t number)
{
	NVW_FOR(i, c->lost.count) {
		const uint32_t lost = numbers(&c->lost)[i];

		if (lost == number || ct_row_has(with, lost)) {
			return true;
		}
	}
	return false;
}

static bool may_add(const struct ct_closed *c, struct ct_row with, uint32_t number)
{
	if (adds_lost(c, with, number)) {
		return false;
	}
	return !NVW_ANY_BELOW(i, c->unacked.count, would_ack(c, numbers(&c->unacked)[i], with, number));
}

static bool may_be_durable(const struct ct_closed *c, uint32_t number)
{
	return is_durable(c, number) || may_add(c, ct_before_row(&c->before, number), number);
}

/* The level of a word's stores that are durable. */
static unsigned least_level(const struct ct_closed *c, uint32_t cell)
{
	NVW_DEEP_INVARIANT(cell < c->medium->cell_count);

	const struct ct_cell *const of = &c->medium->cell[cell];
	unsigned level = 0;

	NVW_FOR(v, of->count) {
		if (ct_cell_is_first(of, v) && is_durable(c, number_of(c, cell, v))) {
			level = ct_cell_with(of, level, v);
		}
	}
	return level;
}

/* What must be durable for the word to have this level; false: it cannot have it, even alone. */
static bool row_of_level(struct ct_closed *c, uint32_t cell, unsigned level)
{
	NVW_DEEP_INVARIANT(cell < c->medium->cell_count);

	const struct ct_cell *const of = &c->medium->cell[cell];
	uint64_t *const row = c->row.at;

	memset(row, 0, word_count(c) * sizeof *row);
	NVW_FOR(v, of->count) {
		if (ct_cell_has(of, level, v)) {
			const uint32_t number = number_of(c, cell, v);
			const struct ct_row before = ct_before_row(&c->before, number);

			nvw_add_bits(row, before.bits, before.words);
			nvw_set_bit(row, number);
		}
	}
	NVW_FOR(v, of->count) {
		const uint32_t number = number_of(c, cell, v);

		if (!ct_cell_has(of, level, v) && (nvw_has_bit(row, number) || is_durable(c, number))) {
			return false;
		}
	}
	return true;
}

bool ct_closed_may_have(struct ct_closed *c, uint32_t cell, unsigned level)
{
	NVW_DEEP_INVARIANT(cell < c->medium->cell_count && level <= c->medium->cell[cell].count);
	return row_of_level(c, cell, level) &&
	       may_add(c, (struct ct_row){c->row.at, word_count(c)}, UINT32_MAX);
}

/* With a version, a unit has all older ones: durable ones come first, then those that may be. */
void ct_closed_levels(const struct ct_closed *c, uint32_t cell, unsigned *ret_least, unsigned *ret_most)
{
	NVW_DEEP_INVARIANT(cell < c->medium->cell_count);

	const unsigned count = c->medium->cell[cell].count;

	*ret_least = NVW_FIRST(level, 0, count, !is_durable(c, number_of(c, cell, level)));
	*ret_most = NVW_FIRST(level, *ret_least, count, !may_be_durable(c, number_of(c, cell, level)));
}

bool ct_closed_may_be_acked(const struct ct_closed *c, uint32_t told)
{
	NVW_DEEP_INVARIANT(told < c->medium->told.count);
	return may_add(c, told_row(c, told), UINT32_MAX);
}

bool ct_closed_may_be_unacked(const struct ct_closed *c, uint32_t told)
{
	NVW_DEEP_INVARIANT(told < c->medium->told.count);
	return !would_ack(c, told, (struct ct_row){0}, UINT32_MAX);
}

/* ---- It is ------------------------------------------------------------------------------------------- */

static void note(struct ct_closed *c, struct ct_array *to, uint32_t number)
{
	if (CT_ADD(to, &number)) {
		c->has_failed = true;
	}
}

static void add_row(struct ct_closed *c, struct ct_row row)
{
	if (c->has_failed) {
		return;
	}
	if (c->is_empty) {
		memset(durable(c), 0, word_count(c) * sizeof(uint64_t));
		c->is_empty = false;
	}
	NVW_DEEP_INVARIANT(row.words <= word_count(c));
	nvw_add_bits(durable(c), row.bits, row.words);
}

void ct_closed_take(struct ct_closed *c, uint32_t cell, unsigned least, unsigned most)
{
	NVW_DEEP_INVARIANT(cell < c->medium->cell_count);

	const struct ct_levels_of range = {cell, least, most};

	if (CT_ADD(&c->range, &range)) {
		c->has_failed = true;
		return;
	}
	if (least > 0 && !is_durable(c, number_of(c, cell, least - 1))) {
		const uint32_t number = number_of(c, cell, least - 1);

		add_row(c, ct_before_row(&c->before, number));
		nvw_set_bit(durable(c), number);
	}
	if (most < c->medium->cell[cell].count) {
		note(c, &c->lost, number_of(c, cell, most));
	}
}

void ct_closed_take_level(struct ct_closed *c, uint32_t cell, unsigned level)
{
	NVW_DEEP_INVARIANT(cell < c->medium->cell_count);

	const struct ct_cell *const of = &c->medium->cell[cell];
	const struct ct_levels_of range = {cell, level, level};

	if (!row_of_level(c, cell, level) || CT_ADD(&c->range, &range)) {
		c->has_failed = true;
		return;
	}
	add_row(c, (struct ct_row){c->row.at, word_count(c)});
	NVW_FOR(v, of->count) {
		if (ct_cell_is_first(of, v) && !ct_cell_has(of, level, v)) {
			note(c, &c->lost, number_of(c, cell, v));
		}
	}
}

void ct_closed_take_ack(struct ct_closed *c, uint32_t told, bool acked)
{
	NVW_DEEP_INVARIANT(told < c->medium->told.count);
	note(c, acked ? &c->acked : &c->unacked, told);
	if (acked) {
		add_row(c, told_row(c, told));
	}
}

/* ---- A state ----------------------------------------------------------------------------------------- */

void ct_closed_state(const struct ct_closed *c, unsigned *levels)
{
	NVW_FOR(i, c->medium->cell_count) {
		unsigned most;

		if (c->medium->cell[i].straight == 0) {
			ct_closed_levels(c, i, &levels[i], &most);
		} else {
			levels[i] = least_level(c, i);
		}
	}
}

/* Does the state have all that the operation waited for? */
static bool is_acked(const struct ct_closed *c, uint32_t told, const unsigned *levels)
{
	const struct ct_row row = told_row(c, told);

	NVW_FOR(i, c->before.count) {
		const struct ct_flight *const f = &c->medium->flight[c->medium->flight_head + i];

		if (ct_row_has(row, i) &&
			!ct_cell_has(&c->medium->cell[f->cell], levels[f->cell], f->version)) {
			return false;
		}
	}
	return true;
}

bool ct_closed_hold(const struct ct_closed *c, const unsigned *levels)
{
	const struct ct_levels_of *const range = c->range.at;
	bool hold = true;

	for (uint64_t i = 0; i < c->range.count && hold; i++) {
		hold = levels[range[i].cell] >= range[i].least && levels[range[i].cell] <= range[i].most;
	}
	for (uint64_t i = 0; i < c->acked.count && hold; i++) {
		hold = is_acked(c, numbers(&c->acked)[i], levels);
	}
	for (uint64_t i = 0; i < c->unacked.count && hold; i++) {
		hold = !is_acked(c, numbers(&c->unacked)[i], levels);
	}
	return hold;
}
