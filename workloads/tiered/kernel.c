/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts into a table behind a log. The log is small and on a near device; table and values are large and on a
 * far one. Each work-item has keys, a log and values of its own. A put:
 *
 *	value						(a)	far
 *	persist barrier, work-item			(b)	keeps (1): a value is whole before the log
 *								names it; and keeps (2): an earlier (h) is
 *								durable before a record is overwritten
 *	log record: row and value			(c)	near
 *	persist barrier, work-item			(d)	keeps (1): the record repairs a torn row
 *	acknowledge the put				(e)	keeps (2): recovery finds the record
 *	row of the key := this put			(f)	far, not waited for
 *
 * When the log is full, and at the end:
 *
 *	persist barrier, work-item			(g)	keeps (2): the rows are durable before their
 *							records go
 *	applied word := puts so far			(h)	near
 *
 * So a put waits once for the far device (its value) and once for the near one (its record); its row is
 * written in the background.
 *
 * STEP() marks the steps that a seeded bug may replace (mutations.c).
 */
#include "steps.h"

/* A macro, so that reports name the line of each store. */
#define STORE(a, off, word) nvw_store(nvw_at(&(a)->pmem, uint64_t, off), (word))

void tiered_store_value(const struct tiered_args *a, const struct tiered_put *put)
{
	const uint64_t words = a->layout.words;
	uint64_t digest = tiered_digest_begin(put->op);

	STORE(a, put->value, put->op + 1);
	NVW_FOR(i, words) {
		const uint64_t word = tiered_word(a->plan->seed, put->op, i);

		digest = tiered_digest_add(digest, word);
		STORE(a, put->value + 8 * (1 + i), word);
	}
	STORE(a, put->value + 8 * (1 + words), digest);
}

static void store_value(const struct tiered_args *a, const struct tiered_put *put)
{
	tiered_store_value(a, put);
}

static void order_value(void)
{
	nvw_p_barrier_wi();
}

void tiered_store_record(const struct tiered_args *a, const struct tiered_put *put)
{
	const nvw_off record = tiered_record(&a->layout, put->item, put->k);

	STORE(a, record, put->op + 1);
	STORE(a, record + 8, put->row);
	STORE(a, record + 16, put->value);
	STORE(a, record + 24, tiered_record_digest(put->op, put->row, put->value));
}

static void log_put(const struct tiered_args *a, const struct tiered_put *put)
{
	tiered_store_record(a, put); /* (c) */
	nvw_p_barrier_wi();          /* (d) */
	nvw_ack(put->op);            /* (e) */
}

void tiered_store_row(const struct tiered_args *a, const struct tiered_put *put)
{
	STORE(a, put->row, put->op + 1);
	STORE(a, put->row + 8, put->value);
}

void tiered_store_applied(const struct tiered_args *a, uint64_t item, uint64_t applied)
{
	STORE(a, tiered_applied(&a->layout, item), applied);
}

static void truncate(const struct tiered_args *a, uint64_t item, uint64_t applied)
{
	nvw_p_barrier_wi();                     /* (g) */
	tiered_store_applied(a, item, applied); /* (h) */
}

void tiered_kernel(const void *args)
{
	const struct tiered_args *const a = args;
	const struct tiered_layout *const l = &a->layout;
	const uint64_t item = nvw_global_id(), end = a->shares[item].end;
	uint64_t k = a->shares[item].first;

	for (; k < end; k++) {
		const uint64_t op = item + k * l->items;
		const struct tiered_put put = {.op = op,
			.item = item,
			.k = k,
			.row = tiered_row(l, item, tiered_key(l, a->plan->seed, op)),
			.value = tiered_value(l, op)};

		const uint64_t begun = nvw_operation_begin();

		if (k > 0 && k % l->records == 0) {
			STEP(a->replaced, truncate, a, item, k); /* (g), (h) */
			a->plan->truncations++;
		}
		STEP(a->replaced, store_value, a, &put); /* (a) */
		STEP(a->replaced, order_value);          /* (b) */
		STEP(a->replaced, log_put, a, &put);     /* (c), (d), (e) */
		tiered_store_row(a, &put);               /* (f) */
		nvw_operation_end(0, begun);
	}
	STEP(a->replaced, truncate, a, item, k); /* (g), (h) */
}
