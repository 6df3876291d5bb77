/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The check of kv in parts (nvw_parts): guarantees (1) to (6) of layout.h, of one slot or key at a time.
 *
 *	table	the root word names an allocated extent
 *	slot s	its word is one that some operation writes; its entry is allocated and whole (1), the fingerprint is that of
 *		its key (4), no other slot has this key (2), and unless it is deleted its value may hold (6)
 *	key k	if it may not be absent, a slot has it (6)
 *
 * What remains of the whole check holds of every recovered pool, by what recover.c does:
 *	(3) reachable: recovery makes a filler of every empty slot between a key's home and its slot. So no probe ends
 *		early. A slot that reads as empty is a filler or empty; check.c treats both alike.
 *	(5) no leak: recovery frees every block that is not the entry of a slot. It finds by probing whether it is, and by
 *		(3) every probe reaches the key's slot, so no entry of a slot is freed. Thus a block is allocated after
 *		recovery exactly if it was before and a slot names it: part (1) of that slot asks about the first. Two slots
 *		with one block would have one key, against (2); so the blocks are as many as the slots with an entry.
 *
 * Other slots of a key are asked of those that have its fingerprint (nvw_pool_holders()), not of the probe path.
 */
#include <inttypes.h>
#include <stdio.h>

#include "owed.h"
#include "view.h"

enum { HOLDERS_MAX = 256 };

struct part {
	const struct nvw_pool *pool;
	struct kv_table table;
	struct kv_owed owed;
	struct nvw_findings *findings;
};

static uint64_t most_slots(const struct kv_plan *p)
{
	return UINT64_C(1) << (p->most_log2_slots > p->log2_slots ? p->most_log2_slots : p->log2_slots);
}

static uint64_t count(const void *plan, const struct nvw_pool_geometry *g)
{
	const struct kv_plan *const p = plan;

	(void)g;
	return 1 + most_slots(p) + p->key_count;
}

static bool is_slot_word(uint64_t word)
{
	return (word & ~(UINT64_C(0xffff) << 48 | KV_OFF_MASK | KV_DELETED)) == 0 && kv_slot_entry(word) != 0;
}

/* A slot is found by its fingerprint. No pool is so large that its offsets have the highest bits. */
static uint64_t key_of(const void *plan, uint64_t word)
{
	(void)plan;
	return is_slot_word(word) && kv_slot_entry(word) >> 40 == 0 ? 1 + (word >> 48) : 0;
}

/* The first slot in the table but this one whose entry has the key, UINT64_MAX: none. live: and is not deleted. */
static uint64_t slot_of(const struct part *p, uint64_t key, uint64_t but, bool live)
{
	const uint64_t hash = kv_hash(key);
	nvw_off off[HOLDERS_MAX];
	const unsigned holders = nvw_pool_holders(p->pool, 1 + (hash >> 48), off, HOLDERS_MAX);

	for (unsigned i = 0; i < holders && i < HOLDERS_MAX; i++) {
		const uint64_t slot = (off[i] - p->table.slots) / 8;

		if (off[i] < p->table.slots || slot >= kv_slot_count(p->table) || slot == but) {
			continue;
		}
		const uint64_t word = nvw_pool_word(p->pool, off[i]);

		if (kv_slot_entry(word) != 0 && kv_slot_has_fingerprint(word, hash) &&
			!(live && (word & KV_DELETED) != 0) &&
			nvw_pool_word(p->pool, kv_slot_entry(word)) == key) {
			return slot;
		}
	}
	return UINT64_MAX;
}

/* ---- The parts ------------------------------------------------------------------------------------ */

/* The words of the root are certain nearly always, so all parts may look there first. */
static int open_table(struct part *p, bool *ret_has_table)
{
	const uint64_t word = nvw_pool_word(p->pool, nvw_pool_root_off(nvw_pool_geometry(p->pool), KV_ROOT));
	uint64_t bytes = 0;

	p->table = kv_root_table(word);
	*ret_has_table = word != 0;
	return word != 0 &&
	       (p->table.log2_slots < KV_LOG2_SLOTS_MIN || p->table.log2_slots > KV_LOG2_SLOTS_MAX ||
		       !nvw_heap_is_allocated(p->pool, p->table.slots, &bytes) ||
		       bytes < 8 * kv_slot_count(p->table));
}

/* The message is that of the view, which looks at more. */
static int check_table(const struct part *p, bool is_damaged)
{
	const nvw_off root = nvw_pool_root_off(nvw_pool_geometry(p->pool), KV_ROOT);

	if (is_damaged) {
		return nvw_violation(p->findings, root,
			"recovery refuses the pool: root word %d names no table of 2^%u slots at offset %" PRIu64,
			KV_ROOT, p->table.log2_slots, p->table.slots);
	}
	return p->table.slots != 0 && kv_slot_count(p->table) > most_slots(p->owed.plan) ?
		       nvw_violation(p->findings, root, "the table is larger than planned") :
		       0;
}

