/* SPDX-License-Identifier: BSD-3-Clause */
/* Words by their keys. See holders.h. */
#include <stdlib.h>

#include <nvw/random.h>

#include "holders.h"

struct ct_holder {
	uint64_t key;
	uint32_t word;         /* off / 8 */
	uint32_t next, sister; /* of the same hash, of the same word; + 1 */
};

static struct ct_holder *at(const struct ct_holders *h, uint32_t number)
{
	return (struct ct_holder *)h->at.at + (number - 1);
}

static uint32_t *bucket_of(const struct ct_holders *h, uint64_t key)
{
	return &h->bucket[nvw_mix64(key) & (h->buckets - 1)];
}

static void remove_holder(struct ct_holders *h, uint32_t number)
{
	uint32_t *from = bucket_of(h, at(h, number)->key);

	while (*from != number) {
		from = &at(h, *from)->next;
	}
	*from = at(h, number)->next;
	at(h, number)->next = h->spare;
	h->spare = number;
}

static void add_to_bucket(struct ct_holders *h, uint32_t number)
{
	at(h, number)->next = *bucket_of(h, at(h, number)->key);
	*bucket_of(h, at(h, number)->key) = number;
}

/* Keeps the lists short. */
static int grow(struct ct_holders *h)
{
	if (h->at.count < h->buckets) {
		return 0;
	}
	uint32_t *const bucket = calloc(4 * h->buckets, sizeof *bucket);

	if (bucket == NULL) {
		return nvw_fail(NVW_E_MEMORY, "no memory for the references of a pool");
	}
	const uint64_t had = h->buckets;
	uint32_t *const old = h->bucket;

	h->bucket = bucket;
	h->buckets *= 4;
	for (uint64_t i = 0; i < had; i++) {
		for (uint32_t k = old[i], next; k != 0; k = next) {
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

static int read_word(struct ct_holders *h, uint32_t word)
{
	const struct ct_medium *const m = h->medium;
	const nvw_off off = 8 * (nvw_off)word;
	const uint32_t i = m->cell_of[off / m->unit_bytes];
	const struct ct_cell *const c = i ? &m->cell[i - 1] : NULL;
	int error = add(h, word, h->key(h->plan, ct_image_word(&m->image, off)));

	for (unsigned v = 0; c != NULL && v < c->count && !error; v++) {
		error = add(h, word, h->key(h->plan, c->content[(size_t)v * c->words + (off - c->off) / 8]));
	}
	return error;
}

void ct_holders_free(struct ct_holders *h)
{
	free(h->bucket);
	free(h->of_word);
	free(h->at.at);
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
	if (h->bucket == NULL || h->of_word == NULL) {
		return nvw_fail(NVW_E_MEMORY, "no memory for the references of a pool");
	}
	for (uint64_t i = 0; i < words && !error; i++) {
		error = read_word(h, (uint32_t)i);
	}
	return error;
}

static int tell(
	const struct ct_holders *h, uint32_t word, int (*held)(void *context, uint64_t key), void *context)
{
	int error = 0;

	for (uint32_t i = h->of_word[word]; i != 0 && !error; i = at(h, i)->sister) {
		error = held(context, at(h, i)->key);
	}
	return error;
}

int ct_holders_changed(
	struct ct_holders *h, nvw_off off, int (*held)(void *context, uint64_t key), void *context)
{
	const uint32_t word = (uint32_t)(off / 8);
	int error;

	if (!h->is_started) {
		return 0;
	}
	error = tell(h, word, held, context);
	while (h->of_word[word] != 0) {
		const uint32_t number = h->of_word[word];

		h->of_word[word] = at(h, number)->sister;
		remove_holder(h, number);
	}
	error = error ? error : read_word(h, word);
	return error ? error : tell(h, word, held, context);
}

unsigned ct_holders_of(const struct ct_holders *h, uint64_t key, nvw_off *ret_offs, unsigned max)
{
	unsigned count = 0;

	for (uint32_t i = *bucket_of(h, key); i != 0; i = at(h, i)->next) {
		const nvw_off off = 8 * (nvw_off)at(h, i)->word;
		unsigned place = count < max ? count : max;

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
