/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The durable table and its logs: finding them, recovery, inspection.
 *
 * Recovery executes the puts that the logs have and the table may lack, in order, then truncates the logs.
 * The rows are in the table's pool, the logs in another: a log is truncated only when all its rows are
 * durable.
 */
#include <assert.h>
#include <inttypes.h>

#include "common/extent.h"
#include "common/figures.h"
#include "plan.h"

static bool is_possible(const struct tiered_view *v)
{
	const struct tiered_layout *const l = &v->layout;
	const nvw_off begin = nvw_pool_begin(v->table);

	return l->items > 0 && l->items <= TIERED_ITEMS_MAX && l->keys > 0 && l->keys <= TIERED_KEYS_MAX &&
	       l->records > 0 && l->records <= TIERED_RECORDS_MAX && l->words <= TIERED_WORDS_MAX &&
	       l->count <= TIERED_COUNT_MAX && l->table >= begin &&
	       extent_is_allocated(v->log, l->log, l->items * tiered_log_bytes(l)) &&
	       extent_is_allocated(v->table, l->table - begin, tiered_table_bytes(l));
}

int tiered_view_open(struct nvw_pool *first, struct tiered_view *ret_view)
{
	const uint64_t shape = extent_root(first, TIERED_SHAPE), sizes = extent_root(first, TIERED_SIZES);
	struct nvw_pool *const second = nvw_pool_number(first, 1);

	*ret_view = (struct tiered_view){.log = first,
		.table = second ? second : first,
		.layout = {.log = extent_root(first, TIERED_LOG),
			.table = extent_root(first, TIERED_TABLE),
			.items = shape & UINT32_MAX,
			.keys = shape >> 32,
			.records = sizes & UINT32_MAX,
			.words = sizes >> 32,
			.count = extent_root(first, TIERED_COUNT)}};
	NVW_FAIL_IF(ret_view->layout.log != 0 && !is_possible(ret_view), NVW_E_DAMAGED,
		"%s: root words 0 to 4: expected allocated extents for logs and table, found "
		"offsets %" PRIu64 " and %" PRIu64 " for %" PRIu64 " work-items",
		nvw_pool_path(first), ret_view->layout.log, ret_view->layout.table, ret_view->layout.items);
	return 0;
}

uint64_t tiered_puts(const struct tiered_layout *l, uint64_t item)
{
	assert(item < l->items);
	return (l->count + l->items - 1 - item) / l->items;
}

uint64_t tiered_log_word(const struct tiered_view *v, nvw_off off)
{
	return nvw_pool_word(v->log, off);
}

uint64_t tiered_table_word(const struct tiered_view *v, nvw_off off)
{
	return off < nvw_pool_begin(v->table) ? 0 : nvw_pool_word(v->table, off - nvw_pool_begin(v->table));
}

bool tiered_has_record(
	const struct tiered_view *v, uint64_t item, uint64_t k, nvw_off *ret_row, nvw_off *ret_value)
{
	const nvw_off off = tiered_record(&v->layout, item, k);
	const uint64_t op = item + k * v->layout.items;

	if (tiered_log_word(v, off) != op + 1) {
		return false;
	}
	*ret_row = tiered_log_word(v, off + 8);
	*ret_value = tiered_log_word(v, off + 16);
	return tiered_log_word(v, off + 24) == tiered_record_digest(op, *ret_row, *ret_value);
}

/* ---- Recovery ------------------------------------------------------------------------------------- */

static int write_table(const struct tiered_view *v, nvw_off off, uint64_t word)
{
	NVW_FAIL_IF(off < nvw_pool_begin(v->table), NVW_E_DAMAGED,
		"a log record names offset %" PRIu64 ", which is not in the table", off);
	return nvw_pool_write_word(v->table, off - nvw_pool_begin(v->table), word);
}

/* Executes the puts of one log; *ret_end is the first that it does not have. */
static int redo(const struct tiered_view *v, uint64_t item, uint64_t *ret_end, struct nvw_recovery *report)
{
	uint64_t k = tiered_log_word(v, tiered_applied(&v->layout, item));
	nvw_off row, value;

	for (; tiered_has_record(v, item, k, &row, &value); k++) {
		NVW_TRY(write_table(v, row, item + k * v->layout.items + 1));
		NVW_TRY(write_table(v, row + 8, value));
		report->structure_repairs++;
	}
	*ret_end = k;
	return 0;
}

static int recover_log(const struct tiered_view *v, uint64_t item, struct nvw_recovery *report)
{
	const nvw_off applied = tiered_applied(&v->layout, item);
	uint64_t end;

	assert(item < v->layout.items);
	NVW_TRY(redo(v, item, &end, report));
	if (end == tiered_log_word(v, applied)) {
		return 0;
	}
	NVW_TRY(nvw_pool_sync(v->table));
	return nvw_pool_write_word(v->log, applied, end);
}

int tiered_recover(struct nvw_pool *pool, struct nvw_recovery *report)
{
	struct tiered_view v;

	NVW_TRY(tiered_view_open(pool, &v));
	for (uint64_t item = 0; v.layout.log != 0 && item < v.layout.items; item++) {
		NVW_TRY(recover_log(&v, item, report));
	}
	return 0;
}

/* ---- Inspection ----------------------------------------------------------------------------------- */

int tiered_inspect(struct nvw_pool *pool, struct nvw_description *d)
{
	uint64_t rows = 0, pending = 0;
	struct tiered_view v;
	nvw_off row, value;
	const int error = tiered_view_open(pool, &v);

	if (error != 0 || v.layout.log == 0) {
		return error;
	}
	NVW_FOR(item, v.layout.items) {
		NVW_FOR(key, v.layout.keys) {
			rows += tiered_table_word(&v, tiered_row(&v.layout, item, key)) != 0;
		}
		for (uint64_t k = tiered_log_word(&v, tiered_applied(&v.layout, item));
			tiered_has_record(&v, item, k, &row, &value); k++) {
			pending++;
		}
	}

	const struct figure figures[] = {
		{"tiered.rows", rows, "count", "keys with a value"},
		{"tiered.pending", pending, "count", "puts that recovery has yet to take from the logs"},
	};

	return FIGURES_DESCRIBE(d, figures);
}
