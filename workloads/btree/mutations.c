/* SPDX-License-Identifier: BSD-3-Clause */
/* The seeded bugs of the B+tree: for each, the steps that it replaces. */
#define NVW_NOT_COVERED
#include <assert.h>

#include "insert.h"

/* ---- Fill ---------------------------------------------------------------------------------- */

static bool log_nothing(const struct btree_item *it, nvw_off off)
{
	return true;
}

static bool log_two_words(const struct btree_item *it, nvw_off off)
{
	if (!it->a->undo) {
		return true;
	}
	it->a->plan->writes[it->level] += 8;
	return nvw_undo(&it->epoch, off + offsetof(struct btree_node, order)) &&
	       nvw_undo(&it->epoch, off + offsetof(struct btree_node, next));
}

/* Behind a split of another wavefront the log counts too few entries: the next ones overwrite its own. */
static bool log_and_count(const struct btree_item *it, nvw_off off)
{
	const struct nvw_pmem *const pmem = it->a->pmem;
	uint32_t *const used = &pmem->log_used[it->epoch.stream];
	const uint32_t before = nvw_atomic_load(used, NVW_RELAXED, NVW_SCOPE_AGENT);
	const bool is_logged = btree_steps.log_split(it, off);

	nvw_atomic_store(used, before + 3, NVW_RELAXED, NVW_SCOPE_AGENT);
	return is_logged;
}

static nvw_off allocate_unlogged(const struct btree_item *it)
{
	it->a->plan->writes[it->level]++;
	return nvw_pmalloc(it->a->pmem, btree_node_bytes(it->a->slots), NULL);
}

/* The last of the chained new nodes was linked to the node's right neighbour. */
static void unlink_neighbour(
	const struct btree_item *it, uint64_t k, uint64_t order, nvw_off next, uint64_t high)
{
	const uint64_t nodes = (uint32_t)nvw_load(&it->a->made[k]);
	nvw_off last = next;

	for (uint64_t i = 1; i < nodes; i++) {
		last = nvw_load(&btree_node_at(it->a->pmem, last)->next);
	}
	PUT(it, &btree_node_at(it->a->pmem, last)->next, 0);
	btree_steps.stage_split(it, k, order, next, high);
}

static void publish_node(const struct btree_item *it, uint64_t k)
{
	btree_steps.publish(it, k, k + nvw_load(&it->a->run[it->level & 1][k]));
}

static void publish_unlogged_split(
	const struct btree_item *it, uint64_t k, uint64_t order, nvw_off next, uint64_t high)
{
	btree_steps.stage_split(it, k, order, next, high);
	publish_node(it, k);
}

static void publish_new_keys(const struct btree_item *it, uint64_t k, uint64_t order)
{
	btree_steps.stage_slots(it, k, order);
	publish_node(it, k);
}

/* ---- Publish ------------------------------------------------------------------------------- */

/* Publishes in two stores, each with some of the slots. */
static void publish_in_halves(const struct btree_item *it, nvw_off off, uint64_t order)
{
	const struct nvw_pmem *const pmem = it->a->pmem;
	const nvw_off word = off + offsetof(struct btree_node, order);

	if (it->a->slots <= 7) {
		PUT(it, nvw_at(pmem, uint16_t, word), (uint16_t)order);
		PUT(it, nvw_at(pmem, uint16_t, word + 2), (uint16_t)(order >> 16));
	} else {
		PUT(it, nvw_at(pmem, uint32_t, word), (uint32_t)order);
		PUT(it, nvw_at(pmem, uint32_t, word + 4), (uint32_t)(order >> 32));
	}
}

static void publish_and_complete(struct btree_item *it)
{
	btree_steps.publish_level(it);
	btree_steps.complete(it);
}

static void publish_and_acknowledge(struct btree_item *it)
{
	btree_steps.publish_level(it);
	btree_steps.acknowledge(it);
}

/* A barrier that orders only the work-item's own stores. */
static void order_own(const struct btree_item *it)
{
	PERSIST_WITHIN(it, NVW_WORKITEM);
}

