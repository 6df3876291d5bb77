/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the acknowledgements of a crash owe to a key: guarantee (6) of layout.h. A change may hold unless one
 * of a later batch is acknowledged. Changes of one batch are concurrent, so any of them may have been the
 * last, acknowledged or not.
 */
#ifndef WORKLOADS_KV_OWED_H
#define WORKLOADS_KV_OWED_H

#include "plan.h"

struct kv_owed {
	struct kv_plan *plan;
	const struct nvw_acks *acks;
};

/* The key may hold the value of this header; it may be absent. */
bool kv_may_hold(const struct kv_owed *owed, const struct kv_key *key, uint64_t header);
bool kv_may_be_absent(const struct kv_owed *owed, const struct kv_key *key);

/* Whether the key may have been deleted in this batch or later. */
bool kv_deleted_since(const struct kv_plan *plan, const struct kv_key *key, int64_t batch);

/* The last acknowledged change, for messages. */
uint64_t kv_last_acked(const struct kv_owed *owed, const struct kv_key *key);

#endif
