/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool's header: two pages with the same bytes, written once, at creation.
 *
 *	(1) Every byte of both pages is accounted for: 256 by a checksum, the others must be 0. A page with
 *	    any changed byte is not intact.
 *	(2) One intact page is enough to open the pool; recovery rewrites the other from it.
 *	(3) All offsets follow from size, streams and log entries, and are compared with the results, so a
 *	    header cannot send a reader outside the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include <xxhash.h>

#include "core/invariant.h"

#include "header.h"
#include "internal.h"

static uint64_t round_up(uint64_t n, uint64_t to)
{
	NVW_INVARIANT(to > 0 && (to & (to - 1)) == 0);
	return (n + to - 1) / to * to;
}

/* Offsets up to the chunk table, whose length depends on the number of chunks. */
static nvw_off place_tables(uint32_t streams, uint32_t log_entries, struct nvw_pool_geometry *g)
{
	g->roots = NVW__ROOTS_OFF;
	g->est = g->roots + round_up(8 * NVW_POOL_ROOTS, NVW__LINE_BYTES);
	g->log = round_up(g->est + 8 * (uint64_t)streams, NVW__LINE_BYTES);
	g->chunk_table =
		round_up(g->log + (uint64_t)NVW__ENTRY_BYTES * streams * log_entries, NVW__LINE_BYTES);
	NVW_DEEP_INVARIANT(g->roots < g->est && g->est <= g->log && g->log <= g->chunk_table);
	return g->chunk_table;
}

static uint64_t chunks_off(nvw_off chunk_table, uint64_t chunk_count)
{
	return round_up(chunk_table + 8 * chunk_count, NVW__PAGE_BYTES);
}

uint64_t nvw__pool_bytes(uint32_t streams, uint32_t log_entries, uint64_t chunk_count)
{
	struct nvw_pool_geometry g;

	return chunks_off(place_tables(streams, log_entries, &g), chunk_count) +
	       chunk_count * NVW_POOL_CHUNK_BYTES;
}

static int check_limits(uint64_t bytes, uint32_t streams, uint32_t log_entries)
{
	NVW_FAIL_IF(streams == 0 || streams > NVW__STREAMS_MAX, NVW_E_USAGE,
		"a pool has 1 to %" PRIu32 " epoch streams, not %" PRIu32, NVW__STREAMS_MAX, streams);
	NVW_FAIL_IF(log_entries == 0 || log_entries > NVW__LOG_ENTRIES_MAX, NVW_E_USAGE,
		"a pool has 1 to %" PRIu32 " undo log entries a stream, not %" PRIu32, NVW__LOG_ENTRIES_MAX,
		log_entries);
	NVW_FAIL_IF(bytes % NVW__PAGE_BYTES != 0 || bytes > NVW__POOL_BYTES_MAX, NVW_E_USAGE,
		"a pool's size is a multiple of %d bytes up to %" PRIu64 ", not %" PRIu64, NVW__PAGE_BYTES,
		NVW__POOL_BYTES_MAX, bytes);
	NVW_FAIL_IF(bytes < nvw__pool_bytes(streams, log_entries, 1), NVW_E_USAGE,
		"a pool with %" PRIu32 " streams of %" PRIu32 " undo log entries needs at least %" PRIu64
		" bytes, not %" PRIu64,
		streams, log_entries, nvw__pool_bytes(streams, log_entries, 1), bytes);
	return 0;
}

int nvw__geometry(
	uint64_t bytes, uint32_t streams, uint32_t log_entries, struct nvw_pool_geometry *ret_geometry)
{
	struct nvw_pool_geometry g = {.bytes = bytes, .streams = streams, .log_entries = log_entries};
	uint64_t count;

	NVW_TRY(check_limits(bytes, streams, log_entries));
	place_tables(streams, log_entries, &g);
	/* Each chunk costs its bytes and one word of the table; the table is padded, so estimate and step
	 * back. */
	count = (bytes - g.chunk_table) / (NVW_POOL_CHUNK_BYTES + 8) + 1;
	while (chunks_off(g.chunk_table, count) + count * NVW_POOL_CHUNK_BYTES > bytes) {
		count--;
	}
	g.chunk_count = (uint32_t)count;
	g.chunks = chunks_off(g.chunk_table, count);
	NVW_INVARIANT(count > 0 && g.chunks + count * NVW_POOL_CHUNK_BYTES <= bytes);
	*ret_geometry = g;
	return 0;
}

