/* SPDX-License-Identifier: BSD-3-Clause */
/* The oracle of the tiered table: guarantees (1) to (3) of layout.h, on recovered pools. */
#include <inttypes.h>

#include "plan.h"

struct check {
	struct tiered_view v;
	const struct tiered_plan *plan; /* NULL: structure only */
	const struct nvw_acks *acks;    /* NULL if plan is NULL */
	struct nvw_findings *findings;
	int error;
};

#define VIOLATION(c, off, ...) ((c)->error = nvw_violation((c)->findings, off, __VA_ARGS__))

/* ---- Rows and their values: (1) ------------------------------------------------------------------- */

static bool is_whole(const struct check *c, uint64_t op, nvw_off value)
{
	const uint64_t words = c->v.layout.words;
	uint64_t digest = tiered_digest_begin(op);

	for (uint64_t i = 0; i < words; i++) {
		const uint64_t word = tiered_table_word(&c->v, value + 8 * (1 + i));

		if (c->plan != NULL && word != tiered_word(c->plan->seed, op, i)) {
			return false;
		}
		digest = tiered_digest_add(digest, word);
	}
	return tiered_table_word(&c->v, value) == op + 1 &&
	       tiered_table_word(&c->v, value + 8 * (1 + words)) == digest;
}

/* *ret_op is the put of the row's value, UINT64_MAX for none. */
static void check_row(struct check *c, uint64_t item, uint64_t key, uint64_t *ret_op)
{
	const struct tiered_layout *const l = &c->v.layout;
	const nvw_off row = tiered_row(l, item, key);
	const uint64_t op = tiered_table_word(&c->v, row) - 1;
	const nvw_off value = tiered_table_word(&c->v, row + 8);

	*ret_op = op;
	if (op == UINT64_MAX && value == 0) {
		return;
	}
	if (op == UINT64_MAX || value == 0) {
		VIOLATION(c, row,
			"the row of key %" PRIu64 " of work-item %" PRIu64 " is torn: half of it is empty",
			key, item);
	} else if (op >= l->count || op % l->items != item ||
		   (c->plan != NULL && tiered_key(l, c->plan->seed, op) != key)) {
		VIOLATION(c, row,
			"the row of key %" PRIu64 " of work-item %" PRIu64 " names put %" PRIu64
			", which is none of this key",
			key, item, op);
	} else if (value != tiered_value(l, op)) {
		VIOLATION(c, row,
			"the row of key %" PRIu64 " of work-item %" PRIu64 " is torn: put %" PRIu64
			", and the value of another put",
			key, item, op);
	} else if (!is_whole(c, op, value)) {
		VIOLATION(c, value,
			"the row of key %" PRIu64 " of work-item %" PRIu64 " names put %" PRIu64
			", whose value is not durable, or torn",
			key, item, op);
	}
}

/* ---- Acknowledgements: (2) ----------------------------------------------------------------------- */

/* The item's latest acknowledged put of the key, UINT64_MAX for none. */
static uint64_t latest_acknowledged(const struct check *c, uint64_t item, uint64_t key)
{
	const struct tiered_layout *const l = &c->v.layout;
	uint64_t latest = UINT64_MAX;

	for (uint64_t op = item; op < l->count; op += l->items) {
		if (nvw_acked(c->acks, op) && tiered_key(l, c->plan->seed, op) == key) {
			latest = op;
		}
	}
	return latest;
}

static void check_acknowledged(struct check *c, uint64_t item, uint64_t key, uint64_t op)
{
	const uint64_t latest = latest_acknowledged(c, item, key);

	if (latest != UINT64_MAX && (op == UINT64_MAX || op < latest)) {
		VIOLATION(c, tiered_row(&c->v.layout, item, key),
			"put %" PRIu64 " of key %" PRIu64 " of work-item %" PRIu64
			" is lost: it was acknowledged, and neither table nor log has it",
			latest, key, item);
	}
}

/* ---- The whole ------------------------------------------------------------------------------------ */

static void check_log(struct check *c, uint64_t item)
{
	const struct tiered_layout *const l = &c->v.layout;
	const nvw_off applied = tiered_applied(l, item);
	const uint64_t k = tiered_log_word(&c->v, applied);
	nvw_off row, value;

	if (k > (l->count + l->items - 1 - item) / l->items) {
		VIOLATION(c, applied,
			"the log of work-item %" PRIu64 " says that %" PRIu64 " puts are applied, of fewer",
			item, k);
	} else if (tiered_has_record(&c->v, item, k, &row, &value)) {
		VIOLATION(c, tiered_record(l, item, k),
			"recovery has left a record in the log of work-item %" PRIu64, item);
	}
}

static void check_all(struct check *c)
{
	for (uint64_t item = 0; item < c->v.layout.items; item++) {
		check_log(c, item);
		for (uint64_t key = 0; key < c->v.layout.keys; key++) {
			uint64_t op;

			check_row(c, item, key, &op);
			if (c->plan != NULL) {
				check_acknowledged(c, item, key, op);
			}
		}
	}
}

int tiered_check(
	void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	struct check c = {.plan = acks ? plan : NULL, .acks = acks, .findings = findings};

	if (tiered_view_open(pool, &c.v) != 0) {
		return nvw_violation(
			findings, nvw_pool_root_off(nvw_pool_geometry(pool), 0), "%s", nvw_error_message());
	}
	if (c.v.layout.log == 0) {
		return acks != NULL && nvw_acked_count(acks) != 0 ?
			       nvw_violation(findings, 0, "the table is lost: puts were acknowledged") :
			       0;
	}
	check_all(&c);
	return c.error;
}
