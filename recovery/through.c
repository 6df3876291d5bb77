/* SPDX-License-Identifier: BSD-3-Clause */
/* What recovery does with one word. See through.h. */
#include "through.h"

#include "core/invariant.h"
#include "view.h"

int rec_through_entry(const struct rec_through *t, uint32_t stream, uint32_t i, struct rec_entry *ret_entry)
{
	NVW_DEEP_INVARIANT(i < nvw_pool_geometry(t->before)->log_entries);

	const nvw_off off = nvw__entry_off(nvw_pool_geometry(t->before), stream, i);
	const uint64_t *const words = nvw_pool_at(t->before, off, NVW__ENTRY_BYTES);
	uint64_t est;

	*ret_entry = (struct rec_entry){.verdict = REC_IGNORE};
	if (rec_is_unused(words) || rec_is_settled(words, t->completed(t->context, stream))) {
		return 0;
	}
	NVW_TRY(rec_est(t->before, stream, &est));
	if (rec_is_settled(words, nvw__est_epoch(est))) {
		return 0;
	}
	*ret_entry = rec_judge(t->before, words, off, nvw__est_epoch(est));
	if (ret_entry->verdict == REC_DAMAGE) {
		return rec_damaged_entry(t->before, off);
	}
	return 0;
}

/* ---- One entry for one word -------------------------------------------------------------------------- */

struct place {
	nvw_off off;    /* of the word that is asked for */
	uint64_t epoch; /* that it must name */
	bool is_first;  /* of an entry: any epoch behind that one, which has completed */
};

/* The sealed word if it is of such an epoch, 0: it is not. */
static uint64_t fitting(const void *context, uint64_t word)
{
	const struct place *const at = context;
	const uint64_t epoch = nvw__entry_epoch(word);
	const bool fits = at->is_first ? epoch > at->epoch : epoch == at->epoch;
	uint64_t payload;

	return fits && nvw_unseal(at->off, word, &payload) ? word : 0;
}

/* Is the epoch the one that is open? */
static uint64_t is_open(const void *context, uint64_t word)
{
	const struct place *const at = context;
	uint64_t payload;

	return nvw_unseal(at->off, word, &payload) && nvw__est_epoch(payload) + 1 == at->epoch;
}

bool rec_through_restores(
	const struct rec_through *t, uint32_t stream, uint32_t i, nvw_off off, uint64_t *ret_value)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(t->before);
	struct place at = {nvw__entry_off(g, stream, i), t->completed(t->context, stream), true};
	const nvw_off est = nvw__est_off(g, stream);
	uint64_t payload[NVW__ENTRY_WORDS] = {0};

	NVW_DEEP_INVARIANT(stream < g->streams && i < g->log_entries);
	for (unsigned k = 0; k < NVW__ENTRY_WORDS; k++, at.off += 8) {
		const uint64_t word = nvw_pool_ask(t->before, at.off, fitting, &at);

		if (word == 0 || !nvw_unseal(at.off, word, &payload[k])) {
			return false;
		}
		at.epoch = nvw__entry_epoch(word);
		at.is_first = false;
		if (k == 1 && nvw__entry_undo(payload).off != off) {
			return false;
		}
	}
	*ret_value = nvw__entry_undo(payload).value;
	return nvw_pool_ask(t->before, est, is_open, &(struct place){est, at.epoch, false}) != 0;
}

/* ---- Other words ------------------------------------------------------------------------------------- */

int rec_through_stream(const struct rec_through *t, uint32_t stream)
{
	uint64_t est;

	return rec_est(t->before, stream, &est);
}

int rec_through_chunk(const struct rec_through *t, uint64_t chunk)
{
	uint64_t payload;

	return rec_chunk(t->before, chunk, &payload);
}

bool rec_through_is_block_word(const struct rec_through *t, nvw_off off)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(t->before);
	const uint64_t chunk = (off - g->chunks) / NVW_POOL_CHUNK_BYTES,
		       word = (off - g->chunks) % NVW_POOL_CHUNK_BYTES / 8;
	uint64_t payload;

	/* No class has more blocks than the first: most words lie beyond all block words. */
	return off >= g->chunks && chunk < g->chunk_count && word < nvw__class_blocks[0] &&
	       rec_chunk(t->before, chunk, &payload) == 0 && nvw__chunk_kind(payload) == NVW__CHUNK_CLASS &&
	       word < nvw__class_blocks[nvw__chunk_value(payload)];
}

/* Whether the block word names an epoch that has completed. */
static bool has_completed(const struct rec_through *t, uint64_t payload)
{
	const uint32_t stream = nvw__block_stream(payload);
	const uint64_t epoch = nvw__block_epoch(payload);

	return nvw__block_kind(payload) >= NVW__BLOCK_ALLOCATED_BY &&
	       stream < nvw_pool_geometry(t->before)->streams && epoch > 0 &&
	       epoch <= t->completed(t->context, stream);
}

int rec_through_block(const struct rec_through *t, nvw_off off, uint64_t *ret_word)
{
	enum nvw__outcome outcome;
	uint64_t payload;

	NVW_INVARIANT(off % 8 == 0);
	*ret_word = nvw_pool_word(t->before, off);
	if (*ret_word == 0 || (nvw_unseal(off, *ret_word, &payload) && has_completed(t, payload))) {
		return 0;
	}
	NVW_TRY(rec_block(t->before, off, &payload, &outcome));
	if (rec_is_unsettled(outcome)) {
		*ret_word = rec_settled(off, payload);
	}
	return 0;
}
