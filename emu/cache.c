/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tag arrays with true LRU, and the rings of the S-FIFOs and NVW-FIFOs.
 *
 * Tags and stamps are stored apart from the lines, so that a look-up in a 16-way set reads one cache line of
 * the host.
 */
#include <stdlib.h>

#include "core/invariant.h"
#include "machine.h"

int emu_cache_init(struct emu_cache *cache, const struct emu_cache_config *config)
{
	const uint64_t count = config->size / EMU_LINE;

	cache->ways = (uint32_t)config->ways;
	cache->sets = (uint32_t)(count / config->ways);
	cache->tags = aligned_alloc(64, (count * sizeof *cache->tags + 63) / 64 * 64);
	cache->stamps = calloc(count, sizeof *cache->stamps);
	cache->lines = aligned_alloc(64, count * sizeof *cache->lines);
	if (!cache->tags || !cache->stamps || !cache->lines) {
		return nvw_fail(
			NVW_E_MEMORY, "no memory for a cache of %llu lines", (unsigned long long)count);
	}
	memset(cache->lines, 0, count * sizeof *cache->lines);
	for (uint64_t i = 0; i < count; i++) {
		cache->tags[i] = EMU_NO_LINE;
	}
	return 0;
}

void emu_cache_finish(struct emu_cache *cache)
{
	free(cache->tags);
	free(cache->stamps);
	free(cache->lines);
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

static uint32_t find_way(const struct emu_cache *cache, uint32_t start, emu_line_id id)
{
	const emu_line_id *const tags = cache->tags + start;

	for (uint32_t way = 0; way < cache->ways; way++) {
		if (tags[way] == id) {
			return way;
		}
	}
	return UINT32_MAX;
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
	return cache->stamps[i] == UINT32_MAX ||
	       (cache->registered_last && cache->stamps[i] && cache->lines[i].registered);
}

/* Unused lines have stamp 0, so they go first. */
struct emu_line *emu_cache_victim(struct emu_cache *cache, emu_line_id id)
{
	const uint32_t start = set_start(cache, id);
	uint32_t best = start;

	for (uint32_t i = start + 1; i < start + cache->ways; i++) {
		const bool kept = is_kept(cache, i), best_kept = is_kept(cache, best);

		if (kept == best_kept ? cache->stamps[i] < cache->stamps[best] : best_kept) {
			best = i;
		}
	}
	return &cache->lines[best];
}

void emu_cache_pin(struct emu_cache *cache, const struct emu_line *line)
{
	cache->stamps[line - cache->lines] = UINT32_MAX;
}

emu_line_id emu_cache_tag(const struct emu_cache *cache, const struct emu_line *line)
{
	return cache->tags[line - cache->lines];
}

void emu_cache_assign(struct emu_cache *cache, struct emu_line *line, emu_line_id id)
{
	const size_t i = (size_t)(line - cache->lines);

	cache->tags[i] = id;
	cache->stamps[i] = id == EMU_NO_LINE ? 0 : next_stamp(cache);
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
