/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The index of nvw/readers.h on liburcu.
 *
 * Its functions are called, not inlined (no _LGPL_SOURCE). Records become visible through a release store of
 * their key, which match() loads with acquire: this satisfies the C memory model whatever liburcu does
 * internally. The model does not cover grace periods, so they are annotated for thread sanitizer: a reader's
 * accesses before it leaves a section happen before the code that follows a grace period.
 */
#include <nvw/readers.h>

#include <stdlib.h>
#include <string.h>

#include <urcu.h>
#include <urcu/rculfhash.h>

#include <nvw/random.h>

#include "core/clock.h"
#include "core/invariant.h"
#include "core/search.h"
#include "core/tsan.h"

#ifdef NVW__TSAN
#include <sanitizer/tsan_interface.h>
#define section_ends(readers)  __tsan_release(&(readers)->grace)
#define grace_elapsed(readers) __tsan_acquire(&(readers)->grace)
#else
#define section_ends(readers)  ((void)0)
#define grace_elapsed(readers) ((void)0)
#endif

enum { RETIRED_MAX = 4096, BUCKETS_MAX = 1 << 22 };

struct record {
	struct cds_lfht_node link;
	uint64_t key;
	uint64_t words[NVW_READERS_WORDS];
	struct record *older; /* the next record waiting to be freed */
};

struct order {
	uint64_t count;
	struct order *older;
	uint64_t pairs[]; /* key, value */
};

struct nvw_readers {
	struct cds_lfht *table;
	struct order *order;
	char grace; /* only its address is used, by thread sanitizer */
	/* Used only by the emulation's thread. */
	struct record *retired;
	struct order *retired_orders;
	uint64_t waiting; /* number of retired records */
	struct nvw_readers_figures figures;
};

static int match(struct cds_lfht_node *node, const void *key)
{
	const struct record *const record = caa_container_of(node, struct record, link);

	return __atomic_load_n(&record->key, __ATOMIC_ACQUIRE) == *(const uint64_t *)key;
}

/* ---- The emulation's thread ------------------------------------------------------------------ */

int nvw_readers_create(uint64_t keys, struct nvw_readers **ret_readers)
{
	struct nvw_readers *const readers = calloc(1, sizeof *readers);
	unsigned long buckets = 64;

	/* A fixed size: a table that resizes itself would need its own threads. */
	while (buckets < keys && buckets < BUCKETS_MAX) {
		buckets *= 2;
	}
	rcu_register_thread();
	if (readers) {
		readers->table = cds_lfht_new(buckets, buckets, buckets, 0, NULL);
	}
	if (!readers || !readers->table) {
		free(readers);
		rcu_unregister_thread();
		return nvw_fail(
			NVW_E_MEMORY, "no memory for an index of %llu keys", (unsigned long long)keys);
	}
	*ret_readers = readers;
	return 0;
}

static void free_retired(struct nvw_readers *readers)
{
	while (readers->retired) {
		struct record *const record = readers->retired;

		readers->retired = record->older;
		readers->figures.freed++;
		free(record);
	}
	while (readers->retired_orders) {
		struct order *const order = readers->retired_orders;

		readers->retired_orders = order->older;
		free(order);
	}
	readers->waiting = 0;
}

void nvw_readers_wait(struct nvw_readers *readers)
{
	uint64_t began;

	if (!readers) {
		return;
	}
	began = nvw__now_ns();
	synchronize_rcu();
	grace_elapsed(readers);
	readers->figures.grace_ns += nvw__now_ns() - began;
	readers->figures.grace_periods++;
	free_retired(readers);
}

void nvw_readers_destroy(struct nvw_readers *readers)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	if (!readers) {
		return;
	}
	rcu_read_lock();
	cds_lfht_for_each(readers->table, &iter, node)
	{
		struct record *const record = caa_container_of(node, struct record, link);

		cds_lfht_del(readers->table, node);
		record->older = readers->retired;
		readers->retired = record;
	}
	rcu_read_unlock();
	nvw_readers_wait(readers);
	cds_lfht_destroy(readers->table, NULL);
	rcu_unregister_thread();
	free(readers->order);
	free(readers);
}

int nvw_readers_publish(struct nvw_readers *readers, uint64_t key, const uint64_t words[NVW_READERS_WORDS])
{
	struct record *const record = malloc(sizeof *record);
	struct cds_lfht_node *replaced;

	NVW_ALLOCATED(record, "no memory for a record of the readers' index");
	if (readers->waiting >= RETIRED_MAX) {
		nvw_readers_wait(readers);
	}
	cds_lfht_node_init(&record->link);
	memcpy(record->words, words, sizeof record->words);
	__atomic_store_n(&record->key, key, __ATOMIC_RELEASE);
	rcu_read_lock();
	replaced = cds_lfht_add_replace(readers->table, nvw_mix64(key), match, &key, &record->link);
	rcu_read_unlock();
	readers->figures.published++;
	if (replaced) {
		struct record *const old = caa_container_of(replaced, struct record, link);

		old->older = readers->retired;
		readers->retired = old;
		readers->waiting++;
		readers->figures.replaced++;
	}
	return 0;
}

int nvw_readers_publish_order(
	struct nvw_readers *readers, const uint64_t *keys, const uint64_t *values, uint64_t count)
{
	struct order *const order = malloc(sizeof *order + 16 * count), *const old = readers->order;

	NVW_ALLOCATED(order, "no memory for a sorted array of %llu keys", (unsigned long long)count);
	order->count = count;
	for (uint64_t i = 0; i < count; i++) {
		order->pairs[2 * i] = keys[i];
		order->pairs[2 * i + 1] = values[i];
	}
	__atomic_store_n(&readers->order, order, __ATOMIC_RELEASE);
	if (old) {
		old->older = readers->retired_orders;
		readers->retired_orders = old;
		readers->waiting++;
	}
	return 0;
}

struct nvw_readers_figures nvw_readers_figures(const struct nvw_readers *readers)
{
	NVW_DEEP_INVARIANT(readers->figures.freed <= readers->figures.published);
	return readers->figures;
}

/* ---- Readers --------------------------------------------------------------------------------- */

void nvw_reader_join(void)
{
	rcu_register_thread();
}

void nvw_reader_quit(void)
{
	rcu_unregister_thread();
}

void nvw_reader_enter(struct nvw_readers *readers)
{
	rcu_read_lock();
}

void nvw_reader_leave(struct nvw_readers *readers)
{
	section_ends(readers);
	rcu_read_unlock();
}

const uint64_t *nvw_reader_find(struct nvw_readers *readers, uint64_t key)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	cds_lfht_lookup(readers->table, nvw_mix64(key), match, &key, &iter);
	node = cds_lfht_iter_get_node(&iter);
	if (node) {
		return caa_container_of(node, struct record, link)->words;
	}
	return NULL;
}

bool nvw_reader_floor(struct nvw_readers *readers, uint64_t key, uint64_t *ret_value)
{
	const struct order *const order = __atomic_load_n(&readers->order, __ATOMIC_ACQUIRE);
	uint64_t above = 0;

	if (order) {
		above = NVW_FIRST(i, 0, order->count, order->pairs[2 * i] > key);
	}
	NVW_DEEP_INVARIANT(above == 0 || order->pairs[2 * (above - 1)] <= key);
	if (above) {
		*ret_value = order->pairs[2 * (above - 1) + 1];
	}
	return above;
}
