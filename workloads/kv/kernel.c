/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of kv (kernel.h). A put is
 *
 *	entry := block with key, header, value        (a)
 *	persist barrier                               (b)  (a) durable before (c): keeps guarantee (1)
 *	slot  := entry, one 8-byte atomic             (c)
 *	persist barrier                               (d)  (c) durable before (e) and (f)
 *	acknowledge                                   (e)  keeps (6)
 *	free the entry that (c) replaced              (f)  keeps (1): no slot points to a free block
 *
 * A key owns its slot from its first put until the table is rebuilt: a delete only sets the slot's deleted
 * bit. So all changes of a key are atomics on one word, whose stores persist in the order in which they
 * became visible, and no barrier is needed between work-items.
 *
 * STEP() marks the steps that a seeded bug may replace (mutations.c).
 */
#include "steps.h"

#include "../common/keys.h"

/* ---- Finding a key -------------------------------------------------------------------------------- */

/* The result of a probe. */
struct place {
	uint64_t index;
	uint64_t word; /* 0: an empty slot */
	bool is_full;  /* neither the key nor an empty slot */
};

static uint64_t *slot_at(const struct nvw_pmem *pmem, struct kv_table t, uint64_t i)
{
	return nvw_at(pmem, uint64_t, t.slots + 8 * i);
}

static uint64_t *entry_word(const struct nvw_pmem *pmem, nvw_off entry, uint64_t i)
{
	return nvw_at(pmem, uint64_t, entry + 8 * i);
}

/*
 * Probes from slot i on. After a fingerprint match, the slot is loaded again with acquire, so that all stores
 * that the entry's writer released with the slot are visible. The second load may return a newer entry of the
 * same key.
 */
static struct place probe(const struct nvw_pmem *pmem, struct kv_table t, uint64_t key, uint64_t i)
{
	const uint64_t hash = kv_hash(key);

	for (uint64_t n = 0; n < kv_slot_count(t); n++, i = kv_next_slot(t, i)) {
		uint64_t *const slot = slot_at(pmem, t, i);
		uint64_t word = nvw_atomic_load(slot, NVW_RELAXED, NVW_SCOPE_AGENT);

		if (word == 0) {
			return (struct place){.index = i};
		}
		if (kv_slot_has_fingerprint(word, hash) && kv_slot_entry(word) != 0) {
			word = nvw_atomic_load(slot, NVW_ACQUIRE, NVW_SCOPE_AGENT);
			if (nvw_load(entry_word(pmem, kv_slot_entry(word), 0)) == key) {
				return (struct place){i, word, false};
			}
		}
	}
	return (struct place){.is_full = true};
}

static struct place find(const struct kv_batch_args *a, uint64_t key)
{
	return probe(&a->pmem, a->table, key, kv_home(a->table, kv_hash(key)));
}

/* ---- Get ------------------------------------------------------------------------------------------ */

/* Reads a whole entry; returns its header, or KV_RESULT_TORN. */
static uint64_t read_entry(const struct kv_batch_args *a, uint64_t key, nvw_off entry)
{
	const uint64_t header = nvw_load(entry_word(&a->pmem, entry, 1));
	const uint64_t bytes = kv_header_value_bytes(header);

	if (bytes == 0 || bytes > KV_VALUE_MAX) {
		return KV_RESULT_TORN;
	}

	uint64_t check = kv_check_begin(key, bytes);

	NVW_FOR(i, kv_value_words(bytes)) {
		check = kv_check_add(check, nvw_load(entry_word(&a->pmem, entry, 2 + i)));
	}
	return kv_check_end(check, bytes) == header ? header : KV_RESULT_TORN;
}

/* The entry of a present key, otherwise 0. */
INLINE_STEP nvw_off entry_of(const struct kv_batch_args *a, uint64_t key)
{
	const struct place at = find(a, key);

	return at.word == 0 || (at.word & KV_DELETED) != 0 ? 0 : kv_slot_entry(at.word);
}

static uint64_t get(const struct kv_batch_args *a, uint64_t key)
{
	const nvw_off entry = entry_of(a, key);

	return entry == 0 ? KV_RESULT_NONE : read_entry(a, key, entry);
}

