/* SPDX-License-Identifier: BSD-3-Clause */
/* pmalloc and pfree from inside a kernel. See nvw/heap.h. */
#define NVW_NOT_COVERED /* a kernel need not use all of it */
#include <nvw/heap.h>

#include "pool/layout.h"

uint64_t nvw_heap_block_bytes(uint64_t bytes)
{
	const unsigned class = nvw__class_of(bytes);

	if (bytes && class < NVW_HEAP_CLASSES) {
		return nvw__class_block_bytes(class);
	}
	return 0;
}

static void store_block_word(const struct nvw_pmem *pmem, nvw_off block, unsigned class,
	enum nvw__block_kind kind, enum nvw__block_kind kind_by, const struct nvw_epoch *epoch)
{
	const uint64_t payload = epoch ? nvw__block_payload(kind_by, epoch->stream, epoch->number) :
					 nvw__block_payload(kind, 0, 0);
	uint64_t chunk;
	uint32_t index;
	nvw_off word;

	if (!nvw__block_locate(&pmem->geometry, block, class, &chunk, &index)) {
		/* Not a block of this size: end the run as any other wild store does. */
		nvw_store((uint64_t *)NULL, block);
		return;
	}
	word = nvw__block_word_off(nvw__chunk_off(&pmem->geometry, chunk), index);
	nvw__epoch_tell_of(pmem, epoch, NVW__EPOCH_SPARED, word, sizeof(uint64_t));
	nvw_store(nvw_at(pmem, uint64_t, word), nvw_seal(word, payload));
}

nvw_off nvw_pmalloc(const struct nvw_pmem *pmem, uint64_t bytes, const struct nvw_epoch *epoch)
{
	const unsigned class = nvw__class_of(bytes);
	const struct nvw_heap_class *const heap = &pmem->heap[class < NVW_HEAP_CLASSES ? class : 0];
	uint64_t next;
	nvw_off block;

	if (!bytes || class == NVW_HEAP_CLASSES || !heap->count) {
		return 0;
	}
	next = nvw_atomic_add(heap->next, 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	if (next >= heap->count) {
		return 0;
	}
	block = nvw_load(&heap->blocks[next]);
	if (epoch) {
		nvw__epoch_tell_of(pmem, epoch, NVW__EPOCH_ALLOCATED, block, nvw__class_block_bytes(class));
	}
	store_block_word(pmem, block, class, NVW__BLOCK_ALLOCATED, NVW__BLOCK_ALLOCATED_BY, epoch);
	return block;
}

void nvw_pfree(const struct nvw_pmem *pmem, nvw_off block, uint64_t bytes, const struct nvw_epoch *epoch)
{
	store_block_word(pmem, block, nvw__class_of(bytes), NVW__BLOCK_FREE, NVW__BLOCK_FREED_BY, epoch);
}