static uint64_t header_checksum(const struct nvw__header *h)
{
	return XXH64(h, offsetof(struct nvw__header, checksum), 0);
}

int nvw__header_make(const struct nvw_pool *pool, struct nvw__header *ret_header)
{
	const struct nvw_pool_geometry *const g = &pool->geometry;
	struct nvw__header h = {
		.version = NVW__VERSION,
		.header_bytes = sizeof h,
		.bytes = g->bytes,
		.roots = g->roots,
		.est = g->est,
		.log = g->log,
		.chunk_table = g->chunk_table,
		.chunks = g->chunks,
		.streams = g->streams,
		.log_entries = g->log_entries,
		.chunk_count = g->chunk_count,
		.chunk_bytes = NVW_POOL_CHUNK_BYTES,
		.number = pool->member.number,
		.count = pool->member.count,
	};

	memcpy(h.magic, NVW__MAGIC, sizeof h.magic);
	memcpy(h.layout, g->layout, sizeof h.layout);
	memcpy(h.device, pool->device, sizeof h.device);
	memcpy(h.run, pool->member.run, sizeof h.run);
	NVW_FAIL_ERRNO_IF(
		getrandom(h.uuid, sizeof h.uuid, 0) != sizeof h.uuid, "no random number for the pool's uuid");
	h.checksum = header_checksum(&h);
	*ret_header = h;
	return 0;
}

