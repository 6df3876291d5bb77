/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle of kv: guarantees (1) to (6) of layout.h, on a recovered pool. The parts state (1), (2), (4)
 * and (6) of each slot and key; what recovery has to have done, (3) and (5), is stated here.
 *
 * No memory is allocated: the crash tester calls this for many thousand states per second.
 */
#include <assert.h>
#include <inttypes.h>

#include "common/roots.h"
#include "check.h"
#include "view.h"

/* (3): probing for the key from its home ends at this slot. */
static int check_reachable(const struct kv_case *c, uint64_t index)
{
	const uint64_t key = nvw_pool_word(c->pool, kv_slot_entry(c->words[index]));

	for (uint64_t i = kv_home(c->table, kv_hash(key)); i != index; i = kv_next_slot(c->table, i)) {
		if (c->words[i] == 0) {
			return nvw_violation(c->findings, c->table.slots + 8 * index,
				"key %" PRIu64 " cannot be found: slot %" PRIu64
				" between its home slot and its actual slot is empty",
				key, i);
		}
	}
	return 0;
}

/* *ret_entries: slots with an entry. Marks the keys that have a value. */
static int check_slots(const struct kv_case *c, uint64_t *ret_entries)
{
	uint64_t entries = 0;
	int result = 0;

	NVW_FOR(i, kv_slot_count(c->table)) {
		if (c->words[i] == 0 || c->words[i] == KV_FILLER) {
			continue;
		}
		int error = kv_check_slot(c, i);

		if (error == 0) {
			error = check_reachable(c, i);
		}
		if (error != 0) {
			result = error;
		}
		entries++;
	}
	*ret_entries = entries;
	return result;
}

/* A key that a slot has shown need not be looked for. */
static int check_keys(const struct kv_case *c)
{
	const struct kv_plan *const p = c->owed.plan;
	int result = 0;

	assert(p->checks > 0);
	NVW_FOR(id, p->key_count) {
		if (p->seen[id] != p->checks && kv_check_key(c, &p->by_key[id]) != 0) {
			result = NVW_E_INCONSISTENT;
		}
	}
	return result;
}

static int count_block(void *context, nvw_off block, uint64_t bytes)
{
	uint64_t *const blocks = context;

	(*blocks)++;
	return 0;
}

/* (5): by (1) and (2), slots refer to different allocated blocks, so equal numbers mean that no block
 * leaked. */
static int check_leaks(const struct kv_case *c, uint64_t expected)
{
	uint64_t blocks = 0;

	NVW_TRY(nvw_heap_visit(c->pool, count_block, &blocks));
	if (blocks == expected) {
		return 0;
	}
	return nvw_violation(c->findings, 0,
		"%" PRIu64 " blocks and extents are allocated, but the table refers to %" PRIu64, blocks,
		expected);
}

int kv_check(void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	struct kv_case c = {.pool = pool, .owed = {acks == NULL ? NULL : plan, acks}, .findings = findings};
	struct kv_view view;
	uint64_t entries = 0;
	int error = 0, lost = 0;

	if (kv_view_open(pool, &view) != 0) {
		return roots_broken(pool, findings);
	}
	c.table = view.table;
	c.words = view.words;
	NVW_TRY(kv_check_table(&c));
	if (c.owed.plan) {
		c.owed.plan->checks++;
	}
	if (c.words) {
		error = check_slots(&c, &entries);
	}
	if (c.owed.plan) {
		lost = check_keys(&c);
	}
	if (error != 0 || lost != 0) {
		return NVW_E_INCONSISTENT;
	}
	return check_leaks(&c, entries + (c.words != NULL));
}

/* A slot that is lost, or has moved, is one of a table with other keys: nobody counts the keys. */
const char *kv_unguarded(struct nvw_pool *pool, nvw_off off, uint64_t found)
{
	struct kv_view v;

	if (kv_view_open(pool, &v) != 0 || !v.words || off < v.table.slots ||
		off >= v.table.slots + 8 * kv_slot_count(v.table)) {
		return NULL;
	}
	const uint64_t word = v.words[(off - v.table.slots) / 8];

	if ((found ^ word) == KV_DELETED && kv_slot_entry(word) != 0) {
		return "whether a key is deleted";
	}
	bool is_slot = found == 0 || found == KV_FILLER;

	NVW_FOR(i, kv_slot_count(v.table)) {
		is_slot = is_slot || v.words[i] == found;
	}
	return is_slot ? "a slot" : NULL;
}
