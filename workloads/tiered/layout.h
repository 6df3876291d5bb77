/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table whose values lie on one NVRAM device, behind a log on another.
 *
 * The log is in the run's first pool. The table and its values are in the second pool (--table-device), or
 * beside the log. All references are offsets in the range of the run's pools (nvw/pool.h), because they lead
 * from one pool to the other.
 *
 *	root word 0  offset of the log's extent, 0: the pools are not set up
 *	root word 1  offset of the table's extent
 *	root word 2  work-items | keys per work-item << 32
 *	root word 3  records per work-item | words of a value << 32
 *	root word 4  operations
 *
 * Operation op is a put by work-item op % items, its k-th (k = op / items). It writes a value of its own,
 * which never moves.
 *
 *	log of a work-item   a line with the applied word (how many of its puts the table has, so that their
 *			     records are free), then its records: op + 1, row, value, digest; record k is in
 *			     slot k % records
 *	row of a key         op + 1, value; 0, 0 if the key was never put
 *	value                op + 1, words, digest
 *
 * Guarantees after a crash at any point, once recovery has run
 *	(1) a row names a put of its own key, and the whole value of this put;
 *	(2) a put that was acknowledged is in its row, or a later put of the same key is;
 *	(3) no log has a record that the table lacks.
 */
#ifndef WORKLOADS_TIERED_LAYOUT_H
#define WORKLOADS_TIERED_LAYOUT_H

#include <nvw/pool.h>
#include <nvw/random.h>

enum { TIERED_LOG, TIERED_TABLE, TIERED_SHAPE, TIERED_SIZES, TIERED_COUNT, TIERED_ROOTS }; /* root words */
enum {
	TIERED_LINE = 64,
	TIERED_RECORD_BYTES = 32,
	TIERED_ROW_BYTES = 16,
	TIERED_ITEMS_MAX = 1 << 16,
	TIERED_KEYS_MAX = 1 << 12,
	TIERED_RECORDS_MAX = 1 << 12,
	TIERED_WORDS_MAX = 64,
	TIERED_COUNT_MAX = 1 << 22,
};

struct tiered_layout {
	nvw_off log, table;
	uint64_t items, keys, records, words, count;
};

/* ---- The log -------------------------------------------------------------------------------------- */

static inline uint64_t tiered_log_bytes(const struct tiered_layout *l)
{
	return TIERED_LINE + (l->records * TIERED_RECORD_BYTES + TIERED_LINE - 1) / TIERED_LINE * TIERED_LINE;
}

static inline nvw_off tiered_applied(const struct tiered_layout *l, uint64_t item)
{
	return l->log + item * tiered_log_bytes(l);
}

/* The place of the record of the item's k-th put. */
static inline nvw_off tiered_record(const struct tiered_layout *l, uint64_t item, uint64_t k)
{
	return tiered_applied(l, item) + TIERED_LINE + k % l->records * TIERED_RECORD_BYTES;
}

static inline uint64_t tiered_record_digest(uint64_t op, nvw_off row, nvw_off value)
{
	return nvw_mix64(nvw_mix64(op + 0x243f6a8885a308d3u) ^ nvw_mix64(row) ^ value);
}

/* ---- The table ------------------------------------------------------------------------------------ */

static inline nvw_off tiered_row(const struct tiered_layout *l, uint64_t item, uint64_t key)
{
	return l->table + (item * l->keys + key) * TIERED_ROW_BYTES;
}

static inline uint64_t tiered_value_bytes(const struct tiered_layout *l)
{
	return 8 * (l->words + 2);
}

static inline nvw_off tiered_value(const struct tiered_layout *l, uint64_t op)
{
	return tiered_row(l, l->items, 0) + op * tiered_value_bytes(l);
}

static inline uint64_t tiered_table_bytes(const struct tiered_layout *l)
{
	return tiered_value(l, l->count) - l->table;
}

static inline uint64_t tiered_key(const struct tiered_layout *l, uint64_t seed, uint64_t op)
{
	return nvw_mix64(seed ^ nvw_mix64(op + 1)) % l->keys;
}

static inline uint64_t tiered_word(uint64_t seed, uint64_t op, uint64_t i)
{
	return nvw_mix64(seed + op * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u);
}

static inline uint64_t tiered_digest_begin(uint64_t op)
{
	return nvw_mix64(op + 0x13198a2e03707344u);
}

static inline uint64_t tiered_digest_add(uint64_t digest, uint64_t word)
{
	return nvw_mix64(digest ^ word) + 0xa4093822299f31d0u;
}

#endif
