/* SPDX-License-Identifier: BSD-3-Clause */
/* One undo log entry. See entry.h. */
#include "entry.h"

#include "core/bounds.h"
#include "core/invariant.h"
#include "view.h"

/* An epoch may change root words and the content of chunks. */
static bool may_change(const struct nvw_pool_geometry *g, nvw_off off)
{
	const bool is_root = off >= g->roots && off < g->roots + 8 * NVW_POOL_ROOTS;

	return off % 8 == 0 && (is_root || (off >= g->chunks && off < nvw__chunk_off(g, g->chunk_count)));
}

static enum rec_relation relation(uint64_t epoch, uint64_t settled)
{
	if (epoch == 0) {
		return REC_UNUSED;
	}
	if (epoch <= settled) {
		return REC_SETTLED;
	}
	return epoch == settled + 1 ? REC_OPEN : REC_FUTURE;
}

struct rec_entry rec_judge(const struct nvw_pool *pool, const uint64_t *words, nvw_off off, uint64_t settled)
{
	struct rec_entry_facts facts = {.sealed = true, .one_epoch = true};
	uint64_t payload[NVW__ENTRY_WORDS], newest = 0;
	struct rec_entry entry = {0};

	for (unsigned i = 0; i < NVW__ENTRY_WORDS; i++) {
		const uint64_t epoch = nvw__entry_epoch(words[i]);

		facts.sealed &= nvw_unseal(off + 8 * i, words[i], &payload[i]);
		facts.one_epoch &= epoch == nvw__entry_epoch(words[0]);
		newest = nvw_max(newest, epoch);
		entry.of_open_epoch |= epoch == settled + 1;
	}
	facts.relation = relation(newest, settled);
	if (facts.sealed) {
		entry.undo = nvw__entry_undo(payload);
		facts.place = may_change(nvw_pool_geometry(pool), entry.undo.off);
	}
	entry.verdict = rec_judge_entry(&facts);
	return entry;
}

bool rec_is_settled(const uint64_t *words, uint64_t settled)
{
	const uint64_t epoch = nvw__entry_epoch(words[0]);

	for (unsigned i = 1; i < NVW__ENTRY_WORDS; i++) {
		if (nvw__entry_epoch(words[i]) != epoch) {
			return false;
		}
	}
	return epoch <= settled && (epoch || rec_is_unused(words));
}

int rec_damaged_entry(const struct nvw_pool *pool, nvw_off off)
{
	NVW_INVARIANT(off >= nvw_pool_geometry(pool)->log);
	return rec_damage(pool, off, "a broken undo log entry",
		"one of four sealed words of an epoch up to the open one");
}