static uint64_t scan(const struct kv_batch_args *a, uint64_t first, uint64_t records)
{
	uint64_t found = 0;

	NVW_FOR(i, records) {
		const uint64_t result = get(a, keys_of_record(first + i));

		if (result == KV_RESULT_TORN) {
			return result;
		}
		found += result != KV_RESULT_NONE;
	}
	return found << 16 | KV_RESULT_SCANNED;
}

/* ---- Put and delete ------------------------------------------------------------------------------- */

/* Records a slot's change for host readers, who see it once it is durable. */
static void note(const struct kv_batch_args *a, const struct kv_change *c, uint64_t index, uint64_t before,
	uint64_t after)
{
	if (a->notes) {
		a->notes[c->op] = (struct kv_note){a->table.slots + 8 * index, before, after};
	}
}

static struct kv_change fetch(const struct kv_batch_args *a, uint64_t id)
{
	struct kv_change c = {.op = a->first_op + id};

	if (id < a->count) {
		c.key = nvw_load(&a->keys[id]);
		c.kind = nvw_load(&a->kinds[id]);
	}
	return c;
}

static bool is_change(const struct kv_change *c)
{
	return (c->kind & (KV_PUT | KV_DELETE)) != 0;
}

static void allocate(const struct kv_batch_args *a, struct kv_change *c)
{
	c->entry = nvw_pmalloc(&a->pmem, kv_entry_bytes(a->value_bytes), NULL);
	if (c->entry == 0) {
		c->result = KV_RESULT_NO_BLOCK;
		c->kind = 0;
	}
}

/* Word i of the entry written by operation op. */
static uint64_t make_word(const struct kv_batch_args *a, uint64_t key, uint64_t base, uint64_t i)
{
	if (i == 0) {
		return key;
	}
	if (i == 1) {
		return kv_value_header(base, key, a->value_bytes);
	}
	return kv_value_word(base, i - 2, a->value_bytes);
}

static void write_entry(const struct kv_batch_args *a, const struct kv_change *c, nvw_off entry)
{
	const uint64_t base = kv_value_base(a->seed, c->key, c->op);

	NVW_FOR(i, kv_entry_bytes(a->value_bytes) / 8) {
		nvw_store(entry_word(&a->pmem, entry, i), make_word(a, c->key, base, i));
	}
}

static void count_live(const struct kv_batch_args *a, uint64_t difference)
{
	(void)nvw_atomic_add(&a->counters->live, difference, NVW_RELAXED, NVW_SCOPE_AGENT);
}

static uint64_t take_slot(uint64_t *slot, uint64_t word)
{
	return nvw_atomic_compare_exchange(slot, 0, word, NVW_ACQ_REL, NVW_SCOPE_AGENT);
}

/* Claims an empty slot; returns the slot's previous word, 0 if the claim succeeded. */
static uint64_t claim(const struct kv_batch_args *a, uint64_t index, uint64_t word)
{
	const uint64_t seen = STEP(a->replaced, take_slot, slot_at(&a->pmem, a->table, index), word);

	if (seen == 0) {
		(void)nvw_atomic_add(&a->counters->used, 1, NVW_RELAXED, NVW_SCOPE_AGENT);
		count_live(a, 1);
	}
	return seen;
}

/*
 * (c): an empty slot is claimed by compare-exchange; if another work-item was faster, the slot is examined
 * again, since it may now be the key's own. The key's own slot takes the new entry by exchange, which cannot
 * fail: slots keep their key while kernels of this kind run.
 */
static void publish(const struct kv_batch_args *a, struct kv_change *c)
{
	const uint64_t word = kv_slot_word(kv_hash(c->key), c->entry);
	struct place at = find(a, c->key);

	while (at.word == 0) {
		if (at.is_full) {
			c->result = KV_RESULT_NO_SLOT;
			return;
		}
		if (claim(a, at.index, word) == 0) {
			note(a, c, at.index, 0, word);
			return;
		}
		at = probe(&a->pmem, a->table, c->key, at.index);
	}

	const uint64_t old = nvw_atomic_exchange(
		slot_at(&a->pmem, a->table, at.index), word, NVW_ACQ_REL, NVW_SCOPE_AGENT);

	if ((old & KV_DELETED) != 0) {
		count_live(a, 1);
	}
	c->old = kv_slot_entry(old);
	note(a, c, at.index, old, word);
}

