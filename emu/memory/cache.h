/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cache: lines by their tags, and the order in which they are replaced (cache.c). What a line's state means
 * is the protocol's affair. A FIFO of line numbers belongs to a cache, which knows nothing of it.
 */
#ifndef EMU_CACHE_H
#define EMU_CACHE_H

#include "../config/config.h"
#include "line.h"

#include "core/invariant.h"

/*
 * The order in which the ways of a 16-way set were used: a way's stamp is larger than those of ways used
 * before it; 0: it has no line; EMU_PINNED: its line is being evicted. The clock is the largest of the
 * others; before it would reach EMU_PINNED, they are numbered anew.
 */
struct emu_set {
	uint8_t stamp[16];
	uint8_t clock;
} __attribute__((aligned(32)));
enum { EMU_PINNED = UINT8_MAX };

struct emu_cache {
	uint32_t sets, ways;
	uint32_t clock; /* of stamps */
	uint32_t generation;
	bool registered_last; /* replacement: lines with registered bytes go last */
	char *memory;         /* of all that follows */
	uint64_t bytes;
	uint32_t *tags; /* sets * ways: each "exclusive or" EMU_NO_LINE */
	struct emu_set
		*set; /* of the usual cache: 16 ways, 2^n sets; NULL: another one, with stamps of its clock */
	uint32_t *stamps;
	uint64_t *used; /* a bit for EMU_CACHE_BLOCK lines: one of them had a tag */
	struct emu_line *lines;
};
enum { EMU_CACHE_BLOCK = 16 };

/* A ring of line ids: S-FIFO and NVW-FIFO. */
struct emu_fifo {
	uint32_t capacity; /* entries */
	uint32_t mask;     /* ring size - 1 */
	uint32_t head, tail;
	emu_line_id *ring;
};

int emu_cache_init(struct emu_cache *cache, const struct emu_cache_config *config);
/* A level's cache and, if the level has one apart for stores, that one; *ret_stores is what stores go to. */
int emu_caches_init(struct emu_cache *cache, struct emu_cache *write, const struct emu_cache_config *config,
	struct emu_cache **ret_stores);
void emu_cache_finish(struct emu_cache *cache);
/* Returns the line and makes it the most recently used, or NULL. */
struct emu_line *emu_cache_find(struct emu_cache *cache, emu_line_id id);
/* Like find, without changing the replacement order. */
struct emu_line *emu_cache_peek(const struct emu_cache *cache, emu_line_id id);
/* Its copy of the line, if there is one, has these bytes from now on, where it has any; they are clean. */
void emu_cache_update(struct emu_cache *cache, emu_line_id id, const uint8_t *data, uint64_t mask);
/* The line that id would replace: an unused one, else the least recently used of its set, preferably one
 * without registered bytes if the cache requires that (alsop16 III.C.2). */
struct emu_line *emu_cache_victim(struct emu_cache *cache, emu_line_id id);
/* The line is being evicted: it will not be chosen again before it is assigned. */
void emu_cache_pin(struct emu_cache *cache, const struct emu_line *line);
/* The tag of a line of the cache. */
emu_line_id emu_cache_tag(const struct emu_cache *cache, const struct emu_line *line);
static inline emu_line_id emu_cache_tag_at(const struct emu_cache *cache, uint32_t i)
{
	NVW_DEEP_INVARIANT(i < cache->sets * cache->ways);
	return cache->tags[i] ^ EMU_NO_LINE;
}
/* The index of the next line that has a tag, from i on; sets * ways if there is none. What a run never
 * touched costs nothing. */
uint32_t emu_cache_next(const struct emu_cache *cache, uint32_t i);
/* Each line that has a tag, by its index. */
#define EMU_EACH_LINE(i, cache)                                                        \
	for (uint32_t i = emu_cache_next(cache, 0); i < (cache)->sets * (cache)->ways; \
		i = emu_cache_next(cache, i + 1))
/* The way is the one used last. The first way with the smallest stamp; by a scan: the same. */
void emu_set_touch(struct emu_set *set, uint32_t way);
uint32_t emu_set_oldest(const struct emu_set *set);
uint32_t emu_set_scan_oldest(const struct emu_set *set);
/* The way with this tag, or UINT32_MAX; the first way with the smallest stamp. The scans go way by way. */
uint32_t emu_find_way(const uint32_t *tags, uint32_t ways, uint32_t tag);
uint32_t emu_find_oldest(const uint32_t *stamps, uint32_t ways);
uint32_t emu_scan_tags(const uint32_t *tags, uint32_t ways, uint32_t tag);
uint32_t emu_scan_oldest(const uint32_t *stamps, uint32_t ways);
/* Assigns the line, emptied, to id (EMU_NO_LINE: to none). */
void emu_cache_assign(struct emu_cache *cache, struct emu_line *line, emu_line_id id);
/* Whether the line is one of the cache's. */
static inline bool emu_cache_has(const struct emu_cache *cache, const struct emu_line *line)
{
	return line >= cache->lines && line < cache->lines + (size_t)cache->sets * cache->ways;
}
/* For the host's caches: the tags of id's set; then, when they are there, the line that id has or would
 * replace, whose tag is returned. */
void emu_cache_prefetch(const struct emu_cache *cache, emu_line_id id);
emu_line_id emu_cache_prefetch_line(const struct emu_cache *cache, emu_line_id id);

int emu_fifo_init(struct emu_fifo *fifo, uint32_t capacity);
void emu_fifo_finish(struct emu_fifo *fifo);
void emu_fifo_push(struct emu_fifo *fifo, emu_line_id id);
bool emu_fifo_pop(struct emu_fifo *fifo, emu_line_id *ret_id); /* false if empty */
static inline uint32_t emu_fifo_length(const struct emu_fifo *fifo)
{
	return fifo->tail - fifo->head;
}

#endif
