/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host's side of the heap, between kernels: selecting the blocks that kernels may take next, and large
 * extents.
 *
 * The heap is read in its visible state (nvw_read), after nvw_persist() has made the visible and the durable
 * state equal. So a block whose free is not durable yet is never handed out (nvw/heap.h, guarantee 4), and a
 * DRAM-only machine, where nothing becomes durable, works in the same way. By then the operation that
 * replaced a freed block has been acknowledged, so readers on the host can no longer find the block; readers
 * that found it before are waited for.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <nvw/host.h>
#include <nvw/readers.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "pool/layout.h"

static int read_words(
	struct nvw_machine *machine, const struct nvw_pmem *pmem, nvw_off off, uint64_t *to, uint64_t count)
{
	return nvw_read(machine, to, pmem->base + off, 8 * count);
}

static int write_sealed(
	struct nvw_machine *machine, const struct nvw_pmem *pmem, nvw_off off, uint64_t payload)
{
	const uint64_t word = nvw_seal(off, payload);

	return nvw_write(machine, pmem->base + off, &word, sizeof word);
}

static int damaged_word(nvw_off off, const char *what)
{
	return nvw_fail(NVW_E_DAMAGED, "offset 0x%" PRIx64 ": %s is damaged", off, what);
}

/* Zeroes a range of the pool; words that are already zero (all of a fresh pool) are not written. */
static int zero(struct nvw_machine *machine, const struct nvw_pmem *pmem, nvw_off off, uint64_t bytes)
{
	static const char zeros[4096];

	NVW_INVARIANT(off % 8 == 0 && bytes % 8 == 0);
	while (bytes) {
		const uint64_t piece = nvw_min(bytes, sizeof zeros);
		char now[sizeof zeros];

		NVW_TRY(nvw_read(machine, now, pmem->base + off, piece));
		if (memcmp(now, zeros, piece)) {
			NVW_TRY(nvw_write(machine, pmem->base + off, zeros, piece));
		}
		off += piece;
		bytes -= piece;
	}
	return 0;
}

int nvw_pmem_attach_to(struct nvw_machine *machine, unsigned number, struct nvw_pmem *ret_pmem)
{
	const struct nvw_pool *const pool = nvw_pool_number(nvw_machine_pool(machine), number);
	struct nvw_pmem pmem = {0};
	uint64_t *next;

	if (!pool) {
		NVW_FAIL_IF(number, NVW_E_USAGE, "the machine has no pool number %u", number);
		return nvw_fail(NVW_E_USAGE, "the machine has no pool");
	}
	pmem.base = (char *)(uintptr_t)nvw_nvram_base(machine) + nvw_pool_begin(pool);
	pmem.geometry = *nvw_pool_geometry(pool);
	pmem.log_used = nvw_alloc(machine, pmem.geometry.streams * sizeof *pmem.log_used);
	/* One line each, because all work-items increment them. */
	next = nvw_alloc(machine, NVW_HEAP_CLASSES * NVW__LINE_BYTES);
	if (!pmem.log_used || !next) {
		return NVW_E_MEMORY;
	}
	for (unsigned class = 0; class < NVW_HEAP_CLASSES; class ++) {
		pmem.heap[class].next = next + class * (NVW__LINE_BYTES / 8);
	}
	*ret_pmem = pmem;
	return 0;
}

int nvw_pmem_attach(struct nvw_machine *machine, struct nvw_pmem *ret_pmem)
{
	return nvw_pmem_attach_to(machine, 0, ret_pmem);
}

/* ---- Blocks -------------------------------------------------------------------------------- */

/* State of one pass over the heap; read only once. */
struct pass {
	struct nvw_machine *machine;
	const struct nvw_pmem *pmem;
	uint64_t *chunks; /* words of the chunk table */
	uint64_t *est;
	uint64_t *found; /* offsets of free blocks */
	uint64_t count, wanted;
};

static bool is_free(const struct pass *p, uint64_t payload)
{
	const uint32_t stream = nvw__block_stream(payload);
	enum nvw__outcome outcome;

	switch (nvw__block_kind(payload)) {
	case NVW__BLOCK_FREE:
		return true;
	case NVW__BLOCK_ALLOCATED:
		return false;
	default:
		break;
	}
	if (stream >= p->pmem->geometry.streams) {
		return false;
	}
	outcome = nvw__outcome_of(
		p->est[stream] & ((UINT64_C(1) << NVW_SEAL_PAYLOAD_BITS) - 1), nvw__block_epoch(payload));
	if (nvw__block_kind(payload) == NVW__BLOCK_FREED_BY) {
		return outcome == NVW__COMPLETED;
	}
	return outcome == NVW__ROLLED_BACK;
}

