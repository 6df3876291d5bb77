/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The check of the tiered table in parts (nvw_parts): what check.c finds, of one log or row at a time.
 *
 *	shape		the root words name the logs and the table of the plan
 *	log i		no more puts are applied than its work-item makes
 *	row (i, q)	as recovery leaves it, it is empty, or names a put of its key and the whole value of this put (1); the
 *			next put of the key is not acknowledged (2)
 *
 * Recovery (view.c) executes the records from the applied word on, as far as they are whole. So a row has the last of them that
 * is of its key, and only without one what was stored there. A record is whole if all its words are those of its put: only
 * puts store there, and the digest tells torn ones. After recovery no log has a record that the table lacks (3), since the
 * applied word is set behind the last. The number of applied puts is then what it was and the records, and records are of
 * puts, so it is possible if it was.
 *
 * Of the puts of a key that come after the one in its row, the next one is asked for alone. A work-item acknowledges its puts
 * in order, so if a later one is acknowledged, the next one is.
 */
#include <inttypes.h>
#include <stdio.h>

#include "common/roots.h"
#include "plan.h"

struct part {
	struct tiered_view v;
	const struct tiered_plan *plan;
	const struct nvw_acks *acks;
	struct nvw_findings *findings;
};

static uint64_t count(const void *plan, const struct nvw_pool_geometry *g)
{
	const struct tiered_layout *const l = &((const struct tiered_plan *)plan)->shape;

	(void)g;
	return 1 + l->items + l->items * l->keys;
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

static bool log_has(const struct part *p, nvw_off off, uint64_t word)
{
	return nvw_pool_ask(p->v.log, off, is_word, &word) != 0;
}

static bool table_has(const struct part *p, nvw_off off, uint64_t word)
{
	return nvw_pool_ask(p->v.table, off - nvw_pool_begin(p->v.table), is_word, &word) != 0;
}

static uint64_t key_of(const struct part *p, uint64_t op)
{
	return tiered_key(&p->v.layout, p->plan->seed, op);
}

/* Is the record of the item's k-th put whole? */
static bool has_record(const struct part *p, uint64_t item, uint64_t k)
{
	const struct tiered_layout *const l = &p->v.layout;
	const nvw_off off = tiered_record(l, item, k);
	const uint64_t op = item + k * l->items;

	if (op >= l->count || !log_has(p, off, op + 1)) {
		return false;
	}
	const nvw_off row = tiered_row(l, item, key_of(p, op)), value = tiered_value(l, op);

	return log_has(p, off + 8, row) && log_has(p, off + 16, value) &&
	       log_has(p, off + 24, tiered_record_digest(op, row, value));
}

/* The put that recovery takes from the log for a row, UINT64_MAX: none. */
static uint64_t put_of_log(const struct part *p, uint64_t item, uint64_t key)
{
	uint64_t last = UINT64_MAX;

	for (uint64_t k = tiered_log_word(&p->v, tiered_applied(&p->v.layout, item)); has_record(p, item, k);
		k++) {
		const uint64_t op = item + k * p->v.layout.items;

		last = key_of(p, op) == key ? op : last;
	}
	return last;
}

static bool is_whole(const struct part *p, uint64_t op, nvw_off value)
{
	const uint64_t words = p->v.layout.words;
	uint64_t digest = tiered_digest_begin(op);

	for (uint64_t i = 0; i < words; i++) {
		const uint64_t word = tiered_word(p->plan->seed, op, i);

		digest = tiered_digest_add(digest, word);
		if (!table_has(p, value + 8 * (1 + i), word)) {
			return false;
		}
	}
	return table_has(p, value, op + 1) && table_has(p, value + 8 * (1 + words), digest);
}

/* ---- The parts ------------------------------------------------------------------------------------ */

static int check_shape(const struct part *p)
{
	const struct tiered_layout *const l = &p->v.layout, *const planned = &p->plan->shape;

	if (l->log == 0) {
		return nvw_acked_count(p->acks) != 0 ?
			       nvw_violation(p->findings, 0, "the table is lost: puts were acknowledged") :
			       0;
	}
	return l->items != planned->items || l->keys != planned->keys || l->records != planned->records ||
			       l->words != planned->words || l->count != planned->count ?
		       nvw_violation(p->findings, 0, "the table has another shape than planned") :
		       0;
}

static int check_log(const struct part *p, uint64_t item)
{
	const struct tiered_layout *const l = &p->v.layout;
	const nvw_off applied = tiered_applied(l, item);
	const uint64_t puts = (l->count + l->items - 1 - item) / l->items;

	return nvw_pool_ask(p->v.log, applied, is_at_most, &puts) != 0 ?
		       0 :
		       nvw_violation(p->findings, applied,
			       "the log of work-item %" PRIu64
			       " says that more puts are applied than there are",
			       item);
}

/* What was stored in a row that the log does not repair; *ret_op: its put, UINT64_MAX: none. */
static int check_stored(const struct part *p, uint64_t item, uint64_t key, uint64_t *ret_op)
{
	const struct tiered_layout *const l = &p->v.layout;
	const nvw_off row = tiered_row(l, item, key);
	const uint64_t op = tiered_table_word(&p->v, row) - 1;
	const nvw_off value = op == UINT64_MAX ? 0 : tiered_value(l, op);

	*ret_op = op;
	if (op != UINT64_MAX && (op >= l->count || op % l->items != item || key_of(p, op) != key)) {
		return nvw_violation(p->findings, row,
			"the row of key %" PRIu64 " of work-item %" PRIu64 " names put %" PRIu64
			", which is none of this key",
			key, item, op);
	}
	return table_has(p, row + 8, value) ? 0 :
					      nvw_violation(p->findings, row,
						      "the row of key %" PRIu64 " of work-item %" PRIu64
						      " is torn: it does not name its put's value",
						      key, item);
}

/* The item's first put of the key after op (UINT64_MAX: its first), UINT64_MAX: none. */
static uint64_t next_put(const struct part *p, uint64_t item, uint64_t key, uint64_t op)
{
	const struct tiered_layout *const l = &p->v.layout;

	op = op == UINT64_MAX ? item : op + l->items;
	while (op < l->count && key_of(p, op) != key) {
		op += l->items;
	}
	return op < l->count ? op : UINT64_MAX;
}

static int check_row(const struct part *p, uint64_t item, uint64_t key)
{
	const nvw_off row = tiered_row(&p->v.layout, item, key);
	uint64_t op = put_of_log(p, item, key);

	if (op == UINT64_MAX && check_stored(p, item, key, &op) != 0) {
		return NVW_E_INCONSISTENT;
	}
	if (op != UINT64_MAX && !is_whole(p, op, tiered_value(&p->v.layout, op))) {
		return nvw_violation(p->findings, tiered_value(&p->v.layout, op),
			"the row of key %" PRIu64 " of work-item %" PRIu64 " names put %" PRIu64
			", whose value is not durable, or torn",
			key, item, op);
	}
	const uint64_t next = next_put(p, item, key, op);

	return next != UINT64_MAX && nvw_acked(p->acks, next) ?
		       nvw_violation(p->findings, row,
			       "put %" PRIu64 " of key %" PRIu64 " of work-item %" PRIu64
			       " is lost: it was acknowledged, and neither table nor log has it",
			       next, key, item) :
		       0;
}

static int check(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks, uint64_t part,
	struct nvw_findings *findings)
{
	const struct tiered_plan *const t = plan;
	struct part p = {.plan = t, .acks = acks, .findings = findings};

	if (tiered_view_open((struct nvw_pool *)(uintptr_t)pool, &p.v) != 0) {
		return roots_refused(pool, part, findings);
	}
	if (part == 0) {
		return check_shape(&p);
	}
	part--;
	if (p.v.layout.log == 0) {
		return 0;
	}
	if (part < t->shape.items) {
		return check_log(&p, part);
	}
	part -= t->shape.items;
	return check_row(&p, part / t->shape.keys, part % t->shape.keys);
}

static void name(const void *plan, uint64_t part, char *ret_name, size_t bytes)
{
	const struct tiered_layout *const l = &((const struct tiered_plan *)plan)->shape;

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
