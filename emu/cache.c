/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tag arrays with true LRU, and the rings of the S-FIFOs and NVW-FIFOs.
 *
 * Tags and stamps are stored apart from the lines, so that a look-up in a 16-way set reads one cache line of the host.
 * The ways of a set are compared four at a time where their number allows it, in the vectors that every compiler knows:
 * the host's instructions for them, or plain ones. emu_scan_tags and emu_scan_oldest define the results.
 *
 * A tag is stored as its difference from EMU_NO_LINE. So memory full of zeros is an empty cache, and a large cache costs
 * what a run touches of it.
 */
#include <stdlib.h>

#include "core/invariant.h"
#include "core/zeroed.h"
#include "machine.h"

enum { LANES = 4, ALIGNMENT = 64 };

typedef uint32_t lanes __attribute__((vector_size(4 * LANES), may_alias));

static uint64_t rounded(uint64_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static uint64_t blocks(uint64_t count)
{
	return (count + EMU_CACHE_BLOCK - 1) / EMU_CACHE_BLOCK;
}

int emu_cache_init(struct emu_cache *cache, const struct emu_cache_config *config)
{
	const uint64_t count = config->size / EMU_LINE;
	const uint64_t tags = rounded(count * sizeof *cache->tags),
		       stamps = rounded(count * sizeof *cache->stamps);
	const uint64_t used = rounded((blocks(count) + 63) / 64 * sizeof *cache->used);

	cache->ways = (uint32_t)config->ways;
	cache->sets = (uint32_t)(count / config->ways);
	cache->bytes = tags + stamps + used + count * sizeof *cache->lines + ALIGNMENT;
	cache->memory = nvw__zeroed(cache->bytes);
	if (!cache->memory) {
		return nvw_fail(
			NVW_E_MEMORY, "no memory for a cache of %llu lines", (unsigned long long)count);
	}
	cache->tags = (void *)(cache->memory + -(uintptr_t)cache->memory % ALIGNMENT);
	cache->stamps = (void *)((char *)cache->tags + tags);
	cache->used = (void *)((char *)cache->stamps + stamps);
	cache->lines = (void *)((char *)cache->used + used);
	return 0;
}

void emu_cache_finish(struct emu_cache *cache)
{
	nvw__zeroed_free(cache->memory, cache->bytes);
}

static uint32_t set_start(const struct emu_cache *cache, emu_line_id id)
{
	return (cache->sets & (cache->sets - 1) ? emu_line_number(id) % cache->sets :
						  id & (cache->sets - 1)) *
	       cache->ways;
}

/* The stamps restart before they wrap round: for a moment all lines are equally old. */
static uint32_t next_stamp(struct emu_cache *cache)
{
	if (++cache->clock == 0) {
		memset(cache->stamps, 0, (size_t)cache->sets * cache->ways * sizeof *cache->stamps);
		cache->clock = 1;
	}
	return cache->clock;
}

/* ---- Searching a set ----------------------------------------------------------------------------- */

uint32_t emu_scan_tags(const uint32_t *tags, uint32_t ways, uint32_t tag)
{
	for (uint32_t way = 0; way < ways; way++) {
		if (tags[way] == tag) {
			return way;
		}
	}
	return UINT32_MAX;
}

uint32_t emu_scan_oldest(const uint32_t *stamps, uint32_t ways)
{
	uint32_t oldest = 0;

	for (uint32_t way = 1; way < ways; way++) {
		oldest = stamps[way] < stamps[oldest] ? way : oldest;
	}
	return oldest;
}

/* At most one way has the tag, so the numbers of the ways that have it, counted from 1, can be added up with "or". */
static inline uint32_t way_of(const lanes found)
{
	return (found[0] | found[1] | found[2] | found[3]) - 1;
}

static inline uint32_t find_of_16(const lanes *tags, uint32_t tag)
{
	const lanes wanted = {tag, tag, tag, tag};

	return way_of(((lanes)(tags[0] == wanted) & (lanes){1, 2, 3, 4}) |
		      ((lanes)(tags[1] == wanted) & (lanes){5, 6, 7, 8}) |
		      ((lanes)(tags[2] == wanted) & (lanes){9, 10, 11, 12}) |
		      ((lanes)(tags[3] == wanted) & (lanes){13, 14, 15, 16}));
}

uint32_t emu_find_way(const uint32_t *tags, uint32_t ways, uint32_t tag)
{
	const lanes *const vector = (const void *)tags;
	const lanes wanted = {tag, tag, tag, tag};
	lanes number = {1, 2, 3, 4}, found = {0};

	if (ways == 16) {
		return find_of_16(vector, tag);
	}
	if (ways % LANES) {
		return emu_scan_tags(tags, ways, tag);
	}
	for (uint32_t i = 0; i < ways / LANES; i++) {
		found |= (lanes)(vector[i] == wanted) & number;
		number += LANES;
	}
	return way_of(found);
}

/* Each lane keeps the first of its smallest stamps, and its way. */
static inline void keep_less(lanes *least, lanes *oldest, const lanes stamps, const lanes ways)
{
	const lanes less = (lanes)(stamps < *least);

	*least = (stamps & less) | (*least & ~less);
	*oldest = (ways & less) | (*oldest & ~less);
}

/* Of the four lanes, a smaller stamp goes first, then a smaller way. */
static inline uint32_t first_of(const lanes least, const lanes oldest)
{
	uint64_t first = UINT64_MAX;

	for (unsigned k = 0; k < LANES; k++) {
		const uint64_t candidate = (uint64_t)least[k] << 32 | oldest[k];

		first = candidate < first ? candidate : first;
	}
	return (uint32_t)first;
}

uint32_t emu_find_oldest(const uint32_t *stamps, uint32_t ways)
{
	const lanes *const vector = (const void *)stamps;
	lanes number = {0, 1, 2, 3}, oldest = number, least = {0};

	if (ways % LANES) {
		return emu_scan_oldest(stamps, ways);
	}
	least = vector[0];
	if (ways == 16) {
		keep_less(&least, &oldest, vector[1], (lanes){4, 5, 6, 7});
		keep_less(&least, &oldest, vector[2], (lanes){8, 9, 10, 11});
		keep_less(&least, &oldest, vector[3], (lanes){12, 13, 14, 15});
		return first_of(least, oldest);
	}
	for (uint32_t i = 1; i < ways / LANES; i++) {
		number += LANES;
		keep_less(&least, &oldest, vector[i], number);
	}
	return first_of(least, oldest);
}

static uint32_t find_way(const struct emu_cache *cache, uint32_t start, emu_line_id id)
{
	return emu_find_way(cache->tags + start, cache->ways, id ^ EMU_NO_LINE);
}

struct emu_line *emu_cache_find(struct emu_cache *cache, emu_line_id id)
{
	const uint32_t start = set_start(cache, id), way = find_way(cache, start, id);

	if (way == UINT32_MAX) {
		return NULL;
	}
	cache->stamps[start + way] = next_stamp(cache);
	return &cache->lines[start + way];
}

struct emu_line *emu_cache_peek(const struct emu_cache *cache, emu_line_id id)
{
	const uint32_t start = set_start(cache, id), way = find_way(cache, start, id);

	return way == UINT32_MAX ? NULL : &cache->lines[start + way];
}

static bool is_kept(const struct emu_cache *cache, uint32_t i)
{
	return cache->stamps[i] == UINT32_MAX || (cache->stamps[i] && cache->lines[i].registered);
}

/* Lines with registered bytes go last, but before a line that is being evicted. */
static uint32_t victim_registered_last(const struct emu_cache *cache, uint32_t start)
{
	uint32_t best = start;

	for (uint32_t i = start + 1; i < start + cache->ways; i++) {
		const bool kept = is_kept(cache, i), best_kept = is_kept(cache, best);

		if (kept == best_kept ? cache->stamps[i] < cache->stamps[best] : best_kept) {
			best = i;
		}
	}
	return best;
}

/* Unused lines have stamp 0, so they go first; those that are being evicted have the largest. */
struct emu_line *emu_cache_victim(struct emu_cache *cache, emu_line_id id)
{
	const uint32_t start = set_start(cache, id);
	const uint32_t oldest = start + emu_find_oldest(cache->stamps + start, cache->ways);

	if (cache->registered_last && is_kept(cache, oldest)) {
		return &cache->lines[victim_registered_last(cache, start)];
	}
	return &cache->lines[oldest];
}

void emu_cache_pin(struct emu_cache *cache, const struct emu_line *line)
{
	cache->stamps[line - cache->lines] = UINT32_MAX;
}

emu_line_id emu_cache_tag(const struct emu_cache *cache, const struct emu_line *line)
{
	return emu_cache_tag_at(cache, (uint32_t)(line - cache->lines));
}

uint32_t emu_cache_next(const struct emu_cache *cache, uint32_t i)
{
	const uint32_t end = cache->sets * cache->ways;

	while (i < end) {
		const uint32_t block = i / EMU_CACHE_BLOCK;
		const uint64_t rest = cache->used[block / 64] >> block % 64;

		if (!rest) {
			i = (block / 64 + 1) * 64 * EMU_CACHE_BLOCK;
		} else if (!(rest & 1)) {
			i = (block + (uint32_t)__builtin_ctzll(rest)) * EMU_CACHE_BLOCK;
		} else if (cache->tags[i]) {
			return i;
		} else {
			i++;
		}
	}
	return end;
}

void emu_cache_assign(struct emu_cache *cache, struct emu_line *line, emu_line_id id)
{
	const size_t i = (size_t)(line - cache->lines);

	cache->tags[i] = id ^ EMU_NO_LINE;
	cache->stamps[i] = id == EMU_NO_LINE ? 0 : next_stamp(cache);
	cache->used[i / EMU_CACHE_BLOCK / 64] |= UINT64_C(1) << i / EMU_CACHE_BLOCK % 64;
	line->valid = line->dirty = line->registered = 0;
	line->generation = cache->generation;
	line->state = 0;
	line->in_sfifo = false;
	line->stores = line->stores_tail = line->tag = 0;
	memset(line->sharers, 0, sizeof line->sharers);
}

void emu_cache_prefetch(const struct emu_cache *cache, emu_line_id id)
{
	const uint32_t start = set_start(cache, id);

	__builtin_prefetch(cache->tags + start);
	__builtin_prefetch(cache->stamps + start);
}

int emu_fifo_init(struct emu_fifo *fifo, uint32_t capacity)
{
	uint32_t size = 4;

	while (size < capacity + 2) {
		size *= 2;
	}
	fifo->capacity = capacity;
	fifo->mask = size - 1;
	fifo->ring = malloc(size * sizeof *fifo->ring);
	return fifo->ring ? 0 : nvw_fail(NVW_E_MEMORY, "no memory for a FIFO of %u lines", capacity);
}

void emu_fifo_finish(struct emu_fifo *fifo)
{
	free(fifo->ring);
}

void emu_fifo_push(struct emu_fifo *fifo, emu_line_id id)
{
	NVW_DEEP_INVARIANT(
		emu_fifo_length(fifo) <= fifo->mask); /* entries beyond the capacity are drained at once */
	fifo->ring[fifo->tail++ & fifo->mask] = id;
}

bool emu_fifo_pop(struct emu_fifo *fifo, emu_line_id *ret_id)
{
	if (fifo->head == fifo->tail) {
		return false;
	}
	*ret_id = fifo->ring[fifo->head++ & fifo->mask];
	return true;
}