static void settle_own(struct btree_item *it)
{
	btree_steps.complete(it);
	PERSIST_WITHIN(it, NVW_WORKITEM);
}

/* ---- Settle -------------------------------------------------------------------------------- */

static void completed_already(struct btree_item *it)
{
}

static void complete_with_old_number(struct btree_item *it)
{
	const uint64_t number = it->epoch.number;

	btree_steps.complete(it);
	it->epoch.number = number;
}

static void acknowledge_and_complete(struct btree_item *it)
{
	btree_steps.acknowledge(it);
	btree_steps.complete(it);
}

static void complete_without_barrier(struct btree_item *it)
{
	btree_steps.complete(it);
	btree_meet(it);
}

static void acknowledged_already(const struct btree_item *it)
{
}

static void acknowledge_if_unsplit(const struct btree_item *it)
{
	if (!btree_has_splits(it)) {
		btree_steps.acknowledge(it);
	}
}

static void persist_nothing(const struct btree_args *a)
{
}

/* ---- The table ----------------------------------------------------------------------------- */

enum {
	PUBLISH_BEFORE_DATA,
	NO_UNDO,
	UPDATE_BEFORE_LOG,
	COMPLETE_BEFORE_UPDATES,
	ACK_BEFORE_BARRIER,
	LOST_LEAF_LINK,
	NARROW_SCOPE,
	MISSING_LOG_ENTRY,
	UNLOGGED_ALLOCATION,
	TORN_ORDER,
	STALE_EPOCH,
	ACK_BEFORE_COMPLETION,
	LOG_REUSE,
	RACY_LOG,
	COUNT
};

const struct nvw_mutation btree_mutations[] = {
	[PUBLISH_BEFORE_DATA] = {"publish-before-data",
		"no persist barrier between new keys and the order word that publishes them", "observed",
		NULL},
	[NO_UNDO] = {"no-undo", "splits change three words in place without logging them", "observed", NULL},
	[UPDATE_BEFORE_LOG] = {"update-before-log",
		"no persist barrier between the undo log and the words that it protects", "observed", NULL},
	[COMPLETE_BEFORE_UPDATES] = {"complete-before-updates",
		"an epoch is marked complete before its updates are durable", "observed", NULL},
	[ACK_BEFORE_BARRIER] = {"ack-before-barrier",
		"operations are acknowledged before the barrier that makes them durable", "observed", NULL},
	[LOST_LEAF_LINK] = {"lost-leaf-link", "a split drops the link to the right neighbour", "kill", NULL},
	[NARROW_SCOPE] = {"narrow-scope",
		"work-item scope where the group's updates must precede the completion of its epoch",
		"buffered-epoch", NULL},
	[MISSING_LOG_ENTRY] = {"missing-log-entry",
		"only two of the three words changed by a split are logged", "observed", NULL},
	[UNLOGGED_ALLOCATION] = {"unlogged-allocation",
		"new nodes are allocated outside the epoch: a rollback leaks them", "observed", NULL},
	[TORN_ORDER] = {"torn-order", "the order word is published in two halves", "epoch", NULL},
	[STALE_EPOCH] = {"stale-epoch", "the same epoch number is reused after a completion", "observed",
		NULL},
	[ACK_BEFORE_COMPLETION] = {"ack-before-completion",
		"operations are acknowledged before their epoch's completion is durable", "observed", NULL},
	[LOG_REUSE] = {"log-reuse",
		"no persist barrier between an epoch's completion and the next level's entries in the "
		"same log",
		"observed", NULL},
	[RACY_LOG] = {"racy-log",
		"the undo log's length is loaded and stored in two steps: entries of another wavefront are "
		"overwritten",
		"schedules", "count=80 group-size=128 preload=100"},
	[COUNT] = {NULL, NULL, NULL, NULL},
};

/* As the sources above say; not from what the tester printed. PERSIST() has the level's scope: a mutation of
 * it lacks a barrier of work-group scope on a group's own levels, of kernel scope on those that groups
 * share. */
