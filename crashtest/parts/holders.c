/* SPDX-License-Identifier: BSD-3-Clause */
/* Words by their keys. See holders.h. */
#include <stdlib.h>
#include <sys/param.h>

#include <nvw/random.h>

#include "core/invariant.h"

#include "holders.h"

enum { VALUES_MAX = 64 }; /* that the log may restore in a word */

struct ct_holder {
	uint64_t key;
	uint32_t word;       /* off / 8 */
	uint32_t next, last; /* of the same hash, + 1; 0: none. Many words may have one key */
	uint32_t sister;     /* of the same word, likewise */
};

static struct ct_holder *at(const struct ct_holders *h, uint32_t number)
{
	NVW_DEEP_INVARIANT(number >= 1 && number <= h->at.count);
	return (struct ct_holder *)h->at.at + (number - 1);
}

static uint32_t *bucket_of(const struct ct_holders *h, uint64_t key)
{
	NVW_DEEP_INVARIANT(h->buckets > 0 && (h->buckets & (h->buckets - 1)) == 0);
	return &h->bucket[nvw_mix64(key) & (h->buckets - 1)];
}

static void remove_holder(struct ct_holders *h, uint32_t number)
{
	const struct ct_holder *const gone = at(h, number);

	NVW_INVARIANT(number > 0);
	if (gone->last != 0) {
		at(h, gone->last)->next = gone->next;
	} else {
		*bucket_of(h, gone->key) = gone->next;
	}
	if (gone->next != 0) {
		at(h, gone->next)->last = gone->last;
	}
	at(h, number)->next = h->spare;
	h->spare = number;
}

static void add_to_bucket(struct ct_holders *h, uint32_t number)
{
	uint32_t *const bucket = bucket_of(h, at(h, number)->key);

	at(h, number)->next = *bucket;
	at(h, number)->last = 0;
	if (*bucket != 0) {
		at(h, *bucket)->last = number;
	}
	*bucket = number;
}

/* Keeps the lists short. */
static int grow(struct ct_holders *h)
{
	if (h->at.count < h->buckets) {
		return 0;
	}
	uint32_t *const bucket = calloc(4 * h->buckets, sizeof *bucket);

	NVW_ALLOCATED(bucket, "no memory for the references of a pool");
	const uint64_t had = h->buckets;
	uint32_t *const old = h->bucket;

	h->bucket = bucket;
	h->buckets *= 4;
	NVW_EACH(one, old, had) {
		for (uint32_t k = *one, next; k != 0; k = next) {
			next = at(h, k)->next;
			add_to_bucket(h, k);
		}
	}
	free(old);
	return 0;
}

static int add(struct ct_holders *h, uint32_t word, uint64_t key)
{
	uint32_t number = h->of_word[word];

	while (number != 0 && at(h, number)->key != key) {
		number = at(h, number)->sister;
	}
	if (number != 0 || key == 0) {
		return 0;
	}
	int error = grow(h);

	number = h->spare;
	if (number != 0) {
		h->spare = at(h, number)->next;
	} else if (!error) {
		error = ct_array_grow(&h->at, h->at.count + 1, sizeof(struct ct_holder));
		number = error ? 0 : (uint32_t)++h->at.count;
	}
	if (!error) {
		*at(h, number) = (struct ct_holder){.key = key, .word = word, .sister = h->of_word[word]};
		h->of_word[word] = number;
		add_to_bucket(h, number);
	}
	return error;
}

static uint64_t key_of(const struct ct_holders *h, uint64_t content)
{
	const uint64_t key = h->key(h->plan, content);

	return key == CT_HOLDERS_UNKNOWN ? 0 : key;
}

static int read_restored(struct ct_holders *h, uint32_t word)
{
	uint64_t value[VALUES_MAX];
	const unsigned count = ct_restores_values(h->restores, 8 * (nvw_off)word, value, VALUES_MAX);

	if (count > VALUES_MAX) {
		h->unknown++;
		return add(h, word, CT_HOLDERS_UNKNOWN);
	}
	NVW_FOR(i, count) {
		NVW_TRY(add(h, word, key_of(h, value[i])));
	}
	return 0;
}

