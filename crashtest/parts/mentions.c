/* SPDX-License-Identifier: BSD-3-Clause */
/* Who mentions what. See mentions.h. */
#include <stdlib.h>

#include <nvw/random.h>

#include "mentions.h"

uint32_t *ct_mentions_bucket(const struct ct_mentions *m, uint64_t key)
{
	NVW_DEEP_INVARIANT(m->buckets > 0 && (m->buckets & (m->buckets - 1)) == 0);
	return &m->bucket[nvw_mix64(key) & (m->buckets - 1)];
}

const struct ct_mention *ct_mention_of(const struct ct_mentions *m, uint64_t key, uint32_t row)
{
	const struct ct_mention *one = ct_mention_at(m, row);

	while (one && one->key != key) {
		one = ct_mention_at(m, one->next);
	}
	return one;
}

int ct_mentions_create(uint64_t owners, struct ct_mentions *ret)
{
	struct ct_mentions m = {.rows = {.row_bytes = sizeof(struct ct_mention)}, .buckets = 4096};

	m.bucket = calloc(m.buckets, sizeof *m.bucket);
	m.of_owner = calloc(owners + 1, sizeof *m.of_owner);
	*ret = m;
	NVW_FAIL_IF(!m.bucket || !m.of_owner, NVW_E_MEMORY, "no memory for the references of a pool");
	return 0;
}

void ct_mentions_free(struct ct_mentions *m)
{
	nvw_rows_finish(&m->rows);
	free(m->bucket);
	free(m->of_owner);
	free(m->old.at);
	*m = (struct ct_mentions){0};
}

static void put_in_bucket(struct ct_mentions *m, uint32_t row)
{
	struct ct_mention *const one = ct_mention_at(m, row);
	uint32_t *const bucket = ct_mentions_bucket(m, one->key);

	NVW_DEEP_INVARIANT(row != *bucket);
	one->next = *bucket;
	one->last = 0;
	if (*bucket != 0) {
		ct_mention_at(m, *bucket)->last = row;
	}
	*bucket = row;
}

static void take_from_bucket(struct ct_mentions *m, const struct ct_mention *gone)
{
	NVW_DEEP_INVARIANT(gone->last == 0 || gone->last != gone->next);
	if (gone->last != 0) {
		ct_mention_at(m, gone->last)->next = gone->next;
	} else {
		*ct_mentions_bucket(m, gone->key) = gone->next;
	}
	if (gone->next != 0) {
		ct_mention_at(m, gone->next)->last = gone->last;
	}
}

/* Keeps the lists short. */
static bool grow(struct ct_mentions *m)
{
	const uint64_t had = m->buckets;
	uint32_t *const old = m->bucket;

	if (m->rows.count < had) {
		return true;
	}
	uint32_t *const bucket = calloc(4 * had, sizeof *bucket);

	if (!bucket) {
		return false;
	}
	m->bucket = bucket;
	m->buckets = 4 * had;
	NVW_EACH(one, old, had) {
		for (uint32_t row = *one, next; row != 0; row = next) {
			next = ct_mention_at(m, row)->next;
			put_in_bucket(m, row);
		}
	}
	free(old);
	return true;
}

struct ct_mention *ct_mentions_add(struct ct_mentions *m, uint32_t owner, uint64_t key)
{
	struct ct_mention *one = ct_mention_at(m, m->of_owner[owner]);

	while (one && one->key != key) {
		one = ct_mention_at(m, one->sister);
	}
	if (one) {
		return one;
	}
	const uint32_t row = grow(m) ? nvw_rows_take(&m->rows) : 0;

	one = ct_mention_at(m, row);
	if (one) {
		*one = (struct ct_mention){.key = key, .owner = owner, .sister = m->of_owner[owner]};
		m->of_owner[owner] = row;
		put_in_bucket(m, row);
	}
	return one;
}

int ct_mentions_forget(struct ct_mentions *m, uint32_t owner)
{
	m->old.count = 0;
	for (uint32_t row; (row = m->of_owner[owner]) != 0;) {
		const struct ct_mention *const gone = ct_mention_at(m, row);

		NVW_INVARIANT(gone->owner == owner);
		NVW_TRY(CT_ADD(&m->old, &gone->key));
		m->of_owner[owner] = gone->sister;
		take_from_bucket(m, gone);
		nvw_rows_give(&m->rows, row);
	}
	return 0;
}
