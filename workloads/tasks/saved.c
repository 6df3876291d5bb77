/* SPDX-License-Identifier: BSD-3-Clause */
/* A recovery point of a task program as checks see it: durable bytes. See tasks/tasks.h. */
#include "save.h"

#include <assert.h>
#include <nvw/epoch.h>

int nvw_task_saved_open(const struct nvw_pool *pool, nvw_off area, uint32_t stream, uint32_t entries,
	unsigned words, uint64_t array_bytes, bool undo, struct nvw_task_saved *ret_saved)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	const struct save_last last =
		save_last(undo, nvw_epoch_settled(nvw_pool_word(pool, nvw_epoch_off(g, stream))),
			nvw_pool_word(pool, area + save_last_off(entries, words)));
	const uint64_t number = last.number;
	const nvw_off copy = area + save_copy_off(undo, last.copy, entries, words, array_bytes / 8);
	struct nvw_task_saved s = {
		.pool = pool, .number = number, .words = words, .array_words = array_bytes / 8};
	struct save_parts parts;

	*ret_saved = s;
	if (number == 0) {
		return 0;
	}
	s.depth = (uint32_t)nvw_pool_word(pool, copy + 8 * SAVE_DEPTH);
	s.entries = (uint32_t)nvw_pool_word(pool, copy + 8 * SAVE_ENTRIES);
	s.epochs = nvw_pool_word(pool, copy + 8 * SAVE_EPOCHS);
	NVW_FAIL_IF(nvw_pool_word(pool, copy + 8 * SAVE_NUMBER) != number ||
			    nvw_pool_word(pool, copy + 8 * SAVE_ENTRIES) >> 32 != words || s.entries == 0 ||
			    s.entries > entries || s.depth > NVW_TASK_SAVED_DEPTH_MAX,
		NVW_E_DAMAGED,
		"%s: recovery point %llu at offset %llu: expected its number, %u words per entry, at "
		"most %u entries",
		nvw_pool_path(pool), (unsigned long long)number, (unsigned long long)copy, words, entries);
	parts = save_parts(s.depth, undo ? 0 : s.entries, words, s.array_words);
	s.ranges = copy + 8 * parts.ranges;
	s.word_bytes = undo ? 4 * save_stride(entries) : 8 * save_pairs(s.entries);
	s.codes = undo ? area : copy + 8 * parts.codes;
	s.word = s.codes + s.word_bytes;
	s.arrays = copy + 8 * parts.arrays;
	*ret_saved = s;
	return 0;
}

void nvw_task_saved_range(const struct nvw_task_saved *s, uint32_t i, uint32_t *ret_number,
	uint32_t *ret_first, uint32_t *ret_end)
{
	const nvw_off off = s->ranges + 8 * SAVE_RANGE_WORDS * (uint64_t)i;
	const uint64_t word = nvw_pool_word(s->pool, off);

	assert(i < s->depth);
	*ret_number = (uint32_t)word;
	*ret_first = (uint32_t)(word >> 32);
	*ret_end = (uint32_t)nvw_pool_word(s->pool, off + 8);
}

/* 4-byte value i of a part that begins at an offset. */
static uint32_t half(const struct nvw_task_saved *s, nvw_off part, uint64_t i)
{
	return (uint32_t)(nvw_pool_word(s->pool, part + i / 2 * 8) >> (i % 2 * 32));
}

int32_t nvw_task_saved_code(const struct nvw_task_saved *s, uint32_t entry)
{
	return entry < s->entries ? (int32_t)half(s, s->codes, entry) : 0;
}

uint32_t nvw_task_saved_word(const struct nvw_task_saved *s, uint32_t entry, unsigned i)
{
	return entry < s->entries && i < s->words ? half(s, s->word + i * s->word_bytes, entry) : 0;
}

uint64_t nvw_task_saved_array_word(const struct nvw_task_saved *s, uint64_t i)
{
	return i < s->array_words ? nvw_pool_word(s->pool, s->arrays + 8 * i) : 0;
}
