/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the check states of kv, of one slot or key at a time (nvw_parts). check.c calls every part on a
 * recovered pool.
 *
 *	table	the root word names an allocated extent
 *	slot s	its word is one that some operation writes; its entry is allocated and whole (1), the
 *		fingerprint is that of its key (4), no other slot has this key (2), and unless it is deleted
 *		its value may hold (6)
 *	key k	if it may not be absent, a slot has it (6)
 *
 * What else check.c states holds of every recovered pool, by what recover.c does:
 *	(3) reachable: recovery makes a filler of every empty slot between a key's home and its slot. So no
 *		probe ends early. A slot that reads as empty is a filler or empty; check.c treats both alike.
 *	(5) no leak: recovery frees every block that is not the entry of a slot. It finds by probing whether
 *		it is, and by (3) every probe reaches the key's slot, so no entry of a slot is freed. Thus a
 *		block is allocated after recovery exactly if it was before and a slot names it: part (1) of
 *		that slot asks about the first. Two slots with one block would have one key, against (2); so
 *		the blocks are as many as the slots with an entry.
 *
 * Other slots of a key are asked of those that have its fingerprint (nvw_pool_holders()); on a recovered pool
 * they lie on the probe path.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "check.h"
#include "common/bounds.h"
#include "common/roots.h"
#include "view.h"

enum { HOLDERS_MAX = 256 };

static uint64_t most_slots(const struct kv_plan *p)
{
	return UINT64_C(1) << u64_max(p->most_log2_slots, p->log2_slots);
}

static uint64_t count(const void *plan, const struct nvw_pool_geometry *g)
{
	const struct kv_plan *const p = plan;

	return 1 + most_slots(p) + p->key_count;
}

static bool is_slot_word(uint64_t word)
{
	return (word & ~(UINT64_C(0xffff) << 48 | KV_OFF_MASK | KV_DELETED)) == 0 && kv_slot_entry(word) != 0;
}

/* A slot is found by its fingerprint. No pool is so large that its offsets have the highest bits. */
static uint64_t key_of(const void *plan, uint64_t word)
{
	return is_slot_word(word) && kv_slot_entry(word) >> 40 == 0 ? 1 + (word >> 48) : 0;
}

/* Is the slot's word that of the key? live: and it is not deleted. */
static bool has_key(const struct kv_case *c, uint64_t word, uint64_t key, bool live)
{
	return kv_slot_entry(word) != 0 && kv_slot_has_fingerprint(word, kv_hash(key)) &&
	       !(live && (word & KV_DELETED) != 0) && nvw_pool_word(c->pool, kv_slot_entry(word)) == key;
}

/* As slot_of(), in recovered slots. */
static uint64_t probe(const struct kv_case *c, uint64_t key, uint64_t but, bool live)
{
	uint64_t i = kv_home(c->table, kv_hash(key));

	for (uint64_t n = kv_slot_count(c->table); n > 0 && i != but && c->words[i] != 0; n--) {
		if (has_key(c, c->words[i], key, live)) {
			return i;
		}
		i = kv_next_slot(c->table, i);
	}
	return UINT64_MAX;
}

/* The first slot in the table but this one whose entry has the key, UINT64_MAX: none. On a probe path: the
 * first before this one. */
static uint64_t slot_of(const struct kv_case *c, uint64_t key, uint64_t but, bool live)
{
	nvw_off off[HOLDERS_MAX];

	if (c->table.slots == 0) {
		return UINT64_MAX;
	}
	if (c->words) {
		return probe(c, key, but, live);
	}
	const unsigned holders = nvw_pool_holders(c->pool, 1 + (kv_hash(key) >> 48), off, HOLDERS_MAX);

	for (unsigned i = 0; i < holders && i < HOLDERS_MAX; i++) {
		const uint64_t slot = (off[i] - c->table.slots) / 8;

		if (off[i] >= c->table.slots && slot < kv_slot_count(c->table) && slot != but &&
			has_key(c, nvw_pool_word(c->pool, off[i]), key, live)) {
			return slot;
		}
	}
	return UINT64_MAX;
}

/* ---- The parts ------------------------------------------------------------------------------------ */

int kv_check_table(const struct kv_case *c)
{
	if (c->table.slots == 0) {
		if (kv_view_expect_empty(c->pool) == 0) {
			return 0;
		}
		return roots_broken(c->pool, c->findings);
	}
	if (!c->owed.plan || kv_slot_count(c->table) <= most_slots(c->owed.plan)) {
		return 0;
	}
	return nvw_violation(c->findings, nvw_pool_root_off(nvw_pool_geometry(c->pool), KV_ROOT),
		"the table is larger than planned");
}

