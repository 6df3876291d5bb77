/* SPDX-License-Identifier: BSD-3-Clause */
/* The seeded bugs of the tiered table: each one's code in place of a step. */
#define NVW_NOT_COVERED
#include <assert.h>

#include "steps.h"

static void order_nothing(void)
{
}

static void store_no_value(const struct tiered_args *a, const struct tiered_put *put)
{
}

static void log_and_store_value(const struct tiered_args *a, const struct tiered_put *put)
{
	tiered_store_record(a, put);
	nvw_p_barrier_wi();
	tiered_store_value(a, put);
	nvw_ack(put->op);
}

static void acknowledge_first(const struct tiered_args *a, const struct tiered_put *put)
{
	tiered_store_record(a, put);
	nvw_ack(put->op);
	nvw_p_barrier_wi();
}

/* The row is stored before its record can repair it. */
static void store_row_first(const struct tiered_args *a, const struct tiered_put *put)
{
	tiered_store_row(a, put);
	tiered_store_record(a, put);
	nvw_p_barrier_wi();
	nvw_ack(put->op);
}

static void truncate_unordered(const struct tiered_args *a, uint64_t item, uint64_t applied)
{
	tiered_store_applied(a, item, applied);
}

/* What the table has is not looked at. */
static uint64_t first_of_all(const struct tiered_view *v, uint64_t item)
{
	return 0;
}

/* ---- The table ------------------------------------------------------------------------------------ */

const struct nvw_mutation tiered_mutations[] = {
	[TIERED_VALUE_UNORDERED] = {"value-unordered",
		"no persist barrier between a value and the log record that names it", "epoch", NULL},
	[TIERED_VALUE_LATE] = {"value-late", "values are stored when the log names them already", "observed",
		NULL},
	[TIERED_ACK_EARLY] = {"ack-early",
		"puts are acknowledged before the barrier behind their log records", "observed", NULL},
	[TIERED_ROW_FIRST] = {"row-first", "rows are stored before the log has their records", "epoch", NULL},
	[TIERED_TRUNCATE_UNORDERED] = {"truncate-unordered",
		"no persist barrier between rows and the truncation of the log", "epoch", NULL},
	[TIERED_FORGOTTEN_PUTS] = {"forgotten-puts",
		"after a crash, work-items begin with their first put again: an old value replaces a newer "
		"one",
		"and-then", "count=60 groups=1 group-size=5 records=2 keys=1 words=1"},
	{NULL, NULL, NULL, NULL},
};

const struct tiered_steps *tiered_replaced(enum tiered_mutation mutation)
{
	static const struct tiered_steps none,
		replaced[] = {
			[TIERED_VALUE_UNORDERED] = {.order_value = order_nothing},
			[TIERED_VALUE_LATE] = {.store_value = store_no_value, .log_put = log_and_store_value},
			[TIERED_ACK_EARLY] = {.log_put = acknowledge_first},
			[TIERED_ROW_FIRST] = {.log_put = store_row_first},
			[TIERED_TRUNCATE_UNORDERED] = {.truncate = truncate_unordered},
			[TIERED_FORGOTTEN_PUTS] = {.first_put = first_of_all},
		};

	assert(mutation == TIERED_UNMUTATED || (size_t)mutation < sizeof(replaced) / sizeof(*replaced));
	return mutation == TIERED_UNMUTATED ? &none : &replaced[mutation];
}
