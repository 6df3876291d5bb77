/* SPDX-License-Identifier: BSD-3-Clause */
/* The durable table, as read by recovery, check and inspection: offsets on the medium are never trusted. */
#ifndef WORKLOADS_KV_VIEW_H
#define WORKLOADS_KV_VIEW_H

#include <nvw/recovery.h>

#include "layout.h"

struct kv_view {
	struct nvw_pool *pool;
	struct kv_table table;
	const uint64_t *words; /* the slots; NULL if the pool has no table yet */
};

/* Looks up the table of a pool; slots 0: there is none. NVW_E_DAMAGED if the root word does not name an
 * allocated extent of the stated number of slots. */
NVW_CHECKED int kv_view_table(const struct nvw_pool *pool, struct kv_table *ret_table);
NVW_CHECKED int kv_view_open(struct nvw_pool *pool, struct kv_view *ret_view);
/* Returns NVW_E_DAMAGED if a pool whose root word is 0 has an entry. The root word is durable before the
 * first entry is allocated, so there is an empty table at most. */
NVW_CHECKED int kv_view_expect_empty(const struct nvw_pool *pool);

/* The slots that are not empty, and the keys that are present. */
void kv_view_count(const struct kv_view *v, uint64_t *ret_used, uint64_t *ret_live);

/* The key of an entry; false if the offset is not in the pool. */
static inline bool kv_view_key(const struct kv_view *v, nvw_off entry, uint64_t *ret_key)
{
	const uint64_t *const words = nvw_pool_at(v->pool, entry, KV_ENTRY_HEAD_BYTES);

	if (words == NULL) {
		return false;
	}
	*ret_key = words[0];
	return true;
}

#endif