static uint64_t mark_deleted(uint64_t *slot, struct kv_change *c)
{
	(void)c;
	return nvw_atomic_or(slot, KV_DELETED, NVW_ACQ_REL, NVW_SCOPE_AGENT);
}

static void retract(const struct kv_batch_args *a, struct kv_change *c)
{
	const struct place at = find(a, c->key);

	if (at.word == 0) {
		return;
	}

	const uint64_t old = STEP(a->replaced, mark_deleted, slot_at(&a->pmem, a->table, at.index), c);

	note(a, c, at.index, old, old | KV_DELETED);
	if ((old & KV_DELETED) == 0) {
		count_live(a, UINT64_MAX);
	}
}

static void free_old(const struct kv_batch_args *a, struct kv_change *c)
{
	if (c->old != 0) {
		const uint64_t header = nvw_load(entry_word(&a->pmem, c->old, 1));

		nvw_pfree(&a->pmem, c->old, kv_entry_bytes(kv_header_value_bytes(header)), NULL);
		c->old = 0;
	}
}

/* The step between the two persist barriers, (c), the same in both variants. */
static void apply(const struct kv_batch_args *a, struct kv_change *c)
{
	if ((c->kind & KV_GET) != 0) {
		c->result = get(a, c->key);
	}
	if ((c->kind & KV_SCAN) != 0) {
		c->result = scan(a, c->key, c->kind >> 8);
	}
	if ((c->kind & KV_PUT) != 0) {
		publish(a, c);
	}
	if ((c->kind & KV_DELETE) != 0) {
		retract(a, c);
	}
}

/* The operation's name; YCSB's updates and inserts are puts. */
static enum kv_operation operation_of(uint32_t kind)
{
	if ((kind & KV_SCAN) != 0) {
		return KV_OPERATION_SCAN;
	}
	if ((kind & KV_DELETE) != 0) {
		return KV_OPERATION_DELETE;
	}
	if ((kind & KV_PUT) == 0) {
		return KV_OPERATION_GET;
	}
	return (kind & KV_GET) != 0 ? KV_OPERATION_READ_MODIFY_WRITE : KV_OPERATION_PUT;
}

/* (e), (f), and the result for the host. */
static void settle(const struct kv_batch_args *a, struct kv_change *c, uint64_t id, uint64_t begun)
{
	if (is_change(c) && c->result != KV_RESULT_NO_SLOT) {
		nvw_ack(c->op);
	}
	free_old(a, c);
	if (c->result != KV_RESULT_NONE) {
		nvw_store(&a->results[id], c->result);
	}
	nvw_operation_end(operation_of((uint32_t)c->kind), begun);
}

/* (b): the publisher of an entry is its writer, or another work-item of its group. */
static void order_entry(enum nvw_group scope)
{
	nvw_p_barrier(scope);
}

/* (d) */
static void order_change(const struct kv_batch_args *a, struct kv_change *c, enum nvw_group scope)
{
	(void)a;
	(void)c;
	nvw_p_barrier(scope);
}

void kv_batch_workitem(const void *args)
{
	const struct kv_batch_args *const a = args;
	const uint64_t begun = nvw_operation_begin(), id = nvw_global_id();

	if (id >= a->count) {
		return;
	}

	struct kv_change c = fetch(a, id);

	if ((c.kind & KV_PUT) != 0) {
		allocate(a, &c);
	}
	if (c.entry != 0) {
		STEP(a->replaced, write_entry, a, &c, c.entry);
		STEP(a->replaced, order_entry, NVW_WORKITEM); /* (b) */
	}
	apply(a, &c);
	if (is_change(&c)) {
		STEP(a->replaced, order_change, a, &c, NVW_WORKITEM); /* (d) */
	}
	settle(a, &c, id, begun);
}

/*
 * Writes the group's entries word by word with all its work-items: neighbours write neighbouring words, so a
 * wavefront's stores fall on few lines. The barrier after it must therefore be of work-group scope: an
 * entry's publisher is not its writer.
 */
