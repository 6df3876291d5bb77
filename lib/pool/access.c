/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading and writing the durable bytes of an open pool. See nvw/pool.h for what a crash leaves. */
#include <inttypes.h>
#include <string.h>

#include <libpmem.h>

#include "core/bounds.h"
#include "core/invariant.h"

#include "internal.h"

const struct nvw_pool_geometry *nvw_pool_geometry(const struct nvw_pool *pool)
{
	return &pool->geometry;
}

const char *nvw_pool_path(const struct nvw_pool *pool)
{
	return NVW_OR(pool->path, "(image)");
}

/* Words of a group of 64. */
static inline void note_words(struct nvw_pool_reads *r, uint64_t group, uint64_t mask)
{
	if (r->words[group] == 0) {
		r->rank[group] = r->count;
		r->order[r->count++] = (uint32_t)group;
	}
	r->words[group] |= mask;
}

void nvw__note_read(const struct nvw_pool *pool, nvw_off off, uint64_t n)
{
	struct nvw_pool_reads *const r = pool->image.reads;

	if (pool->image.fetch) {
		pool->image.fetch(pool->image.context, pool->begin + off, n);
	}

	uint64_t word = (pool->begin + off) / 8;
	const uint64_t end = (pool->begin + off + n + 7) / 8;

	while (r && n > 0 && word < end) {
		const uint64_t count = nvw_min(end - word, 64 - word % 64);

		NVW_DEEP_INVARIANT(word < pool->image.bytes / 8);
		note_words(r, word / 64, nvw_low_bits(count) << word % 64);
		word += count;
	}
}

const void *nvw_pool_base(const struct nvw_pool *pool)
{
	NVW_DEEP_INVARIANT(nvw__pool_is_valid(pool));
	nvw__note_read(pool, 0, pool->geometry.bytes);
	return pool->base;
}

void *nvw_pool_medium(struct nvw_pool *pool)
{
	NVW_DEEP_INVARIANT(nvw__pool_is_valid(pool));
	if (pool->shared) {
		return pool->writable;
	}
	return NULL;
}

static bool lies_in_pool(const struct nvw_pool *pool, nvw_off off, uint64_t n)
{
	return off <= pool->geometry.bytes && n <= pool->geometry.bytes - off;
}

const void *nvw_pool_at(const struct nvw_pool *pool, nvw_off off, uint64_t n)
{
	if (!lies_in_pool(pool, off, n)) {
		return NULL;
	}
	nvw__note_read(pool, off, n);
	return pool->base + off;
}

/* What a check mostly reads. */
uint64_t nvw_pool_word(const struct nvw_pool *pool, nvw_off off)
{
	const uint64_t at = pool->begin + off;
	uint64_t word;

	if (!lies_in_pool(pool, off, 8)) {
		return 0;
	}
	if (pool->image.fetch || at % 8 != 0) {
		nvw__note_read(pool, off, 8);
	} else if (pool->image.reads) {
		note_words(pool->image.reads, at / 512, UINT64_C(1) << at / 8 % 64);
	}
	memcpy(&word, pool->base + off, 8);
	return word;
}

uint64_t nvw_pool_ask(const struct nvw_pool *pool, nvw_off off,
	uint64_t (*of)(const void *from, uint64_t word), const void *from)
{
	if (pool->image.ask && lies_in_pool(pool, off, 8)) {
		return pool->image.ask(pool->image.context, pool->begin + off, of, from);
	}
	return of(from, nvw_pool_word(pool, off));
}

uint64_t nvw_pool_words_written(const struct nvw_pool *pool)
{
	return pool->words_written;
}

/*
 * One aligned word is one store instruction, so a process killed at any point leaves it old or new. On real
 * persistent memory each word is made durable before the next is stored. Elsewhere the page cache keeps the
 * order among processes, and nvw_pool_sync() protects against a power cut of the host; an msync per word
 * would cost one disk write each.
 */
static void store_word(struct nvw_pool *pool, nvw_off off, uint64_t word)
{
	uint64_t *const to = (uint64_t *)(void *)(pool->writable + off);

	NVW_DEEP_INVARIANT(off % 8 == 0 && off + 8 <= pool->geometry.bytes);
	__atomic_store_n(to, word, __ATOMIC_RELEASE);
	if (!pool->shared) {
		return;
	}
	if (pool->is_pmem) {
		pmem_persist(to, sizeof *to);
		return;
	}
	if (pool->unsynced_begin == pool->unsynced_end) {
		pool->unsynced_begin = off;
	}
	pool->unsynced_begin = nvw_min(pool->unsynced_begin, off);
	pool->unsynced_end = nvw_max(pool->unsynced_end, off + 8);
}

