/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the check states of the tiered table, of one log or row at a time (nvw_parts). check.c calls every
 * part on recovered pools.
 *
 *	shape		the root words name the logs and the table of the plan
 *	log i		no more puts are applied than its work-item makes
 *	row (i, q)	as recovery leaves it, it is empty, or names a put of its key and the whole value of
 *			this put (1); the next put of the key is not acknowledged (2)
 *
 * Recovery (view.c) executes the records from the applied word on, as far as they are whole. So a row has the
 * last of them that is of its key, and only without one what was stored there. A record is whole if all its
 * words are those of its put: only puts store there, and the digest tells torn ones. After recovery no log
 * has a record that the table lacks (3), since the applied word is set behind the last. The number of applied
 * puts is then what it was and the records, and records are of puts, so it is possible if it was.
 *
 * The check asks only for the next of the puts of a key that come after the one in its row. A work-item
 * acknowledges its puts in order, so if a later one is acknowledged, the next one is.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "check.h"
#include "common/roots.h"

uint64_t tiered_part_count(const struct tiered_layout *l)
{
	return 1 + l->items + l->items * l->keys;
}

static uint64_t count(const void *plan, const struct nvw_pool_geometry *g)
{
	return tiered_part_count(&((const struct tiered_plan *)plan)->shape);
}

/* ---- Words ---------------------------------------------------------------------------------------- */

static uint64_t is_word(const void *expected, uint64_t word)
{
	return word == *(const uint64_t *)expected;
}

static uint64_t is_at_most(const void *most, uint64_t word)
{
	return word <= *(const uint64_t *)most;
}

static bool log_has(const struct tiered_case *c, nvw_off off, uint64_t word)
{
	return nvw_pool_ask(c->v.log, off, is_word, &word) != 0;
}

static bool table_has(const struct tiered_case *c, nvw_off off, uint64_t word)
{
	return nvw_pool_ask(c->v.table, off - nvw_pool_begin(c->v.table), is_word, &word) != 0;
}

static uint64_t key_of(const struct tiered_case *c, uint64_t op)
{
	return tiered_key(&c->v.layout, c->plan->seed, op);
}

/* Is the record of the item's k-th put whole? */
static bool has_record(const struct tiered_case *c, uint64_t item, uint64_t k)
{
	const struct tiered_layout *const l = &c->v.layout;
	const nvw_off off = tiered_record(l, item, k);
	const uint64_t op = item + k * l->items;

	if (op >= l->count || !log_has(c, off, op + 1)) {
		return false;
	}
	const nvw_off row = tiered_row(l, item, key_of(c, op)), value = tiered_value(l, op);

	return log_has(c, off + 8, row) && log_has(c, off + 16, value) &&
	       log_has(c, off + 24, tiered_record_digest(op, row, value));
}

/* The put that recovery takes from the log for a row, UINT64_MAX: none. */
static uint64_t put_of_log(const struct tiered_case *c, uint64_t item, uint64_t key)
{
	uint64_t last = UINT64_MAX;

	for (uint64_t k = tiered_log_word(&c->v, tiered_applied(&c->v.layout, item)); has_record(c, item, k);
		k++) {
		const uint64_t op = item + k * c->v.layout.items;

		if (key_of(c, op) == key) {
			last = op;
		}
	}
	return last;
}

static bool is_whole(const struct tiered_case *c, uint64_t op)
{
	const nvw_off value = tiered_value(&c->v.layout, op);
	const uint64_t words = c->v.layout.words;
	uint64_t digest = tiered_digest_begin(op);

	NVW_FOR(i, words) {
		const nvw_off off = value + 8 * (1 + i);
		const uint64_t word =
			c->plan != NULL ? tiered_word(c->plan->seed, op, i) : tiered_table_word(&c->v, off);

		digest = tiered_digest_add(digest, word);
		if (!table_has(c, off, word)) {
			return false;
		}
	}
	return table_has(c, value, op + 1) && table_has(c, value + 8 * (1 + words), digest);
}

/* ---- The parts ------------------------------------------------------------------------------------ */

static bool is_as_planned(const struct tiered_case *c)
{
	const struct tiered_layout *const l = &c->v.layout;
	const struct tiered_layout *const planned = c->plan ? &c->plan->shape : l;

	return l->items == planned->items && l->keys == planned->keys && l->records == planned->records &&
	       l->words == planned->words && l->count == planned->count;
}

static int check_shape(const struct tiered_case *c)
{
	if (c->v.layout.log == 0 && c->acks && nvw_acked_count(c->acks) != 0) {
		return nvw_violation(c->findings, 0, "the table is lost: puts were acknowledged");
	}
	if (c->v.layout.log != 0 && !is_as_planned(c)) {
		return nvw_violation(c->findings, 0, "the table has another shape than planned");
	}
	return 0;
}

