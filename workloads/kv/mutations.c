/* SPDX-License-Identifier: BSD-3-Clause */
/* The seeded bugs of kv: for each, the steps that it replaces. "free-table-first" is in the host code
 * (run.c). */
#define NVW_NOT_COVERED
#include <assert.h>

#include "steps.h"

/* ---- Entries -------------------------------------------------------------------------------------- */

/* Overwrites the present entry in place, in addition to writing the new one. */
static void overwrite_and_write(const struct kv_batch_args *a, const struct kv_change *c, nvw_off entry)
{
	const nvw_off present = kv_steps.entry_of(a, c->key);

	if (present != 0) {
		kv_steps.write_entry(a, c, present);
	}
	kv_steps.write_entry(a, c, entry);
}

static void order_nothing(enum nvw_group scope)
{
}

static void order_own_words(enum nvw_group scope)
{
	nvw_p_barrier_wi();
}

/* ---- Slots ---------------------------------------------------------------------------------------- */

/* The offset first, the fingerprint in a second store. */
static uint64_t take_slot_in_two(uint64_t *slot, uint64_t word)
{
	const uint64_t seen =
		nvw_atomic_compare_exchange(slot, 0, kv_slot_entry(word), NVW_ACQ_REL, NVW_SCOPE_AGENT);

	if (seen == 0) {
		nvw_store((uint16_t *)slot + 3, (uint16_t)(word >> 48));
	}
	return seen;
}

/* Removes the key from the slot, so that it may return in another slot before this store is durable. */
static uint64_t forget_key(uint64_t *slot, struct kv_change *c)
{
	const uint64_t old = nvw_atomic_exchange(slot, KV_FILLER, NVW_ACQ_REL, NVW_SCOPE_AGENT);

	c->old = kv_slot_entry(old);
	return old;
}

/* A put in between loses its entry: the slot names the old one again, which the put frees. */
static uint64_t mark_in_two(uint64_t *slot, struct kv_change *c)
{
	const uint64_t old = nvw_atomic_load(slot, NVW_ACQUIRE, NVW_SCOPE_AGENT);

	nvw_atomic_store(slot, old | KV_DELETED, NVW_RELEASE, NVW_SCOPE_AGENT);
	return old;
}

static void acknowledge_first(const struct kv_batch_args *a, struct kv_change *c, enum nvw_group scope)
{
	if ((c->kind & (KV_PUT | KV_DELETE)) != 0) {
		nvw_ack(c->op);
	}
	nvw_p_barrier(scope);
}

static void free_first(const struct kv_batch_args *a, struct kv_change *c, enum nvw_group scope)
{
	kv_steps.free_old(a, c);
	nvw_p_barrier(scope);
}

/* ---- Rebuild -------------------------------------------------------------------------------------- */

static void order_table_in_group(enum nvw_group scope)
{
	nvw_p_barrier_wg();
}

/* ---- The table ------------------------------------------------------------------------------------ */

const struct nvw_mutation kv_mutations[] = {
	[KV_PUBLISH_BEFORE_VALUE] = {"publish-before-value",
		"no persist barrier between an entry and the slot that publishes it", "observed", NULL},
	[KV_NARROW_SCOPE] = {"narrow-scope",
		"work-item scope where work-items publish what others of the group wrote", "buffered-epoch",
		"count=600 batch=128 slots=64 scope=workgroup"},
	[KV_ACK_BEFORE_BARRIER] = {"ack-before-barrier",
		"operations are acknowledged before the barrier that makes them durable", "observed", NULL},
	[KV_FREE_BEFORE_PUBLISH] = {"free-before-publish",
		"no persist barrier between a slot's new entry and the free of its old one", "observed",
		NULL},
	[KV_UPDATE_IN_PLACE] = {"update-in-place", "the value of a present key is overwritten in place",
		"observed", NULL},
	[KV_SPLIT_PUBLISH] = {"split-publish",
		"a slot is written as two stores, the fingerprint after the offset", "observed", NULL},
	[KV_TOMBSTONE_DELETE] = {"tombstone-delete", "a deleted key loses its slot and may return in another",
		"epoch", "count=1500 batch=512 slots=64 mix=put=80,delete=20 records=200"},
	[KV_ROOT_BEFORE_TABLE] = {"root-before-table",
		"no persist barrier between the new table and the root word that names it", "observed", NULL},
	[KV_NARROW_RESIZE] = {"narrow-resize",
		"work-group scope between the new table and the root word, which needs kernel scope",
		"buffered-epoch", "count=2000 batch=256"},
	[KV_FREE_TABLE_FIRST] = {"free-table-first",
		"the old table is freed before the root word names the new one", "observed", NULL},
	[KV_RACY_DELETE] = {"racy-delete",
		"a delete loads its slot and stores it in two steps: a put of the key in between is lost",
		"schedules", "count=4 batch=4 group-size=1 preload=1 records=1 mix=put=50,delete=50"},
	{NULL, NULL, NULL, NULL},
};

/* As the sources above say; not from what the tester printed. */
const struct nvw_lack kv_lacks[] = {
	{"publish-before-value", "barrier work-item write_entry|store_block_word take_slot|publish"},
	{"narrow-scope", "barrier work-group write_together|store_block_word take_slot|publish"},
	{"ack-before-barrier", "barrier work-item take_slot|publish|mark_deleted ack"},
	{"free-before-publish", "barrier work-item publish store_block_word"},
	{"update-in-place", "atomic write_entry"},
	{"split-publish", "atomic take_slot_in_two; exchange take_slot_in_two take_slot_in_two; none"},
	{"tombstone-delete",
		"barrier work-group forget_key take_slot|publish; barrier kernel forget_key take_slot|"
		"publish; barrier host forget_key take_slot|publish"},
	{"root-before-table", "barrier kernel move_slot kv_rebuild"},
	{"narrow-resize", "barrier kernel move_slot kv_rebuild"},
	{"free-table-first", "exchange kv_rebuild host"},
	{NULL, NULL},
};

const struct kv_steps *kv_replaced(enum kv_mutation mutation)
{
	static const struct kv_steps none,
		replaced[] = {
			[KV_PUBLISH_BEFORE_VALUE] = {.order_entry = order_nothing},
			[KV_NARROW_SCOPE] = {.order_entry = order_own_words},
			[KV_ACK_BEFORE_BARRIER] = {.order_change = acknowledge_first},
			[KV_FREE_BEFORE_PUBLISH] = {.order_change = free_first},
			[KV_UPDATE_IN_PLACE] = {.write_entry = overwrite_and_write},
			[KV_SPLIT_PUBLISH] = {.take_slot = take_slot_in_two},
			[KV_TOMBSTONE_DELETE] = {.mark_deleted = forget_key},
			[KV_ROOT_BEFORE_TABLE] = {.order_table = order_nothing},
			[KV_NARROW_RESIZE] = {.order_table = order_table_in_group},
			[KV_FREE_TABLE_FIRST] = {.order_table = NULL}, /* the host frees it early */
			[KV_RACY_DELETE] = {.mark_deleted = mark_in_two},
		};

	assert(mutation == KV_UNMUTATED || (size_t)mutation < sizeof(replaced) / sizeof(*replaced));
	return mutation == KV_UNMUTATED ? &none : &replaced[mutation];
}
