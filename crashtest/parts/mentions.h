/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who mentions what: owners (numbers from 0 on) and the keys that each of them mentions, found from either
 * side. What an owner mentions is taken out as a whole, and added anew.
 */
#ifndef CRASHTEST_MENTIONS_H
#define CRASHTEST_MENTIONS_H

#include "core/rows.h"

#include "../states/medium.h"

struct ct_mention {
	uint64_t key;
	uint64_t epoch; /* the user's; 0 at first */
	uint32_t owner;
	uint32_t next, last; /* of the same hash; 0: none. Many owners may mention one key */
	uint32_t sister;     /* of the same owner, likewise */
};

struct ct_mentions {
	struct nvw_rows rows; /* struct ct_mention */
	uint32_t *bucket;     /* by hash of the key: its first row */
	uint64_t buckets;     /* a power of two */
	uint32_t *of_owner;   /* by owner: its first row */
	struct ct_array old;  /* uint64_t: keys of the owner that was forgotten last */
};

NVW_CHECKED int ct_mentions_create(uint64_t owners, struct ct_mentions *ret_mentions);
void ct_mentions_free(struct ct_mentions *mentions);

/* The owner's mention of the key, perhaps a new one; NULL without memory. */
struct ct_mention *ct_mentions_add(struct ct_mentions *mentions, uint32_t owner, uint64_t key);
/* Takes out what the owner mentions, and keeps the keys as the old ones. */
NVW_CHECKED int ct_mentions_forget(struct ct_mentions *mentions, uint32_t owner);

/* NULL: row 0, which is none. */
static inline struct ct_mention *ct_mention_at(const struct ct_mentions *m, uint32_t row)
{
	return row != 0 ? nvw_row(&m->rows, row) : NULL;
}

/* The first of a key at a row or behind it. */
const struct ct_mention *ct_mention_of(const struct ct_mentions *mentions, uint64_t key, uint32_t row);
uint32_t *ct_mentions_bucket(const struct ct_mentions *mentions, uint64_t key);

/* What an owner mentions, the newest first; the mentions of a key, in no order. */
#define CT_EACH_OF_OWNER(one, m, owner)                                                          \
	for (const struct ct_mention *one = ct_mention_at(m, (m)->of_owner[owner]); one != NULL; \
		one = ct_mention_at(m, one->sister))
#define CT_EACH_OF_KEY(one, m, key)                                                                          \
	for (const struct ct_mention *one = ct_mention_of(m, key, *ct_mentions_bucket(m, key)); one != NULL; \
		one = ct_mention_of(m, key, one->next))

#endif
