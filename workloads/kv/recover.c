/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recovery of kv, after the generic one. It has up to two tasks:
 *
 * Holes. Work-items that insert different keys probe over each other's slots; no barrier orders their stores,
 * and none is needed. So a crash may keep the later slot of a probe path and lose an earlier one, which then
 * reads as empty and would end the probe too early. Every empty slot between a key's home and its slot
 * becomes a filler, one word each. This keeps guarantee (3).
 *
 * Leaks. Entries written but not published, entries replaced but not freed, a new table that the root word
 * does not name yet, an old one that it no longer names: the sweep frees all blocks that no slot refers to.
 * This keeps (5). Holes are filled first, so that the sweep finds a key by probing.
 *
 * A root word of 0 beside an entry is damage, and is refused: the sweep would free all entries.
 *
 * Both are idempotent and may stop after any word. A slot that no crash of a correct program can leave is not
 * touched; check() reports it.
 */
#include "plan.h"
#include "view.h"

static int fill_path(const struct kv_view *v, uint64_t home, uint64_t slot, struct nvw_recovery *report)
{
	for (uint64_t i = home; i != slot; i = kv_next_slot(v->table, i)) {
		if (v->words[i] != 0) {
			continue;
		}

		NVW_TRY(nvw_pool_write_word(v->pool, v->table.slots + 8 * i, KV_FILLER));
		report->structure_repairs++;
	}
	return 0;
}

static int fill_holes(const struct kv_view *v, struct nvw_recovery *report)
{
	const uint64_t slots = kv_slot_count(v->table);

	NVW_FOR(i, slots) {
		const nvw_off entry = kv_slot_entry(v->words[i]);
		uint64_t key;

		if (entry == 0 || !kv_view_key(v, entry, &key)) {
			continue;
		}

		NVW_TRY(fill_path(v, kv_home(v->table, kv_hash(key)), i, report));
	}
	return 0;
}

/*
 * Whether block is the entry of a slot. A single probe for the key in the block answers it. A block that was
 * not completely written may have any content; no slot refers to it, so the table has another entry or none
 * for the key that it seems to hold.
 */
static bool is_entry(const struct kv_view *v, nvw_off block)
{
	const uint64_t slots = kv_slot_count(v->table);
	uint64_t key;

	if (!kv_view_key(v, block, &key)) {
		return false;
	}

	uint64_t i = kv_home(v->table, kv_hash(key));

	for (uint64_t n = 0; n < slots && v->words[i] != 0; n++, i = kv_next_slot(v->table, i)) {
		if (kv_slot_entry(v->words[i]) == block) {
			return true;
		}
	}
	return false;
}

static bool is_reachable(void *context, nvw_off block, uint64_t bytes)
{
	const struct kv_view *const v = context;

	return v->words != NULL && (block == v->table.slots || is_entry(v, block));
}

int kv_recover(struct nvw_pool *pool, struct nvw_recovery *report)
{
	struct kv_view v;

	NVW_TRY(kv_view_open(pool, &v));
	if (v.words) {
		NVW_TRY(fill_holes(&v, report));
	} else {
		NVW_TRY(kv_view_expect_empty(pool));
	}
	return nvw_heap_sweep(pool, is_reachable, &v, report);
}
