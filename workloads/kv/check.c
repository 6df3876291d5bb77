/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle of kv: guarantees (1) to (6) of layout.h, on a recovered pool.
 *
 * One pass over the slots checks every entry and, with a plan, the value of its key; one pass over the plan's
 * keys finds missing keys; one over the heap finds leaks. No memory is allocated: the crash tester calls this
 * for many thousand states per second.
 */
#include <inttypes.h>

#include "plan.h"
#include "view.h"

struct check {
	struct kv_view view;
	struct kv_plan *plan;        /* NULL: structure only */
	const struct nvw_acks *acks; /* NULL if plan is NULL */
	struct nvw_findings *findings;
	uint64_t entries; /* slots with an entry */
	int error;
};

#define VIOLATION(c, off, ...) ((c)->error = nvw_violation((c)->findings, off, __VA_ARGS__))

/* ---- What a key may hold -------------------------------------------------------------------------- */

/* The last batch with an acknowledged change of the key; -1 if there is none. */
static int64_t last_acked_batch(const struct check *c, const struct kv_key *k)
{
	for (uint32_t i = k->count; i > 0; i--) {
		const uint64_t op = c->plan->changes[k->first + i - 1];

		if (nvw_acked(c->acks, op)) {
			return (int64_t)kv_batch_of(c->plan, op);
		}
	}
	return -1;
}

/* The last acknowledged change, for messages. */
static uint64_t last_acked(const struct check *c, const struct kv_key *k)
{
	uint32_t i = k->count;

	while (i > 1 && !nvw_acked(c->acks, c->plan->changes[k->first + i - 1])) {
		i--;
	}
	return c->plan->changes[k->first + i - 1];
}

/*
 * (6): a change may hold unless one of a later batch is acknowledged. Changes of one batch are concurrent, so
 * any of them may have been the last, acknowledged or not. ret_op is the change found.
 */
static bool may_hold(const struct check *c, const struct kv_key *k, uint64_t header)
{
	struct kv_plan *const p = c->plan;
	const int64_t since = last_acked_batch(c, k);

	for (uint32_t i = k->count; i > 0; i--) {
		const uint64_t op = p->changes[k->first + i - 1];

		if ((int64_t)kv_batch_of(p, op) < since) {
			return false;
		}
		if ((p->kinds[op] & KV_PUT) != 0 && kv_header_of(p, op) == header) {
			return true;
		}
	}
	return false;
}

static bool may_be_absent(const struct check *c, const struct kv_key *k)
{
	const struct kv_plan *const p = c->plan;
	const int64_t since = last_acked_batch(c, k);

	for (uint32_t i = k->count; since >= 0 && i > 0; i--) {
		const uint64_t op = p->changes[k->first + i - 1];

		if ((int64_t)kv_batch_of(p, op) < since) {
			return false;
		}
		if ((p->kinds[op] & KV_DELETE) != 0) {
			return true;
		}
	}
	return since < 0;
}

/* ---- One slot ------------------------------------------------------------------------------------- */

/* Suppresses a second finding for a key whose entry is broken: it is not reported as lost too. */
static void mark_seen(struct check *c, uint64_t key)
{
	const uint32_t id = c->plan == NULL ? UINT32_MAX : kv_key_id(c->plan, key);

	if (id != UINT32_MAX) {
		c->plan->seen[id] = c->plan->checks;
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
	struct kv_plan *const p = c->plan;
	const uint32_t id = kv_key_id(p, key);

	if (id == UINT32_MAX || p->by_key[id].count == 0) {
		VIOLATION(c, entry, "key %" PRIu64 " is present, but was never put", key);
		return;
	}
	p->seen[id] = p->checks;
	if (!may_hold(c, &p->by_key[id], header)) {
		VIOLATION(c, entry,
			"key %" PRIu64 " holds a replaced value or one that was never put: operation "
			"%" PRIu64 " was acknowledged",
			key, last_acked(c, &p->by_key[id]));
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
	if (c->plan != NULL && (word & KV_DELETED) == 0) {
		check_value(c, kv_slot_entry(word), entry[0], entry[1]);
	}
}

/* ---- The whole ------------------------------------------------------------------------------------ */

static void check_missing(struct check *c)
{
	const struct kv_plan *const p = c->plan;

	for (uint64_t id = 0; id < p->key_count; id++) {
		const struct kv_key *const k = &p->by_key[id];

		if (p->seen[id] != p->checks && !may_be_absent(c, k)) {
			VIOLATION(c, 0, "key %" PRIu64 " is lost: operation %" PRIu64 " was acknowledged",
				k->key, last_acked(c, k));
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
	struct check c = {.plan = acks == NULL ? NULL : plan, .acks = acks, .findings = findings};

	if (kv_view_open(pool, &c.view) != 0) {
		return nvw_violation(findings, nvw_pool_root_off(nvw_pool_geometry(pool), KV_ROOT), "%s",
			nvw_error_message());
	}
	if (c.plan != NULL) {
		c.plan->checks++;
	}
	if (c.view.words != NULL) {
		for (uint64_t i = 0; i < kv_slot_count(c.view.table); i++) {
			check_slot(&c, i);
		}
	}
	if (c.plan != NULL) {
		check_missing(&c);
	}

	const int error = check_leaks(&c);

	return error != 0 ? error : c.error;
}
