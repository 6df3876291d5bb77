/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The generic recovery (gope18 8.3). See nvw/recovery.h.
 *
 * All metadata is checked before anything is written, so damage leaves the pool untouched. Old values are
 * restored first: until the table marks the epoch as rolled back, its log entries require the restoration
 * again. Then the table is marked; from then on only its word tells the outcome of the epoch, and blocks are
 * settled by it. Block words come last because they may be the only trace of an open epoch: if they were
 * settled before the mark, an interruption would lose it. So a second run after any interruption writes the
 * rest.
 */
#include <stdlib.h>
#include <string.h>

#include <nvw/recovery.h>

#include "core/each.h"
#include "core/invariant.h"
#include "pool/header.h"

#include "entry.h"
#include "view.h"

/* ---- The log ------------------------------------------------------------------------------- */

struct stream_log {
	struct nvw_pool *pool;
	uint32_t stream;
	uint64_t settled;
	bool restore; /* old values; otherwise entries are only classified and counted */
	struct nvw_recovery *report;
	bool open; /* an entry is of the open epoch */
};

static int restore(struct stream_log *l, const struct nvw__undo *undo)
{
	l->report->words_restored++;
	if (nvw_pool_word(l->pool, undo->off) == undo->value) {
		return 0;
	}
	return nvw_pool_write_word(l->pool, undo->off, undo->value);
}

static int one_entry(struct stream_log *l, const uint64_t *words, nvw_off off)
{
	/* Most entries have never been written. */
	if (rec_is_unused(words) || rec_is_settled(words, l->settled)) {
		return 0;
	}
	const struct rec_entry entry = rec_judge(l->pool, words, off, l->settled);

	l->open |= entry.of_open_epoch;
	if (entry.verdict == REC_DAMAGE) {
		return rec_damaged_entry(l->pool, off);
	}
	l->report->entries_torn += entry.verdict == REC_TORN && !l->restore;
	if (entry.verdict == REC_RESTORE && l->restore) {
		return restore(l, &entry.undo);
	}
	return 0;
}

/* The entries of the stream from this one on, newest first; walk is one through the log. */
static int newest_first(struct stream_log *l, uint32_t entry, struct nvw__written *walk)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(l->pool);
	uint32_t end;
	const uint32_t begin = rec_next_entry(l->pool, l->stream, entry, walk, &end);

	if (begin == g->log_entries) {
		return 0;
	}
	NVW_INVARIANT(begin < end && end <= g->log_entries);
	NVW_TRY(newest_first(l, end, walk));

	const nvw_off off = nvw__entry_off(g, l->stream, begin);
	const uint64_t count = end - begin, *const words =
						    nvw_pool_at(l->pool, off, count * NVW__ENTRY_BYTES);

	l->report->entries_read += count;
	l->report->words_read += count * NVW__ENTRY_WORDS;
	for (uint64_t i = count; i-- > 0;) {
		NVW_TRY(one_entry(l, words + i * NVW__ENTRY_WORDS, off + i * NVW__ENTRY_BYTES));
	}
	return 0;
}

/* ---- Blocks -------------------------------------------------------------------------------- */

struct blocks {
	struct nvw_pool *pool;
	struct nvw_recovery *report;
	uint8_t *open; /* by stream */
	bool settle;
	bool unsettled; /* some block word names an incomplete epoch */
};

static int visit_block(void *context, nvw_off word_off, uint64_t payload, enum nvw__outcome outcome,
	nvw_off block, uint32_t bytes)
{
	struct blocks *const b = context;
	const uint32_t stream = nvw__block_stream(payload);

	if (!rec_is_unsettled(outcome)) {
		return 0;
	}
	NVW_INVARIANT(stream < nvw_pool_geometry(b->pool)->streams);
	b->open[stream] |= outcome == NVW__OPEN;
	b->unsettled = true;
	if (!b->settle) {
		return 0;
	}
	b->report->blocks_kept += rec_is_freed(payload);
	b->report->blocks_freed += !rec_is_freed(payload);
	return nvw_pool_write_word(b->pool, word_off, rec_settled(word_off, payload));
}

/* ---- All of it ----------------------------------------------------------------------------- */

static int read_est(
	const struct nvw_pool *pool, uint32_t stream, struct nvw_recovery *report, uint64_t *ret_payload)
{
	report->words_read++;
	return rec_est(pool, stream, ret_payload);
}

/* Counts the last epoch in the table as completed; mark() takes it back where a later one is open. */
static int judge_stream(struct stream_log *l, struct nvw__written *walk)
{
	uint64_t est;

	NVW_TRY(read_est(l->pool, l->stream, l->report, &est));
	l->report->epochs_completed += nvw__est_state(est) == NVW__EST_COMPLETED;
	l->settled = nvw__est_epoch(est);
	return newest_first(l, 0, walk);
}

/* Checks all metadata; sets open for the streams with an incomplete epoch, and *ret_unsettled if any block
 * word is undecided. */
static int judge_all(struct nvw_pool *pool, struct nvw_recovery *report, uint8_t *open, bool *ret_unsettled)
{
	struct blocks blocks = {.pool = pool, .report = report, .open = open};
	struct rec_streams walk = {.est = {0}};

	REC_EACH_STREAM(stream, pool, &walk) {
		struct stream_log log = {.pool = pool, .stream = stream, .report = report};

		NVW_TRY(judge_stream(&log, &walk.log));
		open[stream] = log.open;
	}
	NVW_TRY(rec_each_block(pool, &report->words_read, visit_block, &blocks));
	*ret_unsettled = blocks.unsettled;
	return 0;
}

