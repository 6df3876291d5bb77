/* SPDX-License-Identifier: BSD-3-Clause */
/* Words by their keys. See holders.h. */
#include <sys/param.h>

#include "holders.h"

enum { VALUES_MAX = 64 }; /* that the log may restore in a word */

static int add(struct ct_holders *h, uint32_t word, uint64_t key)
{
	NVW_FAIL_IF(key != 0 && !ct_mentions_add(&h->keys, word, key), NVW_E_MEMORY,
		"no memory for the references of a pool");
	return 0;
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
	ct_mentions_free(&h->keys);
	h->is_started = false;
	h->unknown = 0;
}

int ct_holders_start(struct ct_holders *h)
{
	const uint64_t words = h->medium->image.bytes / 8;

	if (h->is_started) {
		return 0;
	}
	h->is_started = true;
	NVW_TRY(ct_mentions_create(words, &h->keys));
	NVW_FOR(i, words) {
		NVW_TRY(read_word(h, (uint32_t)i));
	}
	return 0;
}

int ct_holders_restart(struct ct_holders *h)
{
	const bool was_started = h->is_started;

	ct_holders_free(h);
	return was_started ? ct_holders_start(h) : 0;
}

static bool has(const struct ct_holders *h, uint32_t word, uint64_t key)
{
	CT_EACH_OF_OWNER(one, &h->keys, word) {
		if (one->key == key) {
			return true;
		}
	}
	return false;
}

static bool had(const struct ct_holders *h, uint64_t key)
{
	const uint64_t *const old = h->keys.old.at;

	return NVW_ANY(one, old, h->keys.old.count, *one == key);
}

int ct_holders_changed(
	struct ct_holders *h, nvw_off off, int (*held)(void *context, uint64_t key), void *context)
{
	const uint32_t word = (uint32_t)(off / 8);

	if (!h->is_started) {
		return 0;
	}
	h->unknown -= has(h, word, CT_HOLDERS_UNKNOWN);
	NVW_TRY(ct_mentions_forget(&h->keys, word));
	NVW_TRY(read_word(h, word));
	const uint64_t *const old = h->keys.old.at;

	NVW_EACH(key, old, h->keys.old.count) {
		NVW_TRY(has(h, word, *key) ? 0 : held(context, *key));
	}
	CT_EACH_OF_OWNER(one, &h->keys, word) {
		NVW_TRY(had(h, one->key) ? 0 : held(context, one->key));
	}
	return 0;
}

unsigned ct_holders_of(const struct ct_holders *h, uint64_t key, nvw_off *ret_offs, unsigned max)
{
	unsigned count = 0;

	if (h->unknown > 0) {
		return max + 1;
	}
	CT_EACH_OF_KEY(one, &h->keys, key) {
		const nvw_off off = 8 * (nvw_off)one->owner;
		unsigned place = MIN(count, max);

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
