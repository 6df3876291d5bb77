/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tag arrays with true LRU, and the rings of the S-FIFOs and NVW-FIFOs.
 *
 * Tags are stored apart from the lines, so that a look-up in a 16-way set reads one cache line of the host.
 * The ways of a set are compared four at a time where their number allows it, in the vectors that every
 * compiler knows, and 16 at once where the host has SSE2. emu_scan_tags() defines the result.
 *
 * The usual cache has 16 ways and a power of two of sets. Its stamps are one byte each, of a clock of the
 * set's own, so that the oldest of them is found without a loop. Any other cache has stamps of one clock.
 * Both give the same victims.
 *
 * A tag is stored as its difference from EMU_NO_LINE. So memory full of zeros is an empty cache, and a large
 * cache costs what a run touches of it.
 */
#include <stdlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/each.h"
#include "core/invariant.h"
#include "core/zeroed.h"
#include "../machine.h"

enum { WAYS = 16, LANES = 4, ALIGNMENT = 64 }; /* WAYS: of nearly all caches */

typedef uint32_t lanes __attribute__((vector_size(4 * LANES), may_alias));

static uint64_t rounded(uint64_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static uint64_t blocks(uint64_t count)
{
	return (count + EMU_CACHE_BLOCK - 1) / EMU_CACHE_BLOCK;
}

/* Either stamps by sets of 16 ways, of which there is a power of two, or by lines. */
__attribute__((unused)) static bool cache_is_valid(const struct emu_cache *cache)
{
	return cache->sets > 0 && cache->ways > 0 && (!cache->set) != (!cache->stamps) &&
	       (!cache->set || (cache->ways == WAYS && !(cache->sets & (cache->sets - 1)))) &&
	       (uintptr_t)cache->tags % ALIGNMENT == 0 && (uintptr_t)cache->lines % ALIGNMENT == 0;
}

__attribute__((unused)) static bool is_fifo_valid(const struct emu_fifo *fifo)
{
	return !(fifo->mask & (fifo->mask + 1)) && fifo->capacity < fifo->mask &&
	       emu_fifo_length(fifo) <= fifo->mask + 1;
}

int emu_cache_init(struct emu_cache *cache, const struct emu_cache_config *config)
{
	const uint64_t count = config->size / EMU_LINE;
	const uint64_t sets = count / config->ways;
	const bool usual = config->ways == WAYS && !(sets & (sets - 1));
	const uint64_t tags = rounded(count * sizeof *cache->tags);
	const uint64_t stamps = rounded(usual ? sets * sizeof *cache->set : count * sizeof *cache->stamps);
	const uint64_t used = rounded((blocks(count) + 63) / 64 * sizeof *cache->used);

	NVW_INVARIANT(sets > 0 && count == sets * config->ways);
	cache->ways = (uint32_t)config->ways;
	cache->sets = (uint32_t)sets;
	cache->bytes = tags + stamps + used + count * sizeof *cache->lines + ALIGNMENT;
	cache->memory = nvw__zeroed(cache->bytes);
	NVW_ALLOCATED(cache->memory, "no memory for a cache of %llu lines", (unsigned long long)count);
	cache->tags = (void *)(cache->memory + -(uintptr_t)cache->memory % ALIGNMENT);
	if (usual) {
		cache->set = (void *)((char *)cache->tags + tags);
	} else {
		cache->stamps = (void *)((char *)cache->tags + tags);
	}
	cache->used = (void *)((char *)cache->tags + tags + stamps);
	cache->lines = (void *)((char *)cache->used + used);
	NVW_DEEP_INVARIANT(cache_is_valid(cache));
	return 0;
}

int emu_caches_init(struct emu_cache *cache, struct emu_cache *write, const struct emu_cache_config *config,
	struct emu_cache **ret_stores)
{
	struct emu_cache_config own = *config;

	NVW_TRY(emu_cache_init(cache, config));
	*ret_stores = cache;
	if (config->split != 1) {
		return 0;
	}
	*ret_stores = write;
	own.size = config->write_size;
	own.ways = config->write_ways;
	return emu_cache_init(write, &own);
}

void emu_cache_finish(struct emu_cache *cache)
{
	nvw__zeroed_free(cache->memory, cache->bytes);
}

/* The usual cache's. */
static inline uint32_t set_of(const struct emu_cache *cache, emu_line_id id)
{
	NVW_DEEP_INVARIANT(cache->set);
	return id & (cache->sets - 1);
}

/* The first way of the set of any other. */
static uint32_t set_start(const struct emu_cache *cache, emu_line_id id)
{
	NVW_DEEP_INVARIANT(!cache->set);
	return emu_interleave(emu_line_number(id), cache->sets) * cache->ways;
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

/* ---- Searching a set ------------------------------------------------------------------------- */

uint32_t emu_scan_tags(const uint32_t *tags, uint32_t ways, uint32_t tag)
{
	NVW_FOR(way, ways) {
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
		if (stamps[way] < stamps[oldest]) {
			oldest = way;
		}
	}
	return oldest;
}

/* At most one way has the tag, so the numbers of the ways that have it, counted from 1, can be added up with
 * "or". */
static uint32_t find_by_fours(const uint32_t *tags, uint32_t ways, uint32_t tag)
{
	const lanes *const vector = (const void *)tags;
	const lanes wanted = {tag, tag, tag, tag};
	lanes number = {1, 2, 3, 4}, found = {0};

	NVW_FOR(i, ways / LANES) {
		found |= (lanes)(vector[i] == wanted) & number;
		number += LANES;
	}
	return (found[0] | found[1] | found[2] | found[3]) - 1;
}

#ifdef __SSE2__
static inline uint32_t find_of_16(const uint32_t *tags, uint32_t tag)
{
	const __m128i *const of = (const __m128i *)(const void *)tags, wanted = _mm_set1_epi32((int)tag);
	const __m128i low = _mm_packs_epi32(_mm_cmpeq_epi32(_mm_load_si128(of), wanted),
			      _mm_cmpeq_epi32(_mm_load_si128(of + 1), wanted)),
		      high = _mm_packs_epi32(_mm_cmpeq_epi32(_mm_load_si128(of + 2), wanted),
			      _mm_cmpeq_epi32(_mm_load_si128(of + 3), wanted));
	const uint32_t found = (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high));

	return found ? (uint32_t)__builtin_ctz(found) : UINT32_MAX;
}
#else
static inline uint32_t find_of_16(const uint32_t *tags, uint32_t tag)
{
	return find_by_fours(tags, WAYS, tag);
}
#endif

uint32_t emu_find_way(const uint32_t *tags, uint32_t ways, uint32_t tag)
{
	if (ways == WAYS) {
		return find_of_16(tags, tag);
	}
	if (ways % LANES) {
		return emu_scan_tags(tags, ways, tag);
	}
	return find_by_fours(tags, ways, tag);
}

/* Each lane keeps the first of its smallest stamps, and its way. */
static inline void keep_less(lanes *least, lanes *oldest, const lanes stamps, const lanes ways)
{
	const lanes less = (lanes)(stamps < *least);

	*least = (stamps & less) | (*least & ~less);
	*oldest = (ways & less) | (*oldest & ~less);
}

/* The first way of the four lanes: a smaller stamp goes first, then a smaller way. */
static inline uint32_t first_of(const lanes least, const lanes oldest)
{
	uint64_t first = UINT64_MAX;

	NVW_FOR(k, LANES) {
		const uint64_t candidate = (uint64_t)least[k] << 32 | oldest[k];

		if (candidate < first) {
			first = candidate;
		}
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
	for (uint32_t i = 1; i < ways / LANES; i++) {
		number += LANES;
		keep_less(&least, &oldest, vector[i], number);
	}
	return first_of(least, oldest);
}

/* ---- Stamps of 16 ways ----------------------------------------------------------------------- */

uint32_t emu_set_scan_oldest(const struct emu_set *set)
{
	uint32_t oldest = 0;

	for (uint32_t way = 1; way < WAYS; way++) {
		if (set->stamp[way] < set->stamp[oldest]) {
			oldest = way;
		}
	}
	return oldest;
}

#ifdef __SSE2__
static inline uint32_t oldest_of_16(const struct emu_set *set)
{
	const __m128i stamps = _mm_load_si128((const __m128i *)(const void *)set->stamp);
	__m128i least = _mm_min_epu8(stamps, _mm_srli_si128(stamps, 8));

	least = _mm_min_epu8(least, _mm_srli_si128(least, 4));
	least = _mm_min_epu8(least, _mm_srli_si128(least, 2));
	least = _mm_min_epu8(least, _mm_srli_si128(least, 1));
	least = _mm_set1_epi8((char)_mm_cvtsi128_si32(least));
	return (uint32_t)__builtin_ctz((unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(stamps, least)));
}
#else
static inline uint32_t oldest_of_16(const struct emu_set *set)
{
	return emu_set_scan_oldest(set);
}
#endif

uint32_t emu_set_oldest(const struct emu_set *set)
{
	return oldest_of_16(set);
}

/* Numbers the stamps anew from 1 on, in the same order. */
static __attribute__((noinline)) void number_anew(struct emu_set *set)
{
	const struct emu_set old = *set;

	set->clock = 0;
	NVW_FOR(way, WAYS) {
		const uint8_t stamp = old.stamp[way];

		if (stamp && stamp != EMU_PINNED) {
			set->stamp[way] = 1;
			NVW_FOR(other, WAYS) {
				set->stamp[way] += old.stamp[other] && old.stamp[other] < stamp;
			}
			set->clock++;
		}
	}
}

void emu_set_touch(struct emu_set *set, uint32_t way)
{
	NVW_DEEP_INVARIANT(way < WAYS);
	if (set->clock == EMU_PINNED - 1) {
		number_anew(set);
	}
	NVW_DEEP_INVARIANT(set->clock < EMU_PINNED - 1);
	set->stamp[way] = ++set->clock;
}

static inline void touch(struct emu_set *set, uint32_t way)
{
	NVW_DEEP_INVARIANT(way < WAYS);
	if (__builtin_expect(set->clock < EMU_PINNED - 1, 1)) {
		set->stamp[way] = ++set->clock;
	} else {
		emu_set_touch(set, way);
	}
}

/* ---- Any other cache ------------------------------------------------------------------------- */

static __attribute__((noinline)) struct emu_line *peek_unusual(const struct emu_cache *cache, emu_line_id id)
{
	const uint32_t start = set_start(cache, id);
	const uint32_t way = emu_find_way(cache->tags + start, cache->ways, id ^ EMU_NO_LINE);

	if (way == UINT32_MAX) {
		return NULL;
	}
	return &cache->lines[start + way];
}

static __attribute__((noinline)) struct emu_line *find_unusual(struct emu_cache *cache, emu_line_id id)
{
	struct emu_line *const line = peek_unusual(cache, id);

	if (line) {
		cache->stamps[line - cache->lines] = next_stamp(cache);
	}
	return line;
}

static __attribute__((noinline)) void stamp_unusual(struct emu_cache *cache, uint32_t i)
{
	cache->stamps[i] = next_stamp(cache);
}

/* ---- Look-ups -------------------------------------------------------------------------------- */

extern inline struct emu_line *emu_cache_find(struct emu_cache *cache, emu_line_id id)
{
	struct emu_set *set;
	uint32_t start, way;

	if (__builtin_expect(!cache->set, 0)) {
		return find_unusual(cache, id);
	}
	set = &cache->set[set_of(cache, id)];
	start = set_of(cache, id) * WAYS;
	way = find_of_16(cache->tags + start, id ^ EMU_NO_LINE);
	if (way == UINT32_MAX) {
		return NULL;
	}
	if (set->stamp[way] != set->clock) {
		touch(set, way);
	}
	return &cache->lines[start + way];
}

extern inline struct emu_line *emu_cache_peek(const struct emu_cache *cache, emu_line_id id)
{
	uint32_t start, way;

	if (__builtin_expect(!cache->set, 0)) {
		return peek_unusual(cache, id);
	}
	start = set_of(cache, id) * WAYS;
	way = find_of_16(cache->tags + start, id ^ EMU_NO_LINE);
	if (way == UINT32_MAX) {
		return NULL;
	}
	return &cache->lines[start + way];
}

void emu_cache_update(struct emu_cache *cache, emu_line_id id, const uint8_t *data, uint64_t mask)
{
	struct emu_line *const line = emu_cache_peek(cache, id);

	if (line) {
		emu_copy_masked(line->data, data, mask & line->valid);
		line->dirty &= ~mask;
	}
}

/* ---- Replacement ----------------------------------------------------------------------------- */

static uint32_t stamp_of(const struct emu_cache *cache, uint32_t i)
{
	NVW_DEEP_INVARIANT(i < cache->sets * cache->ways);
	if (cache->set) {
		return cache->set[i / WAYS].stamp[i % WAYS];
	}
	return cache->stamps[i];
}

static bool is_kept(const struct emu_cache *cache, uint32_t i)
{
	NVW_DEEP_INVARIANT(i < cache->sets * cache->ways);
	return stamp_of(cache, i) == (cache->set ? EMU_PINNED : UINT32_MAX) ||
	       (cache->tags[i] && cache->lines[i].registered);
}

/* Lines with registered bytes go last, but before a line that is being evicted. Nearly always the oldest has
 * none, and goes. */
static __attribute__((noinline)) struct emu_line *victim_registered_last(
	const struct emu_cache *cache, uint32_t start)
{
	const uint32_t oldest = start + (cache->set ? oldest_of_16(&cache->set[start / WAYS]) :
						      emu_find_oldest(cache->stamps + start, cache->ways));
	uint32_t best = start;

	if (!is_kept(cache, oldest)) {
		return &cache->lines[oldest];
	}
	for (uint32_t i = start + 1; i < start + cache->ways; i++) {
		const bool kept = is_kept(cache, i), best_kept = is_kept(cache, best);

		if (kept == best_kept ? stamp_of(cache, i) < stamp_of(cache, best) : best_kept) {
			best = i;
		}
	}
	return &cache->lines[best];
}

/* Unused lines have stamp 0, so they go first; those that are being evicted have the largest. */
static __attribute__((noinline)) struct emu_line *victim_unusual(
	const struct emu_cache *cache, emu_line_id id)
{
	const uint32_t start = set_start(cache, id);

	if (cache->registered_last) {
		return victim_registered_last(cache, start);
	}
	return &cache->lines[start + emu_find_oldest(cache->stamps + start, cache->ways)];
}

extern inline struct emu_line *emu_cache_victim(struct emu_cache *cache, emu_line_id id)
{
	uint32_t start;

	if (__builtin_expect(!cache->set, 0)) {
		return victim_unusual(cache, id);
	}
	start = set_of(cache, id) * WAYS;
	if (cache->registered_last) {
		return victim_registered_last(cache, start);
	}
	return &cache->lines[start + oldest_of_16(&cache->set[set_of(cache, id)])];
}

void emu_cache_pin(struct emu_cache *cache, const struct emu_line *line)
{
	const uint32_t i = (uint32_t)(line - cache->lines);

	NVW_DEEP_INVARIANT(emu_cache_has(cache, line) && cache->tags[i]);
	if (cache->set) {
		cache->set[i / WAYS].stamp[i % WAYS] = EMU_PINNED;
	} else {
		cache->stamps[i] = UINT32_MAX;
	}
}

emu_line_id emu_cache_tag(const struct emu_cache *cache, const struct emu_line *line)
{
	NVW_DEEP_INVARIANT(emu_cache_has(cache, line));
	return emu_cache_tag_at(cache, (uint32_t)(line - cache->lines));
}

extern inline uint32_t emu_cache_next(const struct emu_cache *cache, uint32_t i)
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

static inline void clear(const struct emu_cache *cache, struct emu_line *line)
{
	line->valid = line->dirty = line->registered = 0;
	line->generation = cache->generation;
	line->state = 0;
	line->in_sfifo = false;
	line->stores = line->stores_tail = line->tag = 0;
	memset(line->sharers, 0, sizeof line->sharers);
}

/* A line without a tag is clear, since it was dropped or from the beginning. */
__attribute__((unused)) static inline bool is_clear(const struct emu_line *line)
{
	uint64_t sharers = 0;

	NVW_FOR(word, EMU_CUS_MAX / 64) {
		sharers |= line->sharers[word];
	}
	return !(line->valid | line->dirty | line->registered | sharers) && !line->state && !line->in_sfifo &&
	       !line->stores && !line->stores_tail && !line->tag;
}

/* A block of a usual cache is a set, whose clock tells whether this has been noted. */
static inline void note_use(struct emu_cache *cache, uint32_t i)
{
	_Static_assert((int)EMU_CACHE_BLOCK == (int)WAYS, "a block is a set");
	cache->used[i / EMU_CACHE_BLOCK / 64] |= UINT64_C(1) << i / EMU_CACHE_BLOCK % 64;
}

static inline void drop(struct emu_cache *cache, uint32_t i)
{
	NVW_DEEP_INVARIANT(i < cache->sets * cache->ways);
	cache->tags[i] = 0;
	if (__builtin_expect(cache->set != NULL, 1)) {
		cache->set[i / WAYS].stamp[i % WAYS] = 0;
	} else {
		cache->stamps[i] = 0;
	}
}

extern inline void emu_cache_assign(struct emu_cache *cache, struct emu_line *line, emu_line_id id)
{
	const uint32_t i = (uint32_t)(line - cache->lines);

	NVW_DEEP_INVARIANT(cache_is_valid(cache));
	NVW_DEEP_INVARIANT(emu_cache_has(cache, line));
	if (id == EMU_NO_LINE) {
		clear(cache, line);
		drop(cache, i);
		return;
	}
	if (cache->tags[i]) {
		clear(cache, line);
	} else {
		NVW_DEEP_INVARIANT(is_clear(line));
		line->generation = cache->generation;
	}
	cache->tags[i] = id ^ EMU_NO_LINE;
	if (__builtin_expect(cache->set != NULL, 1)) {
		if (cache->set[i / WAYS].clock == 0) {
			note_use(cache, i);
		}
		touch(&cache->set[i / WAYS], i % WAYS);
	} else {
		note_use(cache, i);
		stamp_unusual(cache, i);
	}
}

extern inline void emu_cache_prefetch(const struct emu_cache *cache, emu_line_id id)
{
	if (cache->set) {
		emu_prefetch(cache->tags + set_of(cache, id) * WAYS);
		emu_prefetch(cache->set + set_of(cache, id));
	} else {
		emu_prefetch(cache->tags + set_start(cache, id));
		emu_prefetch(cache->stamps + set_start(cache, id));
	}
}

extern inline emu_line_id emu_cache_prefetch_line(const struct emu_cache *cache, emu_line_id id)
{
	uint32_t start, way;

	if (!cache->set) {
		return EMU_NO_LINE;
	}
	start = set_of(cache, id) * WAYS;
	way = find_of_16(cache->tags + start, id ^ EMU_NO_LINE);
	if (way == UINT32_MAX) {
		way = oldest_of_16(&cache->set[set_of(cache, id)]);
	}
	emu_prefetch(&cache->lines[start + way]);
	emu_prefetch(cache->lines[start + way].data);
	return emu_cache_tag_at(cache, start + way);
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
	NVW_ALLOCATED(fifo->ring, "no memory for a FIFO of %u lines", capacity);
	return 0;
}

void emu_fifo_finish(struct emu_fifo *fifo)
{
	free(fifo->ring);
}

extern inline void emu_fifo_push(struct emu_fifo *fifo, emu_line_id id)
{
	NVW_DEEP_INVARIANT(
		emu_fifo_length(fifo) <= fifo->mask); /* entries beyond the capacity are drained at once */
	NVW_DEEP_INVARIANT(is_fifo_valid(fifo));
	fifo->ring[fifo->tail++ & fifo->mask] = id;
}

extern inline bool emu_fifo_pop(struct emu_fifo *fifo, emu_line_id *ret_id)
{
	NVW_DEEP_INVARIANT(is_fifo_valid(fifo));
	if (fifo->head == fifo->tail) {
		return false;
	}
	*ret_id = fifo->ring[fifo->head++ & fifo->mask];
	return true;
}