const struct nvw_lack btree_lacks[] = {
	{"publish-before-data", "barrier work-item add_keys publish_order"},
	{"no-undo", "atomic publish_order|publish|update_values|nvw_epoch_complete"},
	{"update-before-log",
		"barrier work-item nvw_undo|store_block_word|add_keys|write_node publish_order|publish"},
	{"complete-before-updates",
		"barrier work-group publish_order|publish nvw_epoch_complete; barrier work-item "
		"publish_order|publish nvw_epoch_complete; barrier kernel publish_order|publish "
		"nvw_epoch_complete"},
	{"ack-before-barrier",
		"barrier work-item publish_order|publish|update_values|btree_update_kernel|"
		"btree_delete_kernel ack; barrier work-group publish_order|publish|update_values ack; "
		"exchange nvw_epoch_complete|publish_order|publish ack"},
	{"lost-leaf-link", "none"},
	{"narrow-scope",
		"barrier work-group publish_order|publish|update_values|add_keys|write_node|nvw_undo|"
		"store_block_word|nvw_epoch_complete nvw_epoch_complete|ack|publish_order|publish|nvw_undo; "
		"barrier kernel publish_order|publish|update_values|add_keys|write_node|nvw_undo|"
		"store_block_word|nvw_epoch_complete nvw_epoch_complete|ack|publish_order|publish|nvw_undo"},
	{"missing-log-entry", "atomic publish_order|publish|nvw_epoch_complete|update_values"},
	{"unlogged-allocation",
		"atomic store_block_word|publish_order|publish|nvw_epoch_complete|write_node|add_keys|"
		"nvw_undo|make_level"},
	{"torn-order", "atomic publish_in_halves; exchange publish_in_halves publish_in_halves"},
	{"stale-epoch",
		"atomic publish_order|publish|nvw_epoch_complete|update_values|nvw_undo|store_block_word|"
		"write_node|add_keys|make_level"},
	{"ack-before-completion",
		"barrier work-group nvw_epoch_complete ack; barrier work-item nvw_epoch_complete ack; "
		"exchange nvw_epoch_complete ack"},
	{"log-reuse",
		"barrier work-group nvw_epoch_complete *; barrier work-item nvw_epoch_complete *; barrier "
		"kernel nvw_epoch_complete *"},
	{NULL, NULL},
};

static const struct btree_steps replaced[COUNT] = {
	[PUBLISH_BEFORE_DATA] = {.stage_slots = publish_new_keys},
	[NO_UNDO] = {.log_split = log_nothing},
	[UPDATE_BEFORE_LOG] = {.stage_split = publish_unlogged_split},
	[COMPLETE_BEFORE_UPDATES] = {.publish_level = publish_and_complete, .complete = completed_already},
	[ACK_BEFORE_BARRIER] = {.publish_level = publish_and_acknowledge,
		.acknowledge = acknowledged_already,
		.persist_change = persist_nothing},
	[LOST_LEAF_LINK] = {.stage_split = unlink_neighbour},
	[NARROW_SCOPE] = {.order_data = order_own, .order_updates = order_own, .settle = settle_own},
	[MISSING_LOG_ENTRY] = {.log_split = log_two_words},
	[UNLOGGED_ALLOCATION] = {.allocate = allocate_unlogged},
	[TORN_ORDER] = {.publish_order = publish_in_halves},
	[STALE_EPOCH] = {.complete = complete_with_old_number},
	[ACK_BEFORE_COMPLETION] = {.complete = acknowledge_and_complete,
		.acknowledge = acknowledge_if_unsplit},
	[LOG_REUSE] = {.settle = complete_without_barrier},
	[RACY_LOG] = {.log_split = log_and_count},
};

const struct btree_steps *btree_replaced(int mutation)
{
	static const struct btree_steps none;

	assert(mutation < 0 || (size_t)mutation < sizeof(replaced) / sizeof(*replaced));
	return mutation < 0 ? &none : &replaced[mutation];
}