static int check_value(const struct part *p, nvw_off entry, uint64_t key, uint64_t header)
{
	const struct kv_plan *const plan = p->owed.plan;
	const uint32_t id = kv_key_id(plan, key);

	if (id == UINT32_MAX || plan->by_key[id].count == 0) {
		return nvw_violation(
			p->findings, entry, "key %" PRIu64 " is present, but was never put", key);
	}
	return kv_may_hold(&p->owed, &plan->by_key[id], header) ?
		       0 :
		       nvw_violation(p->findings, entry,
			       "key %" PRIu64
			       " holds a replaced value or one that was never put: operation %" PRIu64
			       " was acknowledged",
			       key, kv_last_acked(&p->owed, &plan->by_key[id]));
}

/* (1) */
static int check_entry(const struct part *p, nvw_off slot, nvw_off off)
{
	uint64_t bytes;

	if (!nvw_heap_is_allocated(p->pool, off, &bytes)) {
		return nvw_violation(p->findings, slot,
			"a published slot points to offset %" PRIu64 ", which is not an allocated block",
			off);
	}
	const uint64_t header = nvw_pool_word(p->pool, off + 8), value_bytes = kv_header_value_bytes(header);

	if (value_bytes == 0 || value_bytes > KV_VALUE_MAX || kv_entry_bytes(value_bytes) > bytes) {
		return nvw_violation(p->findings, off,
			"a published key points to an entry whose header is not durable (value of %" PRIu64
			" bytes in a block of %" PRIu64 ")",
			value_bytes, bytes);
	}
	const uint64_t key = nvw_pool_word(p->pool, off);
	uint64_t check = kv_check_begin(key, value_bytes);

	for (uint64_t i = 0; i < kv_value_words(value_bytes); i++) {
		check = kv_check_add(check, nvw_pool_word(p->pool, off + KV_ENTRY_HEAD_BYTES + 8 * i));
	}
	return kv_check_end(check, value_bytes) == header ?
		       0 :
		       nvw_violation(p->findings, off,
			       "key %" PRIu64 " is published, but its value is torn or not durable", key);
}

static int check_slot(const struct part *p, uint64_t index)
{
	const nvw_off slot = p->table.slots + 8 * index;
	const uint64_t word = nvw_pool_word(p->pool, slot);

	if (word == 0 || word == KV_FILLER) {
		return 0;
	}
	if (!is_slot_word(word)) {
		return nvw_violation(p->findings, slot,
			"slot %" PRIu64 " holds 0x%016" PRIx64 ", which no operation writes", index, word);
	}
	const nvw_off entry = kv_slot_entry(word);
	int error = check_entry(p, slot, entry);

	if (error) {
		return error;
	}
	const uint64_t key = nvw_pool_word(p->pool, entry), other = slot_of(p, key, index, false);

	if (!kv_slot_has_fingerprint(word, kv_hash(key))) {
		error = nvw_violation(p->findings, slot,
			"the fingerprint of slot %" PRIu64 " does not match its key %" PRIu64, index, key);
	}
	if (other != UINT64_MAX) {
		error = nvw_violation(p->findings, slot,
			"key %" PRIu64 " has two slots: %" PRIu64 " and %" PRIu64, key, other, index);
	}
	return (word & KV_DELETED) != 0 || error ?
		       error :
		       check_value(p, entry, key, nvw_pool_word(p->pool, entry + 8));
}

static int check_key(const struct part *p, const struct kv_key *k, bool has_table)
{
	if (kv_may_be_absent(&p->owed, k) ||
		(has_table && slot_of(p, k->key, UINT64_MAX, true) != UINT64_MAX)) {
		return 0;
	}
	return nvw_violation(p->findings, 0,
		"key %" PRIu64 " is lost: operation %" PRIu64 " was acknowledged", k->key,
		kv_last_acked(&p->owed, k));
}

static int check(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks, uint64_t part,
	struct nvw_findings *findings)
{
	struct part p = {.pool = pool, .owed = {plan, acks}, .findings = findings};
	bool has_table;
	const bool is_damaged = open_table(&p, &has_table) != 0;

	if (part == 0 || is_damaged) {
		return part == 0 ? check_table(&p, is_damaged) : 0;
	}
	part--;
	if (part < most_slots(p.owed.plan)) {
		return has_table && part < kv_slot_count(p.table) ? check_slot(&p, part) : 0;
	}
	return check_key(&p, &p.owed.plan->by_key[part - most_slots(p.owed.plan)], has_table);
}

static void name(const void *plan, uint64_t part, char *ret_name, size_t bytes)
{
	const struct kv_plan *const p = plan;

	if (part == 0) {
		snprintf(ret_name, bytes, "the table");
	} else if (part - 1 < most_slots(p)) {
		snprintf(ret_name, bytes, "slot %" PRIu64, part - 1);
	} else {
		snprintf(ret_name, bytes, "key %" PRIu64, p->by_key[part - 1 - most_slots(p)].key);
	}
}

const struct nvw_parts kv_parts = {.count = count, .check = check, .key = key_of, .name = name};
