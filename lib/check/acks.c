/* SPDX-License-Identifier: BSD-3-Clause */
/* Acknowledged operations: a growing bitmap. See check.h. */
#include <stdlib.h>
#include <string.h>

#include <nvw/random.h>

#include "check.h"
#include "core/array.h"
#include "core/invariant.h"

/* Who counts operations has a bit for each of them. */
__attribute__((unused)) static bool acks_are_valid(const struct nvw_acks *acks)
{
	return acks->count <= 64 * acks->words && (acks->bits != NULL) == (acks->words > 0) &&
	       (acks->begun != NULL) == (acks->begun_words > 0);
}

static int grow_bitmap(uint64_t **bitmap, uint64_t *bitmap_words, uint64_t words)
{
	NVW_FAIL_IF(!NVW_ROOM(*bitmap, *bitmap_words, words), NVW_E_MEMORY,
		"no memory for %llu acknowledgements", (unsigned long long)(words * 64));
	return 0;
}

int nvw__acks_add(struct nvw_acks *acks, uint64_t first, uint64_t count)
{
	NVW_FAIL_IF(count > NVW__ACKS_MAX || first > NVW__ACKS_MAX - count, NVW_E_KERNEL,
		"acknowledged: operation %llu and %llu more: expected operations below %d",
		(unsigned long long)first, (unsigned long long)count, NVW__ACKS_MAX);
	NVW_DEEP_INVARIANT(acks_are_valid(acks));
	NVW_TRY(grow_bitmap(&acks->bits, &acks->words, (first + count + 63) / 64));
	nvw__acks_restore(acks, first, count);
	return 0;
}

static void flip(struct nvw_acks *acks, uint64_t op, bool wanted)
{
	NVW_DEEP_INVARIANT(op / 64 < acks->words);

	const uint64_t bit = (uint64_t)1 << op % 64;

	if (((acks->bits[op / 64] & bit) != 0) != wanted) {
		acks->bits[op / 64] ^= bit;
		acks->count += 2 * (uint64_t)wanted - 1;
		acks->hash ^= nvw_mix64(op + 0x2545f4914f6cdd1du);
	}
}

void nvw__acks_restore(struct nvw_acks *acks, uint64_t first, uint64_t count)
{
	NVW_INVARIANT(first + count <= 64 * acks->words);
	for (uint64_t op = first; op < first + count; op++) {
		flip(acks, op, true);
	}
	NVW_DEEP_INVARIANT(acks->count >= count);
}

void nvw__acks_drop(struct nvw_acks *acks, uint64_t first, uint64_t count)
{
	NVW_INVARIANT(first + count <= 64 * acks->words);
	for (uint64_t op = first; op < first + count; op++) {
		flip(acks, op, false);
	}
	NVW_DEEP_INVARIANT(acks_are_valid(acks));
}

void nvw__acks_clear(struct nvw_acks *acks)
{
	NVW_DEEP_INVARIANT(acks_are_valid(acks));
	if (acks->words > 0) {
		memset(acks->bits, 0, acks->words * sizeof *acks->bits);
	}
	if (acks->begun_words > 0) {
		memset(acks->begun, 0, acks->begun_words * sizeof *acks->begun);
	}
	acks->count = 0;
	acks->hash = 0;
}

int nvw__acks_begin(struct nvw_acks *acks, uint64_t op)
{
	NVW_FAIL_IF(op >= NVW__ACKS_MAX, NVW_E_KERNEL, "begun: operation %llu: expected operations below %d",
		(unsigned long long)op, NVW__ACKS_MAX);
	NVW_DEEP_INVARIANT(acks_are_valid(acks));
	NVW_TRY(grow_bitmap(&acks->begun, &acks->begun_words, op / 64 + 1));
	acks->begun[op / 64] |= (uint64_t)1 << op % 64;
	return 0;
}

bool nvw__acks_in_flight(const struct nvw_acks *acks, uint64_t op)
{
	NVW_DEEP_INVARIANT(acks_are_valid(acks));
	return op / 64 < acks->begun_words && (acks->begun[op / 64] >> op % 64 & 1) && !nvw_acked(acks, op);
}

void nvw__acks_free(struct nvw_acks *acks)
{
	NVW_DEEP_INVARIANT(acks_are_valid(acks));
	free(acks->bits);
	free(acks->begun);
	*acks = (struct nvw_acks){0};
}

bool nvw_acked(const struct nvw_acks *acks, uint64_t op)
{
	const bool acked = op / 64 < acks->words && (acks->bits[op / 64] >> op % 64 & 1);

	NVW_DEEP_INVARIANT(acks_are_valid(acks));
	if (acks->asked) {
		return acks->asked(acks->asker, op, acked);
	}
	return acked;
}

uint64_t nvw_acked_count(const struct nvw_acks *acks)
{
	NVW_DEEP_INVARIANT(acks_are_valid(acks));
	if (acks->asked) {
		(void)acks->asked(acks->asker, NVW__ACKS_ALL, true);
	}
	return acks->count;
}
