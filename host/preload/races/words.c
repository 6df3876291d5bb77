/* SPDX-License-Identifier: BSD-3-Clause */
/* For the detector of persistency races: the words of mapped files, with who has touched them, and places as
 * numbers. */
#include "core/each.h"
#include "windows.h"

/* The file's number, from 1; 0: there is no room. Under the lock. */
static uint32_t file_of(const struct host_mapping *m)
{
	NVW_INVARIANT(host_races->files <= HOST_RACE_FILES);

	struct host_races *const r = host_races;

	NVW_FOR(i, r->files) {
		if (r->file[i].device == m->device && r->file[i].inode == m->inode) {
			return i + 1;
		}
	}
	if (r->files == HOST_RACE_FILES) {
		return 0;
	}
	r->file[r->files].device = m->device;
	r->file[r->files].inode = m->inode;
	return ++r->files;
}

/* A page is found without the lock, and added under it. */
static uint32_t *page_at(uint64_t key, bool new)
{
	NVW_DEEP_INVARIANT(key > 0 && host_races->pages <= HOST_RACE_PAGES);

	struct host_races *const r = host_races;
	uint64_t i = key * UINT64_C(0x9e3779b97f4a7c15) >> 40;

	for (;; i++) {
		const uint64_t at = i % (2 * HOST_RACE_PAGES);
		const uint64_t found = __atomic_load_n(&r->page_key[at], __ATOMIC_ACQUIRE);

		if (found == key) {
			return r->word[r->page_number[at]];
		}
		if (found == 0 && (!new || r->pages == HOST_RACE_PAGES)) {
			return NULL;
		}
		if (found == 0) {
			r->page_number[at] = ++r->pages;
			__atomic_store_n(&r->page_key[at], key, __ATOMIC_RELEASE);
			return r->word[r->pages];
		}
	}
}

uint32_t *host_find_page(struct host_watched *w, uint64_t key)
{
	const size_t at = key % PAGES_KEPT;

	uint32_t *page = page_at(key, false);

	if (page == NULL) {
		host_lock();
		page = page_at(key, true);
		host_unlock();
	}
	w->page[at].word = page;
	w->page[at].key = key;
	return page;
}

void host_each_of_many(struct host_watched *w, const struct host_mapping *m, const void *address, size_t n,
	host_word_function *f, const void *context)
{
	NVW_DEEP_INVARIANT(n > 0 && (uintptr_t)address - m->start < m->length);

	const uintptr_t from = (uintptr_t)address;
	const uintptr_t end = from + nvw_min(n, m->start + m->length - from);

	if (m->race_file == 0) {
		host_lock();
		host_mapping[m - host_mapping].race_file = file_of(m);
		host_unlock();
	}
	for (uintptr_t at = host_down(from, 8); at < end; at += 8) {
		const uint64_t word = (uint64_t)m->race_file << 48 | (m->off + (at - m->start)) / 8;
		uint32_t *const page = m->race_file ? host_page_of(w, word / HOST_RACE_WORDS) : NULL;
		unsigned mask = 0xff;

		if (at < from) {
			mask &= 0xffu << (from - at);
		}
		if (at + 8 > end) {
			mask &= 0xffu >> (at + 8 - end);
		}
		if (page == NULL) {
			host_race_limit(HOST_RACE_MANY_PAGES);
			continue;
		}
		f(w, word, &page[word % HOST_RACE_WORDS], mask, context);
	}
}

uint32_t host_touch_first(const struct host_watched *w, uint32_t *state, uint32_t flags)
{
	NVW_DEEP_INVARIANT(w->number > 0 && w->number <= HOST_RACE_THREADS);

	uint32_t before = __atomic_load_n(state, __ATOMIC_RELAXED), now;

	do {
		now = before | flags;
		if ((now & HOST_WORD_OWNER) == 0) {
			now |= w->number;
		} else if ((now & HOST_WORD_OWNER) != w->number) {
			now |= HOST_WORD_SHARED;
		}
	} while (now != before &&
		 !__atomic_compare_exchange_n(state, &before, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return now;
}

uint32_t host_find_race_site(struct host_watched *w, const struct host_caller *caller)
{
	host_lock();
	const uint32_t site = host_site(caller);

	host_unlock();
	if (caller->frame == 0) {
		const size_t at = (uintptr_t)caller->address * UINT64_C(0x9e3779b97f4a7c15) >> 54;

		w->site[at].address = caller->address;
		w->site[at].site = site;
	}
	return site;
}