static int check_value(const struct kv_case *c, nvw_off entry, uint64_t key, uint64_t header)
{
	struct kv_plan *const plan = c->owed.plan;
	const uint32_t id = kv_key_id(plan, key);

	if (id == UINT32_MAX || plan->by_key[id].count == 0) {
		return nvw_violation(
			c->findings, entry, "key %" PRIu64 " is present, but was never put", key);
	}
	if (c->words) {
		plan->seen[id] = plan->checks;
	}
	if (kv_may_hold(&c->owed, &plan->by_key[id], header)) {
		return 0;
	}
	return nvw_violation(c->findings, entry,
		"key %" PRIu64 " holds a replaced value or one that was never put: operation %" PRIu64
		" was acknowledged",
		key, kv_last_acked(&c->owed, &plan->by_key[id]));
}

/* (1) */
static int check_entry(const struct kv_case *c, nvw_off slot, nvw_off off)
{
	uint64_t bytes;

	if (!nvw_heap_is_allocated(c->pool, off, &bytes)) {
		return nvw_violation(c->findings, slot,
			"a published slot points to offset %" PRIu64 ", which is not an allocated block",
			off);
	}
	const uint64_t header = nvw_pool_word(c->pool, off + 8), value_bytes = kv_header_value_bytes(header);

	if (value_bytes == 0 || value_bytes > KV_VALUE_MAX || kv_entry_bytes(value_bytes) > bytes ||
		kv_entry_bytes(value_bytes) > nvw_pool_geometry(c->pool)->bytes - off) {
		return nvw_violation(c->findings, off,
			"a published key points to an entry whose header is not durable (value of %" PRIu64
			" bytes in a block of %" PRIu64 ")",
			value_bytes, bytes);
	}
	const uint64_t *const entry = nvw_pool_at(c->pool, off, kv_entry_bytes(value_bytes));
	uint64_t check = kv_check_begin(entry[0], value_bytes);

	NVW_FOR(i, kv_value_words(value_bytes)) {
		check = kv_check_add(check, entry[2 + i]);
	}
	if (kv_check_end(check, value_bytes) == header) {
		return 0;
	}
	return nvw_violation(c->findings, off,
		"key %" PRIu64 " is published, but its value is torn or not durable", entry[0]);
}

int kv_check_slot(const struct kv_case *c, uint64_t index)
{
	const nvw_off slot = c->table.slots + 8 * index;
	const uint64_t word = nvw_pool_word(c->pool, slot);

	if (word == 0 || word == KV_FILLER) {
		return 0;
	}
	if (!is_slot_word(word)) {
		return nvw_violation(c->findings, slot,
			"slot %" PRIu64 " holds 0x%016" PRIx64 ", which no operation writes", index, word);
	}
	const nvw_off entry = kv_slot_entry(word);

	NVW_TRY(check_entry(c, slot, entry));

	const uint64_t key = nvw_pool_word(c->pool, entry), other = slot_of(c, key, index, false);
	int error = 0;

	if (!kv_slot_has_fingerprint(word, kv_hash(key))) {
		error = nvw_violation(c->findings, slot,
			"the fingerprint of slot %" PRIu64 " does not match its key %" PRIu64, index, key);
	}
	if (other != UINT64_MAX) {
		error = nvw_violation(c->findings, slot,
			"key %" PRIu64 " has two slots: %" PRIu64 " and %" PRIu64, key, other, index);
	}
	if (error || (word & KV_DELETED) != 0 || !c->owed.plan) {
		return error;
	}
	return check_value(c, entry, key, nvw_pool_word(c->pool, entry + 8));
}

int kv_check_key(const struct kv_case *c, const struct kv_key *k)
{
	if (kv_may_be_absent(&c->owed, k) || slot_of(c, k->key, UINT64_MAX, true) != UINT64_MAX) {
		return 0;
	}
	return nvw_violation(c->findings, 0,
		"key %" PRIu64 " is lost: operation %" PRIu64 " was acknowledged", k->key,
		kv_last_acked(&c->owed, k));
}

/* The words of the root are certain nearly always, so all parts may look there first. */
static int check(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks, uint64_t part,
	struct nvw_findings *findings)
{
	struct kv_case c = {.pool = pool, .owed = {plan, acks}, .findings = findings};
	const uint64_t slots = most_slots(plan);

	if (kv_view_table(pool, &c.table) != 0) {
		return roots_refused(pool, part, findings);
	}
	if (part == 0) {
		return kv_check_table(&c);
	}
	part--;
	if (part >= slots) {
		return kv_check_key(&c, &c.owed.plan->by_key[part - slots]);
	}
	return c.table.slots != 0 && part < kv_slot_count(c.table) ? kv_check_slot(&c, part) : 0;
}

static void name(const void *plan, uint64_t part, char *ret_name, size_t bytes)
{
	const struct kv_plan *const p = plan;

	assert(part < count(p, NULL));
	if (part == 0) {
		snprintf(ret_name, bytes, "the table");
	} else if (part - 1 < most_slots(p)) {
		snprintf(ret_name, bytes, "slot %" PRIu64, part - 1);
	} else {
		snprintf(ret_name, bytes, "key %" PRIu64, p->by_key[part - 1 - most_slots(p)].key);
	}
}

const struct nvw_parts kv_parts = {.count = count, .check = check, .key = key_of, .name = name};