static int read_word(struct ct_holders *h, uint32_t word)
{
	uint64_t content;

	for (unsigned v = 0; ct_medium_version(h->medium, 8 * (nvw_off)word, v, &content); v++) {
		NVW_TRY(add(h, word, key_of(h, content)));
	}
	return read_restored(h, word);
}

void ct_holders_free(struct ct_holders *h)
{
	free(h->bucket);
	free(h->of_word);
	free(h->at.at);
	free(h->old.at);
	*h = (struct ct_holders){0};
}

int ct_holders_start(struct ct_holders *h)
{
	const uint64_t words = h->medium->image.bytes / 8;
	int error = 0;

	if (h->is_started) {
		return 0;
	}
	h->is_started = true;
	h->buckets = 4096;
	h->bucket = calloc(h->buckets, sizeof *h->bucket);
	h->of_word = calloc(words, sizeof *h->of_word);
	NVW_FAIL_IF(!h->bucket || !h->of_word, NVW_E_MEMORY, "no memory for the references of a pool");
	for (uint64_t i = 0; i < words && !error; i++) {
		error = read_word(h, (uint32_t)i);
	}
	return error;
}

int ct_holders_restart(struct ct_holders *h)
{
	const struct ct_holders anew = {
		.medium = h->medium, .restores = h->restores, .key = h->key, .plan = h->plan};
	const bool was_started = h->is_started;

	ct_holders_free(h);
	*h = anew;
	if (was_started) {
		return ct_holders_start(h);
	}
	return 0;
}

/* Takes out what the word had, and keeps the keys. */
static int forget_word(struct ct_holders *h, uint32_t word)
{
	h->old.count = 0;
	while (h->of_word[word] != 0) {
		const uint32_t number = h->of_word[word];

		NVW_TRY(CT_ADD(&h->old, &at(h, number)->key));
		h->unknown -= at(h, number)->key == CT_HOLDERS_UNKNOWN;
		h->of_word[word] = at(h, number)->sister;
		remove_holder(h, number);
	}
	return 0;
}

static bool has(const struct ct_holders *h, uint32_t word, uint64_t key)
{
	uint32_t i = h->of_word[word];

	while (i != 0 && at(h, i)->key != key) {
		i = at(h, i)->sister;
	}
	return i != 0;
}

static bool had(const struct ct_holders *h, uint64_t key)
{
	const uint64_t *const old = h->old.at;
	uint64_t i = 0;

	while (i < h->old.count && old[i] != key) {
		i++;
	}
	return i < h->old.count;
}

int ct_holders_changed(
	struct ct_holders *h, nvw_off off, int (*held)(void *context, uint64_t key), void *context)
{
	const uint32_t word = (uint32_t)(off / 8);

	if (!h->is_started) {
		return 0;
	}
	NVW_TRY(forget_word(h, word));
	NVW_TRY(read_word(h, word));
	NVW_FOR(i, h->old.count) {
		const uint64_t key = ((const uint64_t *)h->old.at)[i];

		NVW_TRY(has(h, word, key) ? 0 : held(context, key));
	}
	for (uint32_t i = h->of_word[word]; i != 0; i = at(h, i)->sister) {
		NVW_TRY(had(h, at(h, i)->key) ? 0 : held(context, at(h, i)->key));
	}
	return 0;
}

unsigned ct_holders_of(const struct ct_holders *h, uint64_t key, nvw_off *ret_offs, unsigned max)
{
	unsigned count = 0;

	if (h->unknown > 0) {
		return max + 1;
	}
	for (uint32_t i = *bucket_of(h, key); i != 0; i = at(h, i)->next) {
		const nvw_off off = 8 * (nvw_off)at(h, i)->word;
		unsigned place = MIN(count, max);

		if (at(h, i)->key != key) {
			continue;
		}
		for (; place > 0 && ret_offs[place - 1] > off; place--) {
			if (place < max) {
				ret_offs[place] = ret_offs[place - 1];
			}
		}
		if (place < max) {
			ret_offs[place] = off;
		}
		count++;
	}
	return count;
}