static bool is_writable(const struct nvw_pool *pool)
{
	if (pool->mapped_bytes == 0) {
		return pool->image.write != NULL;
	}
	return pool->writable != NULL;
}

/* n bytes within one aligned word. */
static int write_piece(struct nvw_pool *pool, nvw_off off, const void *from, size_t n)
{
	const nvw_off word_off = off & ~UINT64_C(7);
	uint64_t word;

	NVW_DEEP_INVARIANT(is_writable(pool));
	NVW_INVARIANT(off - word_off + n <= 8); /* the medium changes by aligned words */
	pool->words_written++;
	if (pool->mapped_bytes == 0) {
		return pool->image.write(pool->image.context, pool->begin + off, from, n);
	}
	memcpy(&word, pool->base + word_off, 8);
	memcpy((char *)&word + (off - word_off), from, n);
	store_word(pool, word_off, word);
	return 0;
}

static int check_write(const struct nvw_pool *pool, nvw_off off, uint64_t n)
{
	NVW_FAIL_IF(!lies_in_pool(pool, off, n), NVW_E_DAMAGED,
		"%s: offset 0x%" PRIx64 ": %" PRIu64
		" bytes to write, expected a range within the pool's %" PRIu64 " bytes",
		nvw_pool_path(pool), off, n, pool->geometry.bytes);
	NVW_FAIL_IF(!is_writable(pool), NVW_E_USAGE,
		"%s: the pool is open for reading only and cannot be written", nvw_pool_path(pool));
	return 0;
}

int nvw_pool_write(struct nvw_pool *pool, nvw_off off, const void *from, uint64_t n)
{
	NVW_DEEP_INVARIANT(nvw__pool_is_valid(pool));

	const char *bytes = from;
	int error = check_write(pool, off, n);

	while (!error && n > 0) {
		const uint64_t piece = nvw_min(n, 8 - off % 8);

		error = write_piece(pool, off, bytes, piece);
		off += piece;
		bytes += piece;
		n -= piece;
	}
	return error;
}

int nvw_pool_write_word(struct nvw_pool *pool, nvw_off off, uint64_t value)
{
	return nvw_pool_write(pool, off, &value, sizeof value);
}

static int sync_one(struct nvw_pool *pool)
{
	const nvw_off begin = pool->unsynced_begin;
	const nvw_off end = pool->unsynced_end;

	NVW_INVARIANT(nvw__pool_is_valid(pool));
	if (begin == end) {
		return 0;
	}
	NVW_FAIL_ERRNO_IF(pmem_msync(pool->writable + begin, end - begin) != 0,
		"%s: the pool cannot be made durable", nvw_pool_path(pool));
	pool->unsynced_begin = 0;
	pool->unsynced_end = 0;
	return 0;
}

int nvw_pool_sync(struct nvw_pool *pool)
{
	int error = sync_one(pool);

	/* The first pool stands for all of its run. */
	if (pool->begin == 0) {
		for (pool = pool->next; !error && pool; pool = pool->next) {
			error = sync_one(pool);
		}
	}
	return error;
}

/* ---- The pools of a run ------------------------------------------------------------------- */

unsigned nvw_pool_count(const struct nvw_pool *first)
{
	unsigned n = 0;

	for (; first; first = first->next) {
		n++;
	}
	return n;
}

struct nvw_pool *nvw_pool_number(const struct nvw_pool *first, unsigned i)
{
	while (first && i-- > 0) {
		first = first->next;
	}
	return (struct nvw_pool *)(uintptr_t)first;
}

nvw_off nvw_pool_begin(const struct nvw_pool *pool)
{
	return pool->begin;
}

uint64_t nvw_pool_run_bytes(const struct nvw_pool *first)
{
	uint64_t bytes = 0;

	for (; first; first = first->next) {
		NVW_DEEP_INVARIANT(
			first->next == NULL || first->next->begin == first->begin + first->geometry.bytes);
		bytes += first->geometry.bytes;
	}
	return bytes;
}

const char *nvw_pool_device(const struct nvw_pool *pool)
{
	return pool->device;
}

void nvw_pool_copy_run(const struct nvw_pool *first, void *to)
{
	NVW_INVARIANT(first->begin == 0);
	for (; first; first = first->next) {
		memcpy((char *)to + first->begin, nvw_pool_base(first), first->geometry.bytes);
	}
}
