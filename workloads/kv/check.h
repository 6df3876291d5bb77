/* SPDX-License-Identifier: BSD-3-Clause */
/* What the check says of kv: the statements of parts.c, of a recovered pool (check.c) or word by word
 * (nvw_parts). */
#ifndef WORKLOADS_KV_CHECK_H
#define WORKLOADS_KV_CHECK_H

#include "owed.h"

struct kv_case {
	const struct nvw_pool *pool;
	struct kv_table table; /* slots 0: there is none */
	struct kv_owed owed;   /* plan and acks are NULL: structure only */
	struct nvw_findings *findings;
	/* The recovered slots, in which a key is found by probing; NULL: nvw_pool_holders() finds it. */
	const uint64_t *words;
};

int kv_check_table(const struct kv_case *c);
int kv_check_slot(const struct kv_case *c, uint64_t index);
int kv_check_key(const struct kv_case *c, const struct kv_key *key);

#endif