static int collect(struct pass *p, uint64_t chunk, unsigned class)
{
	const nvw_off off = nvw__chunk_off(&p->pmem->geometry, chunk);
	uint64_t words[NVW_POOL_CHUNK_BYTES / NVW_HEAP_BLOCK_MIN];

	NVW_INVARIANT(class < NVW_HEAP_CLASSES && nvw__class_blocks[class] <= NVW_COUNT(words));
	NVW_TRY(read_words(p->machine, p->pmem, off, words, nvw__class_blocks[class]));
	for (uint32_t i = 0; i < nvw__class_blocks[class] && p->count < p->wanted; i++) {
		uint64_t payload;

		if (!nvw_unseal(nvw__block_word_off(off, i), words[i], &payload)) {
			return damaged_word(nvw__block_word_off(off, i), "a block word");
		}
		NVW_DEEP_INVARIANT(p->count < p->wanted);
		if (is_free(p, payload)) {
			p->found[p->count++] = nvw__block_off(off, class, i);
		}
	}
	return 0;
}

/* The next chunk in the table; extents are skipped as a whole. */
static uint64_t after(uint64_t chunk, uint64_t payload)
{
	if (nvw__chunk_kind(payload) == NVW__CHUNK_EXTENT) {
		return chunk + NVW_OR(nvw__chunk_value(payload), 1);
	}
	return chunk + 1;
}

static int chunk_payload(const struct pass *p, uint64_t chunk, uint64_t *ret)
{
	const nvw_off off = nvw__chunk_word_off(&p->pmem->geometry, chunk);

	NVW_DEEP_INVARIANT(chunk < p->pmem->geometry.chunk_count);
	if (nvw_unseal(off, p->chunks[chunk], ret)) {
		return 0;
	}
	return damaged_word(off, "a word of the chunk table");
}

static int make_class_chunk(struct pass *p, uint64_t chunk, unsigned class)
{
	NVW_INVARIANT(class < NVW_HEAP_CLASSES);
	/* The block words first: when the chunk is found, its blocks must be free. */
	NVW_TRY(zero(p->machine, p->pmem, nvw__chunk_off(&p->pmem->geometry, chunk),
		nvw__class_table_bytes(class)));
	return write_sealed(p->machine, p->pmem, nvw__chunk_word_off(&p->pmem->geometry, chunk),
		nvw__chunk_payload(NVW__CHUNK_CLASS, class));
}

/* Collects free blocks of the class's chunks, or of free ones, which become chunks of the class. */
static int collect_from(struct pass *p, unsigned class, bool fresh)
{
	uint64_t payload;

	for (uint64_t chunk = 0; chunk < p->pmem->geometry.chunk_count && p->count < p->wanted;
		chunk = after(chunk, payload)) {
		NVW_TRY(chunk_payload(p, chunk, &payload));
		if (fresh && nvw__chunk_kind(payload) == NVW__CHUNK_FREE) {
			NVW_TRY(make_class_chunk(p, chunk, class));
			NVW_TRY(collect(p, chunk, class));
		} else if (!fresh && payload == nvw__chunk_payload(NVW__CHUNK_CLASS, class)) {
			NVW_TRY(collect(p, chunk, class));
		}
	}
	return 0;
}

static int collect_all(struct pass *p, unsigned class)
{
	NVW_TRY(collect_from(p, class, false));
	NVW_TRY(collect_from(p, class, true));
	NVW_FAIL_IF(p->count < p->wanted, NVW_E_FULL,
		"the pool's heap has room for %" PRIu64 " blocks of %" PRIu32 " bytes, %" PRIu64
		" are needed",
		p->count, nvw__class_block_bytes(class), p->wanted);
	return 0;
}

static int pass_begin(struct pass *p)
{
	const struct nvw_pool_geometry *const g = &p->pmem->geometry;
	int r = nvw_persist(p->machine);

	NVW_INVARIANT(!p->chunks && !p->est && !p->found && p->count == 0);
	p->chunks = malloc(8 * (uint64_t)g->chunk_count);
	p->est = malloc(8 * (uint64_t)g->streams);
	p->found = malloc(8 * NVW_OR(p->wanted, 1));
	NVW_FAIL_IF(!p->chunks || !p->est || !p->found, NVW_E_MEMORY, "no memory to scan the pool's heap");
	NVW_TRY(r);
	NVW_TRY(read_words(p->machine, p->pmem, g->chunk_table, p->chunks, g->chunk_count));
	return read_words(p->machine, p->pmem, g->est, p->est, g->streams);
}

static void pass_end(struct pass *p)
{
	free(p->chunks);
	free(p->est);
	free(p->found);
}

/* Hands the free blocks to kernels; an earlier list is reused if it is long enough. */
static int publish(struct pass *p, struct nvw_heap_class *heap)
{
	static const uint64_t first = 0;

	if (heap->capacity < p->count) {
		heap->blocks = nvw_alloc(p->machine, 8 * p->count);
		heap->capacity = heap->count = 0;
		if (!heap->blocks) {
			return NVW_E_MEMORY;
		}
		heap->capacity = p->count;
	}
	NVW_INVARIANT(p->count <= heap->capacity);
	NVW_TRY(nvw_write(p->machine, heap->blocks, p->found, 8 * p->count));
	NVW_TRY(nvw_write(p->machine, heap->next, &first, sizeof first));
	heap->count = p->count;
	return 0;
}