static int check_log(const struct tiered_case *c, uint64_t item)
{
	const struct tiered_layout *const l = &c->v.layout;
	const nvw_off applied = tiered_applied(l, item);
	const uint64_t puts = (l->count + l->items - 1 - item) / l->items;

	if (nvw_pool_ask(c->v.log, applied, is_at_most, &puts) != 0) {
		return 0;
	}
	return nvw_violation(c->findings, applied,
		"the log of work-item %" PRIu64 " says that more puts are applied than there are", item);
}

/* What was stored in a row that the log does not repair; *ret_op: its put, UINT64_MAX: none. */
static int check_stored(const struct tiered_case *c, uint64_t item, uint64_t key, uint64_t *ret_op)
{
	const struct tiered_layout *const l = &c->v.layout;
	const nvw_off row = tiered_row(l, item, key);
	const uint64_t op = tiered_table_word(&c->v, row) - 1;

	const nvw_off value = op == UINT64_MAX ? 0 : tiered_value(l, op);

	*ret_op = op;
	if (op != UINT64_MAX &&
		(op >= l->count || op % l->items != item || (c->plan && key_of(c, op) != key))) {
		return nvw_violation(c->findings, row,
			"the row of key %" PRIu64 " of work-item %" PRIu64 " names put %" PRIu64
			", which is none of this key",
			key, item, op);
	}
	if (table_has(c, row + 8, value)) {
		return 0;
	}
	if (op == UINT64_MAX || table_has(c, row + 8, 0)) {
		return nvw_violation(c->findings, row,
			"the row of key %" PRIu64 " of work-item %" PRIu64 " is torn: half of it is empty",
			key, item);
	}
	return nvw_violation(c->findings, row,
		"the row of key %" PRIu64 " of work-item %" PRIu64 " is torn: put %" PRIu64
		", and the value of another put",
		key, item, op);
}

/* The item's first put of the key after op (UINT64_MAX: its first), UINT64_MAX: none. */
static uint64_t next_put(const struct tiered_case *c, uint64_t item, uint64_t key, uint64_t op)
{
	const struct tiered_layout *const l = &c->v.layout;

	op = op == UINT64_MAX ? item : op + l->items;
	while (op < l->count && key_of(c, op) != key) {
		op += l->items;
	}
	return op < l->count ? op : UINT64_MAX;
}

/* (2) */
static int check_next(const struct tiered_case *c, uint64_t item, uint64_t key, uint64_t op)
{
	const uint64_t next = c->acks ? next_put(c, item, key, op) : UINT64_MAX;

	if (next == UINT64_MAX || !nvw_acked(c->acks, next)) {
		return 0;
	}
	return nvw_violation(c->findings, tiered_row(&c->v.layout, item, key),
		"put %" PRIu64 " of key %" PRIu64 " of work-item %" PRIu64
		" is lost: it was acknowledged, and neither table nor log has it",
		next, key, item);
}

static int check_row(const struct tiered_case *c, uint64_t item, uint64_t key)
{
	uint64_t op = c->is_recovered ? UINT64_MAX : put_of_log(c, item, key);

	if (op == UINT64_MAX) {
		NVW_TRY(check_stored(c, item, key, &op));
	}
	if (op != UINT64_MAX && !is_whole(c, op)) {
		return nvw_violation(c->findings, tiered_value(&c->v.layout, op),
			"the row of key %" PRIu64 " of work-item %" PRIu64 " names put %" PRIu64
			", whose value is not durable, or torn",
			key, item, op);
	}
	return check_next(c, item, key, op);
}

int tiered_check_part(const struct tiered_case *c, uint64_t part)
{
	const struct tiered_layout *const l = &c->v.layout;

	if (part == 0) {
		return check_shape(c);
	}
	part--;
	if (part < l->items) {
		return check_log(c, part);
	}
	part -= l->items;
	return check_row(c, part / l->keys, part % l->keys);
}

static int check(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks, uint64_t part,
	struct nvw_findings *findings)
{
	struct tiered_case c = {.plan = plan, .acks = acks, .findings = findings};

	if (tiered_view_open((struct nvw_pool *)(uintptr_t)pool, &c.v) != 0) {
		return roots_refused(pool, part, findings);
	}
	if (part > 0 && (c.v.layout.log == 0 || !is_as_planned(&c))) {
		return 0; /* part 0 says so */
	}
	return tiered_check_part(&c, part);
}

static void name(const void *plan, uint64_t part, char *ret_name, size_t bytes)
{
	const struct tiered_layout *const l = &((const struct tiered_plan *)plan)->shape;

	assert(part < count(plan, NULL));
	if (part == 0) {
		snprintf(ret_name, bytes, "the table's shape");
	} else if (part - 1 < l->items) {
		snprintf(ret_name, bytes, "the log of work-item %" PRIu64, part - 1);
	} else {
		part -= 1 + l->items;
		snprintf(ret_name, bytes, "the row of key %" PRIu64 " of work-item %" PRIu64, part % l->keys,
			part / l->keys);
	}
}

const struct nvw_parts tiered_parts = {.count = count, .check = check, .name = name};