static void write_together(const struct kv_batch_args *a)
{
	const uint64_t base_id = nvw_group_id() * nvw_group_size();
	const uint64_t words = kv_entry_bytes(a->value_bytes) / 8;

	for (uint64_t t = nvw_local_id(); t < nvw_group_size() * words; t += nvw_group_size()) {
		const uint64_t id = base_id + t / words, i = t % words;
		const nvw_off entry = id < a->count ? nvw_load(&a->blocks[id]) : 0;

		if (entry != 0) {
			const uint64_t key = nvw_load(&a->keys[id]);
			const uint64_t base = kv_value_base(a->seed, key, a->first_op + id);

			nvw_store(entry_word(&a->pmem, entry, i), make_word(a, key, base, i));
		}
	}
}

/* The entry of this work-item's put; or, written together, the entries of the group's. */
static void write_entries(const struct kv_batch_args *a, const struct kv_change *c, uint64_t id)
{
	if (a->own_entries) {
		if (c->entry != 0) {
			STEP(a->replaced, write_entry, a, c, c->entry);
		}
		return;
	}
	if (id < a->count) {
		nvw_store(&a->blocks[id], c->entry);
	}
	nvw_barrier(NVW_WORKGROUP); /* all work-items see the blocks */
	write_together(a);
	nvw_barrier(NVW_WORKGROUP); /* all entries are written and visible to their publishers */
}

void kv_batch_together(const void *args)
{
	const struct kv_batch_args *const a = args;
	const uint64_t begun = nvw_operation_begin(), id = nvw_global_id();
	struct kv_change c = fetch(a, id);

	if ((c.kind & KV_PUT) != 0) {
		allocate(a, &c);
	}
	write_entries(a, &c, id);
	STEP(a->replaced, order_entry, a->scope); /* (b) */
	apply(a, &c);
	STEP(a->replaced, order_change, a, &c, a->scope); /* (d) */
	if (id < a->count) {
		settle(a, &c, id, begun);
	}
}

/* ---- Rebuild -------------------------------------------------------------------------------------- */

static void move_slot(const struct kv_rebuild_args *a, uint64_t word)
{
	const uint64_t key = nvw_load(entry_word(&a->pmem, kv_slot_entry(word), 0));
	uint64_t i = kv_home(a->to, kv_hash(key));

	/* Every key occurs once, so an occupied slot belongs to another key. */
	while (nvw_atomic_compare_exchange(
		       slot_at(&a->pmem, a->to, i), 0, word, NVW_ACQ_REL, NVW_SCOPE_AGENT) != 0) {
		i = kv_next_slot(a->to, i);
	}
}

static void free_deleted(const struct kv_rebuild_args *a, uint64_t word)
{
	const nvw_off entry = kv_slot_entry(word);
	const uint64_t header = nvw_load(entry_word(&a->pmem, entry, 1));

	nvw_pfree(&a->pmem, entry, kv_entry_bytes(kv_header_value_bytes(header)), NULL);
}

/* Makes all moves durable before the switch. */
static void order_table(enum nvw_group scope)
{
	nvw_p_barrier(scope);
}

void kv_rebuild(const void *args)
{
	const struct kv_rebuild_args *const a = args;
	const uint64_t slots = kv_slot_count(a->from);
	const uint64_t id = nvw_global_id();

	for (uint64_t i = id; i < slots; i += a->work_items) {
		const uint64_t word = nvw_load(slot_at(&a->pmem, a->from, i));

		if (kv_slot_entry(word) != 0 && (word & KV_DELETED) == 0) {
			move_slot(a, word);
		}
	}
	nvw_barrier(NVW_KERNEL);
	STEP(a->replaced, order_table, NVW_KERNEL);
	if (id == 0) {
		nvw_store(nvw_at(&a->pmem, uint64_t, nvw_pool_root_off(&a->pmem.geometry, KV_ROOT)),
			kv_root_word(a->to));
	}
	/* The old table refers to the entries of deleted keys: the switch must be durable before they are
	 * freed. */
	nvw_barrier(NVW_KERNEL);
	nvw_p_barrier_kr();
	for (uint64_t i = id; i < slots; i += a->work_items) {
		const uint64_t word = nvw_load(slot_at(&a->pmem, a->from, i));

		if (kv_slot_entry(word) != 0 && (word & KV_DELETED) != 0) {
			free_deleted(a, word);
		}
	}
}

const struct kv_steps kv_steps = {.entry_of = entry_of, .write_entry = write_entry, .free_old = free_old};