int nvw_heap_provision(struct nvw_machine *machine, struct nvw_pmem *pmem, uint64_t bytes, uint64_t count)
{
	const unsigned class = nvw__class_of(bytes);
	struct pass p = {.machine = machine, .pmem = pmem, .wanted = count};
	int r;

	NVW_FAIL_IF(!bytes || class == NVW_HEAP_CLASSES, NVW_E_USAGE,
		"expected a block of 1 to %d bytes, found %" PRIu64, NVW_HEAP_BLOCK_MAX, bytes);
	NVW_FAIL_IF(count > (uint64_t)pmem->geometry.chunk_count * nvw__class_blocks[class], NVW_E_FULL,
		"the pool's heap of %" PRIu32 " chunks has no room for %" PRIu64 " blocks of %" PRIu32
		" bytes",
		pmem->geometry.chunk_count, count, nvw__class_block_bytes(class));
	r = pass_begin(&p);
	nvw_readers_wait(pmem->readers);
	if (r == 0) {
		r = collect_all(&p, class);
	}
	if (r == 0) {
		r = publish(&p, &pmem->heap[class]);
	}
	pass_end(&p);
	return r;
}

/* ---- Extents ------------------------------------------------------------------------------- */

/* The first run of length free chunks; chunk_count if there is none. */
static int find_run(const struct pass *p, uint64_t length, uint64_t *ret_chunk)
{
	const uint64_t count = p->pmem->geometry.chunk_count;
	uint64_t run = 0, payload;

	*ret_chunk = count;
	for (uint64_t chunk = 0; chunk < count; chunk = after(chunk, payload)) {
		NVW_TRY(chunk_payload(p, chunk, &payload));
		run++;
		if (nvw__chunk_kind(payload) != NVW__CHUNK_FREE) {
			run = 0;
		}
		if (run == length) {
			*ret_chunk = chunk + 1 - length;
			return 0;
		}
	}
	return 0;
}

static int take_extent(struct pass *p, uint64_t bytes, nvw_off *ret_extent)
{
	const struct nvw_pool_geometry *const g = &p->pmem->geometry;
	const uint64_t length = (bytes + NVW_POOL_CHUNK_BYTES - 1) / NVW_POOL_CHUNK_BYTES;
	uint64_t chunk;

	NVW_INVARIANT(length > 0);
	*ret_extent = 0;
	NVW_TRY(find_run(p, length, &chunk));
	NVW_FAIL_IF(chunk == g->chunk_count, NVW_E_FULL,
		"the pool's heap of %" PRIu32 " chunks has no run of %" PRIu64 " free chunks for %" PRIu64
		" bytes",
		g->chunk_count, length, bytes);
	NVW_TRY(zero(p->machine, p->pmem, nvw__chunk_off(g, chunk), length * NVW_POOL_CHUNK_BYTES));
	NVW_TRY(write_sealed(p->machine, p->pmem, nvw__chunk_word_off(g, chunk),
		nvw__chunk_payload(NVW__CHUNK_EXTENT, length)));
	*ret_extent = nvw__chunk_off(g, chunk);
	return 0;
}

int nvw_heap_alloc_extent(
	struct nvw_machine *machine, struct nvw_pmem *pmem, uint64_t bytes, nvw_off *ret_extent)
{
	struct pass p = {.machine = machine, .pmem = pmem};
	int r;

	NVW_FAIL_IF(!bytes, NVW_E_USAGE, "expected an extent of at least 1 byte, found 0");
	r = pass_begin(&p);
	if (r == 0) {
		r = take_extent(&p, bytes, ret_extent);
	}
	pass_end(&p);
	return r;
}

int nvw_heap_free_extent(struct nvw_machine *machine, struct nvw_pmem *pmem, nvw_off extent)
{
	const struct nvw_pool_geometry *const g = &pmem->geometry;
	const uint64_t chunk = (extent - g->chunks) / NVW_POOL_CHUNK_BYTES;
	uint64_t word = 0, payload = 0;
	nvw_off off;

	NVW_FAIL_IF(extent < g->chunks || chunk >= g->chunk_count || extent != nvw__chunk_off(g, chunk),
		NVW_E_USAGE, "offset 0x%" PRIx64 " is not the start of an allocated extent", extent);
	off = nvw__chunk_word_off(g, chunk);
	NVW_TRY(nvw_persist(machine));
	NVW_TRY(read_words(machine, pmem, off, &word, 1));
	NVW_FAIL_IF(!nvw_unseal(off, word, &payload) || nvw__chunk_kind(payload) != NVW__CHUNK_EXTENT,
		NVW_E_USAGE, "offset 0x%" PRIx64 " is not the start of an allocated extent", extent);
	nvw_readers_wait(pmem->readers);
	return write_sealed(machine, pmem, off, nvw__chunk_payload(NVW__CHUNK_FREE, 0));
}
