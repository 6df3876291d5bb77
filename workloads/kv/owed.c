/* SPDX-License-Identifier: BSD-3-Clause */
/* What is owed to a key. See owed.h. */
#include <assert.h>

#include "owed.h"

/* The last batch with an acknowledged change of the key; -1 if there is none. */
static int64_t last_acked_batch(const struct kv_owed *c, const struct kv_key *k)
{
	for (uint32_t i = k->count; i > 0; i--) {
		const uint64_t op = c->plan->changes[k->first + i - 1];

		if (nvw_acked(c->acks, op)) {
			return (int64_t)kv_batch_of(c->plan, op);
		}
	}
	return -1;
}

uint64_t kv_last_acked(const struct kv_owed *c, const struct kv_key *k)
{
	uint32_t i = k->count;
	assert(k->count > 0);

	while (i > 1 && !nvw_acked(c->acks, c->plan->changes[k->first + i - 1])) {
		i--;
	}
	return c->plan->changes[k->first + i - 1];
}

bool kv_may_hold(const struct kv_owed *c, const struct kv_key *k, uint64_t header)
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

bool kv_deleted_since(const struct kv_plan *p, const struct kv_key *k, int64_t batch)
{
	for (uint32_t i = k->count; i > 0; i--) {
		const uint64_t op = p->changes[k->first + i - 1];

		if ((int64_t)kv_batch_of(p, op) < batch) {
			return false;
		}
		if ((p->kinds[op] & KV_DELETE) != 0) {
			return true;
		}
	}
	return false;
}

bool kv_may_be_absent(const struct kv_owed *c, const struct kv_key *k)
{
	const int64_t since = last_acked_batch(c, k);

	return since < 0 || kv_deleted_since(c->plan, k, since);
}