/* The postcondition of recovery: no open epoch and no unsettled block word. A second run writes nothing. */
__attribute__((unused)) static bool has_nothing_to_do(struct nvw_pool *pool)
{
	const uint32_t streams = nvw_pool_geometry(pool)->streams;
	uint8_t *const open = calloc(streams, 1);
	struct nvw_recovery ignored = {0};
	bool unsettled = false;
	const bool done =
		!open || (judge_all(pool, &ignored, open, &unsettled) == 0 && !memchr(open, true, streams));

	free(open);
	return done && !unsettled;
}

/* The result of checking a pool, before any write. */
struct judged {
	struct nvw_pool *pool;
	struct nvw_recovery *report;
	uint64_t words_before;
	unsigned damaged; /* which header page (nvw__header_damaged) */
	uint8_t *open;    /* by stream */
	bool unsettled;
};

static int judge_pool(struct nvw_pool *pool, struct nvw_recovery *report, struct judged *ret)
{
	*ret = (struct judged){.pool = pool,
		.report = report,
		.words_before = nvw_pool_words_written(pool),
		.damaged = nvw__header_damaged(pool),
		.open = calloc(nvw_pool_geometry(pool)->streams, 1)};
	NVW_ALLOCATED(ret->open, "no memory to recover %s", nvw_pool_path(pool));

	const int r = judge_all(pool, report, ret->open, &ret->unsettled);

	NVW_INVARIANT(
		nvw_pool_words_written(pool) == ret->words_before); /* all is checked before any write */
	return r;
}

/* The old values of the stream's open epoch. */
static int restore_stream(const struct judged *j, uint32_t stream)
{
	struct stream_log log = {.pool = j->pool, .stream = stream, .restore = true, .report = j->report};
	struct nvw__written walk = {0};
	uint64_t est;

	NVW_TRY(read_est(j->pool, stream, j->report, &est));
	log.settled = nvw__est_epoch(est);
	return newest_first(&log, 0, &walk);
}

static int mark_stream(const struct judged *j, uint32_t stream)
{
	const nvw_off off = nvw__est_off(nvw_pool_geometry(j->pool), stream);
	uint64_t est;

	NVW_TRY(read_est(j->pool, stream, j->report, &est));
	j->report->epochs_rolled_back++;
	j->report->epochs_completed -= nvw__est_state(est) == NVW__EST_COMPLETED;
	est = nvw__est_payload(NVW__EST_ROLLED_BACK, nvw__est_epoch(est) + 1);
	return nvw_pool_write_word(j->pool, off, nvw_seal(off, est));
}

/* Does this to each stream with an open epoch, and makes it durable. */
static int each_open(const struct judged *j, int (*act)(const struct judged *j, uint32_t stream))
{
	NVW_FOR(stream, nvw_pool_geometry(j->pool)->streams) {
		if (j->open[stream]) {
			NVW_TRY(act(j, stream));
		}
	}
	return nvw_pool_sync(j->pool);
}

/* The block words of rolled back epochs. */
static int settle_blocks(const struct judged *j)
{
	struct blocks blocks = {.pool = j->pool, .report = j->report, .open = j->open, .settle = true};

	return rec_each_block(j->pool, &j->report->words_read, visit_block, &blocks);
}

static int change_pool(const struct judged *j)
{
	if (j->damaged) {
		j->report->header_repaired = 1;
		NVW_TRY(nvw__header_repair(j->pool, j->damaged));
	}
	NVW_TRY(each_open(j, restore_stream));
	NVW_TRY(each_open(j, mark_stream));
	return j->unsettled ? settle_blocks(j) : 0;
}

static int recover_pool(const struct judged *j)
{
	const int r = change_pool(j);

	NVW_DEEP_INVARIANT(r != 0 || has_nothing_to_do(j->pool));
	j->report->words_written += nvw_pool_words_written(j->pool) - j->words_before;
	return r;
}

/* Each pool has its own epochs and its own log, so the pools are recovered one by one. All are checked before
 * any write. */
int nvw_recover(struct nvw_pool *pool, struct nvw_recovery *report)
{
	struct judged judged[NVW_POOLS_MAX] = {{0}};
	const unsigned count = nvw_pool_count(pool);
	int r = 0;

	NVW_INVARIANT(count <= NVW_POOLS_MAX);
	for (unsigned i = 0; i < count && r == 0; i++) {
		r = judge_pool(nvw_pool_number(pool, i), report, &judged[i]);
	}
	for (unsigned i = 0; i < count && r == 0; i++) {
		r = recover_pool(&judged[i]);
	}
	NVW_EACH(one, judged, count) {
		free(one->open);
	}
	return r;
}

int nvw_stream_state(const struct nvw_pool *pool, uint32_t stream, struct nvw_stream_state *ret_state)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	struct nvw__written written = {0};
	uint64_t est;

	NVW_FAIL_IF(stream >= g->streams, NVW_E_USAGE, "%s: there is no stream %u: the pool has %u streams",
		nvw_pool_path(pool), stream, g->streams);
	NVW_TRY(rec_est(pool, stream, &est));
	*ret_state = (struct nvw_stream_state){
		.settled = nvw__est_epoch(est), .state = (enum nvw_epoch_state)nvw__est_state(est)};
	REC_EACH_ENTRY(i, pool, stream, &written) {
		const nvw_off off = nvw__entry_off(g, stream, i);
		const uint64_t *const words = nvw_pool_at(pool, off, NVW__ENTRY_BYTES);

		ret_state->open_entries +=
			rec_judge(pool, words, off, ret_state->settled).verdict == REC_RESTORE;
	}
	return 0;
}
