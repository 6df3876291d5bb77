/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle of kv: guarantees (1) to (6) of layout.h, on a recovered pool.
 *
 * One pass over the slots checks every entry and, with a plan, the value of its key; one pass over the plan's
 * keys finds missing keys; one over the heap finds leaks. No memory is allocated: the crash tester calls this
 * for many thousand states per second.
 */
#include <inttypes.h>

#include "owed.h"
#include "view.h"

struct check {
	struct kv_view view;
	struct kv_owed owed; /* plan and acks are NULL: structure only */
	struct nvw_findings *findings;
	uint64_t entries; /* slots with an entry */
	int error;
};

#define VIOLATION(c, off, ...) ((c)->error = nvw_violation((c)->findings, off, __VA_ARGS__))

/* ---- One slot ------------------------------------------------------------------------------------- */

/* Suppresses a second finding for a key whose entry is broken: it is not reported as lost too. */
static void mark_seen(struct check *c, uint64_t key)
{
	const uint32_t id = c->owed.plan == NULL ? UINT32_MAX : kv_key_id(c->owed.plan, key);

	if (id != UINT32_MAX) {
		c->owed.plan->seen[id] = c->owed.plan->checks;
	}
}

/* (1): allocated, of a valid length, and complete. Returns the entry's words, or NULL after a violation. */
static const uint64_t *check_entry(struct check *c, nvw_off slot, uint64_t word)
{
	const nvw_off off = kv_slot_entry(word);
	uint64_t bytes;

	if (!nvw_heap_is_allocated(c->view.pool, off, &bytes)) {
		VIOLATION(c, slot,
			"a published slot points to offset %" PRIu64 ", which is not an allocated block",
			off);
		return NULL;
	}

	const uint64_t *const entry = nvw_pool_at(c->view.pool, off, bytes);
	const uint64_t value_bytes = entry == NULL ? 0 : kv_header_value_bytes(entry[1]);

	if (value_bytes == 0 || value_bytes > KV_VALUE_MAX || kv_entry_bytes(value_bytes) > bytes) {
		VIOLATION(c, off,
			"a published key points to an entry whose header is not durable "
			"(value of %" PRIu64 " bytes in a block of %" PRIu64 ")",
			value_bytes, bytes);
		return NULL;
	}

	uint64_t check = kv_check_begin(entry[0], value_bytes);

	for (uint64_t i = 0; i < kv_value_words(value_bytes); i++) {
		check = kv_check_add(check, entry[2 + i]);
	}
	if (kv_check_end(check, value_bytes) != entry[1]) {
		VIOLATION(c, off, "key %" PRIu64 " is published, but its value is torn or not durable",
			entry[0]);
		mark_seen(c, entry[0]);
		return NULL;
	}
	return entry;
}

/* (2) and (3): probing for the key from its home ends at this slot. */
static void check_path(struct check *c, uint64_t index, uint64_t key)
{
	const struct kv_view *const v = &c->view;
	const uint64_t hash = kv_hash(key);
	const nvw_off slot = v->table.slots + 8 * index;

	for (uint64_t i = kv_home(v->table, hash); i != index; i = kv_next_slot(v->table, i)) {
		const uint64_t word = v->words[i];
		uint64_t other;

		if (word == 0) {
			VIOLATION(c, slot,
				"key %" PRIu64 " cannot be found: slot %" PRIu64
				" between its home slot and its actual slot is empty",
				key, i);
			return;
		}
		if (kv_slot_entry(word) != 0 && kv_slot_has_fingerprint(word, hash) &&
			kv_view_key(v, kv_slot_entry(word), &other) && other == key) {
			VIOLATION(c, slot, "key %" PRIu64 " has two slots: %" PRIu64 " and %" PRIu64, key, i,
				index);
			return;
		}
	}
}

static void check_value(struct check *c, nvw_off entry, uint64_t key, uint64_t header)
{
	struct kv_plan *const p = c->owed.plan;
	const uint32_t id = kv_key_id(p, key);

	if (id == UINT32_MAX || p->by_key[id].count == 0) {
		VIOLATION(c, entry, "key %" PRIu64 " is present, but was never put", key);
		return;
	}
	p->seen[id] = p->checks;
	if (!kv_may_hold(&c->owed, &p->by_key[id], header)) {
		VIOLATION(c, entry,
			"key %" PRIu64 " holds a replaced value or one that was never put: operation "
			"%" PRIu64 " was acknowledged",
			key, kv_last_acked(&c->owed, &p->by_key[id]));
	}
}

static void check_slot(struct check *c, uint64_t index)
{
	const uint64_t word = c->view.words[index];
	const nvw_off slot = c->view.table.slots + 8 * index;

	if (word == 0 || word == KV_FILLER) {
		return;
	}
	if ((word & ~(UINT64_C(0xffff) << 48 | KV_OFF_MASK | KV_DELETED)) != 0 || kv_slot_entry(word) == 0) {
		VIOLATION(c, slot, "slot %" PRIu64 " holds 0x%016" PRIx64 ", which no operation writes",
			index, word);
		return;
	}

	const uint64_t *const entry = check_entry(c, slot, word);

	if (entry == NULL) {
		return;
	}
	c->entries++;
	if (!kv_slot_has_fingerprint(word, kv_hash(entry[0]))) {
		VIOLATION(c, slot, "the fingerprint of slot %" PRIu64 " does not match its key %" PRIu64,
			index, entry[0]);
	}
	check_path(c, index, entry[0]);
	if (c->owed.plan != NULL && (word & KV_DELETED) == 0) {
		check_value(c, kv_slot_entry(word), entry[0], entry[1]);
	}
}

/* ---- The whole ------------------------------------------------------------------------------------ */

static void check_missing(struct check *c)
{
	const struct kv_plan *const p = c->owed.plan;

	for (uint64_t id = 0; id < p->key_count; id++) {
		const struct kv_key *const k = &p->by_key[id];

		if (p->seen[id] != p->checks && !kv_may_be_absent(&c->owed, k)) {
			VIOLATION(c, 0, "key %" PRIu64 " is lost: operation %" PRIu64 " was acknowledged",
				k->key, kv_last_acked(&c->owed, k));
		}
	}
}

static int count_block(void *context, nvw_off block, uint64_t bytes)
{
	uint64_t *const blocks = context;

	(*blocks)++;
	return 0;
}

/* (5): by (1) and (2), slots refer to different allocated blocks, so equal numbers mean that no block
 * leaked. */
static int check_leaks(struct check *c)
{
	const uint64_t expected = c->entries + (c->view.words != NULL);
	uint64_t blocks = 0;
	const int error = nvw_heap_visit(c->view.pool, count_block, &blocks);

	if (error == 0 && c->error == 0 && blocks != expected) {
		VIOLATION(c, 0,
			"%" PRIu64 " blocks and extents are allocated, but the table refers to %" PRIu64,
			blocks, expected);
	}
	return error;
}

int kv_check(void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	struct check c = {.owed = {acks == NULL ? NULL : plan, acks}, .findings = findings};

	if (kv_view_open(pool, &c.view) != 0) {
		return nvw_violation(findings, nvw_pool_root_off(nvw_pool_geometry(pool), KV_ROOT), "%s",
			nvw_error_message());
	}
	if (c.owed.plan != NULL) {
		c.owed.plan->checks++;
	}
	if (c.view.words != NULL) {
		for (uint64_t i = 0; i < kv_slot_count(c.view.table); i++) {
			check_slot(&c, i);
		}
	}
	if (c.owed.plan != NULL) {
		check_missing(&c);
	}

	const int error = check_leaks(&c);

	return error != 0 ? error : c.error;
}