static bool is_zero(const char *p, size_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

static bool magic_matches(const struct nvw__header *h)
{
	return memcmp(h->magic, NVW__MAGIC, sizeof h->magic) == 0;
}

/* Guarantee (1). A page with another version is not intact here; see diagnose(). */
static bool page_is_whole(const char *page)
{
	const struct nvw__header *h = (const void *)page;

	return magic_matches(h) && h->version == NVW__VERSION && h->checksum == header_checksum(h) &&
	       is_zero(page + sizeof *h, NVW__PAGE_BYTES - sizeof *h);
}

/* Guarantee (3). */
static int check_geometry(const char *path, const struct nvw__header *h, uint64_t file_bytes, bool is_image,
	struct nvw_pool_geometry *ret_geometry)
{
	struct nvw_pool_geometry g;

	NVW_FAIL_IF(nvw__geometry(h->bytes, h->streams, h->log_entries, &g) != 0, NVW_E_DAMAGED,
		"%s: the header's sizes are impossible: %s", path, nvw_error_message());
	NVW_FAIL_IF(h->header_bytes != sizeof *h || h->roots != g.roots || h->est != g.est ||
			    h->log != g.log || h->chunk_table != g.chunk_table || h->chunks != g.chunks ||
			    h->chunk_count != g.chunk_count || h->chunk_bytes != NVW_POOL_CHUNK_BYTES,
		NVW_E_DAMAGED, "%s: offset 0x%zx: the header's offsets do not follow from its sizes", path,
		offsetof(struct nvw__header, roots));
	NVW_FAIL_IF(!memchr(h->layout, 0, sizeof h->layout), NVW_E_DAMAGED,
		"%s: offset 0x%zx: the layout's name is not terminated", path,
		offsetof(struct nvw__header, layout));
	const bool more_follow = is_image && h->count > h->number + 1;

	NVW_FAIL_IF(file_bytes < h->bytes || (file_bytes > h->bytes && !more_follow), NVW_E_DAMAGED,
		"%s: the file has %" PRIu64 " bytes, expected %" PRIu64 " as its header says", path,
		file_bytes, h->bytes);
	memcpy(g.layout, h->layout, sizeof g.layout);
	*ret_geometry = g;
	return 0;
}

/* A single pool, or one of several; and the name of a device. */
static int check_member(const char *path, const struct nvw__header *h)
{
	const bool single = h->count == 0 && h->number == 0;

	NVW_FAIL_IF(!single && (h->count < 2 || h->count > NVW_POOLS_MAX || h->number >= h->count),
		NVW_E_DAMAGED,
		"%s: offset 0x%zx: found pool %" PRIu32 " of %" PRIu32 ", expected one of 2 to %d", path,
		offsetof(struct nvw__header, number), h->number, h->count, NVW_POOLS_MAX);
	NVW_FAIL_IF(!memchr(h->device, 0, sizeof h->device), NVW_E_DAMAGED,
		"%s: offset 0x%zx: the device's name is not terminated", path,
		offsetof(struct nvw__header, device));
	return 0;
}

/* Reports the reason why neither page is intact, the most likely one first. */
static int diagnose(const char *path, const struct nvw__header *h, const struct nvw__header *copy)
{
	NVW_FAIL_IF(!magic_matches(h) && !magic_matches(copy), NVW_E_NOT_A_POOL,
		"%s: offset 0x0: found no pool header, expected it to begin with \"nvwpool\"", path);
	NVW_FAIL_IF(magic_matches(h) && h->version == copy->version && h->version != NVW__VERSION,
		NVW_E_VERSION,
		"%s: offset 0x8: found format version %" PRIu32
		", expected %d; use the version of nvwave that wrote it",
		path, h->version, NVW__VERSION);
	return nvw_fail(NVW_E_DAMAGED,
		"%s: offset 0x%zx: found header checksum %016" PRIx64 ", expected %016" PRIx64
		", and the copy at 0x%x is damaged too",
		path, offsetof(struct nvw__header, checksum), h->checksum, header_checksum(h), NVW__COPY_OFF);
}

static int check_short(const char *path, const char *base, uint64_t bytes)
{
	NVW_FAIL_IF(bytes < sizeof NVW__MAGIC - 1 || memcmp(base, NVW__MAGIC, sizeof NVW__MAGIC - 1) != 0,
		NVW_E_NOT_A_POOL, "%s: the file has %" PRIu64 " bytes and no pool header", path, bytes);
	return nvw_fail(NVW_E_DAMAGED,
		"%s: the file has %" PRIu64 " bytes, expected at least %d for its two headers", path, bytes,
		NVW__ROOTS_OFF);
}

int nvw__header_check(
	const char *path, const char *base, uint64_t bytes, bool is_image, struct nvw_pool *ret_pool)
{
	const char *copy = base + NVW__COPY_OFF;
	const bool whole = bytes >= NVW__ROOTS_OFF && page_is_whole(base);

	if (bytes < NVW__ROOTS_OFF) {
		return check_short(path, base, bytes);
	}
	if (!whole && !page_is_whole(copy)) {
		return diagnose(path, (const void *)base, (const void *)copy);
	}
	NVW_FAIL_IF(whole && memcmp(base, copy, sizeof(struct nvw__header)) != 0 && page_is_whole(copy),
		NVW_E_DAMAGED,
		"%s: offset 0x%x: the copy of the header is intact but belongs to another pool", path,
		NVW__COPY_OFF);

	const struct nvw__header *const h = (const void *)(whole ? base : copy);

	NVW_TRY(check_geometry(path, h, bytes, is_image, &ret_pool->geometry));
	NVW_TRY(check_member(path, h));
	memcpy(ret_pool->device, h->device, sizeof ret_pool->device);
	memcpy(ret_pool->member.run, h->run, sizeof ret_pool->member.run);
	ret_pool->member.number = h->number;
	ret_pool->member.count = h->count;
	return 0;
}

unsigned nvw__header_damaged(const struct nvw_pool *pool)
{
	if (!page_is_whole(pool->base + NVW__HEADER_OFF)) {
		return 1;
	}
	if (!page_is_whole(pool->base + NVW__COPY_OFF)) {
		return 2;
	}
	return 0;
}

int nvw__header_repair(struct nvw_pool *pool, unsigned damaged)
{
	static const nvw_off page[] = {[1] = NVW__HEADER_OFF, [2] = NVW__COPY_OFF};
	NVW_INVARIANT(damaged == 1 || damaged == 2);
	const nvw_off to = page[damaged], from = page[3 - damaged];

	for (uint64_t i = 0; i < NVW__PAGE_BYTES; i += 8) {
		const uint64_t word = nvw_pool_word(pool, from + i);

		if (word != nvw_pool_word(pool, to + i)) {
			NVW_TRY(nvw_pool_write_word(pool, to + i, word));
		}
	}
	return 0;
}
