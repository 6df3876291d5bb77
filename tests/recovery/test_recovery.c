/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recovery on pools that the tests write word by word: what it does, and that it can be interrupted and
 * repeated.
 */
#include "image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvw/random.h>

#include <check/check.h>
#include "crashtest/states/image.h"
#include "crashtest/judge/oracle.h"
#include "recovery/cases.h"

/* ---- Cases --------------------------------------------------------------------------------------- */

TEST(exactly_one_case_fits_every_combination_of_facts)
{
	NVW_FOR(n, 8 * REC_RELATIONS) {
		const struct rec_entry_facts facts = {.sealed = n & 1,
			.one_epoch = n >> 1 & 1,
			.place = n >> 2 & 1,
			.relation = (enum rec_relation)(n >> 3)};
		unsigned fitting = 0;

		NVW_EACH(rec_entry_case, rec_entry_cases, REC_CASE_COUNT) {
			fitting += rec_case_fits(rec_entry_case, &facts);
		}
		assert_int_equal(fitting, 1);
	}
}

/* ---- What it does -------------------------------------------------------------------------------- */

TEST(open_epochs_are_undone_and_complete_ones_kept)
{
	IMAGE(im) = built();
	struct nvw_recovery report;

	assert_ok(recover(&im, &report));
	assert_int_equal(get(&im, data_at(&im, 0)), 1);
	assert_int_equal(get(&im, data_at(&im, 1)), 222); /* the oldest of its two values */
	assert_int_equal(get(&im, data_at(&im, 2)), 3);
	assert_int_equal(get(&im, data_at(&im, 3)), 4);
	assert_int_equal(get(&im, nvw_pool_root_off(&im.g, 2)), 333);
	assert_true(allocated(&im, data_at(&im, 0)));
	assert_true(allocated(&im, data_at(&im, 1)));
	assert_false(allocated(&im, data_at(&im, 2)));
	assert_false(allocated(&im, data_at(&im, 3)));
	assert_true(allocated(&im, data_at(&im, 4)));
	assert_true(allocated(&im, nvw__chunk_off(&im.g, 1)));
	assert_int_equal(report.epochs_rolled_back, 2);
	assert_int_equal(report.epochs_completed, 1);
	assert_int_equal(report.entries_read, (STREAMS + 2) * ENTRIES); /* of open epochs twice */
	assert_int_equal(report.words_restored, 3);
	assert_int_equal(report.entries_torn, 1);
	assert_int_equal(report.blocks_freed, 1);
	assert_int_equal(report.blocks_kept, 1);
}

static int check_nothing(
	void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	return 0;
}

static void judge(struct image *im, struct ct_recoveries *noted)
{
	const struct nvw_workload workload = {.name = "test", .check = check_nothing};
	struct ct_oracle oracle = {.workload = &workload};
	struct nvw_findings findings = {0};
	volatile uint32_t phase = 0;
	struct ct_image image;

	assert_ok(ct_image_create(im->bytes, NULL, im->size, &image));
	image.recoveries = noted;
	assert_ok(ct_oracle_judge(&oracle, &image, NULL, &findings, &phase));
	ct_image_destroy(&image);
}

/*
 * There are two states, one with two open epochs and one with none; the judge also recovers the first again,
 * and interrupted.
 */
TEST(a_crash_test_notes_the_most_that_recovery_did)
{
	struct ct_recoveries noted = {0}, of_none = {0};
	IMAGE(im) = built();
	IMAGE(recovered) = image_copy(&im);

	assert_ok(recover(&recovered, NULL));
	judge(&im, &noted);
	judge(&recovered, &noted);
	judge(&recovered, &of_none);
	assert_int_equal(noted.epochs_open, 2);
	assert_int_equal(noted.entries_read, (STREAMS + 2) * ENTRIES);
	assert_int_equal(noted.words_restored, 3);
	assert_int_equal(noted.words_written, 3 + 2 + 2); /* old values, marks of streams, blocks */
	assert_int_equal(of_none.epochs_open, 0);
	assert_int_equal(of_none.entries_read, STREAMS * ENTRIES);
	assert_int_equal(of_none.words_restored, 0);
	assert_int_equal(of_none.words_written, 0);
}

TEST(recovering_twice_writes_nothing)
{
	IMAGE(im) = built();
	struct nvw_recovery report;

	assert_ok(recover(&im, &report));
	assert_true(report.words_written > 0);
	assert_ok(recover(&im, &report));
	assert_int_equal(report.words_written, 0);
}

TEST(an_interruption_at_any_write_changes_nothing_about_the_result)
{
	IMAGE(im) = built();
	struct nvw_recovery report;

	/* An open epoch that left nothing but a block word, and a damaged header. */
	put_block(&im, 0, 6, NVW__BLOCK_ALLOCATED_BY, 0, 4);
	put_block(&im, 0, 7, NVW__BLOCK_FREED_BY, 3, 3);
	im.bytes[100] ^= 1;

	IMAGE(whole) = image_copy(&im);

	assert_ok(recover(&whole, &report));
	assert_int_equal(report.header_repaired, 1);
	assert_true(whole.writes > 5);
	NVW_FOR(at, whole.writes) {
		IMAGE(cut) = image_copy(&im);

		cut.stop_at = at;
		assert_int_equal(recover(&cut, &report), NVW_E_STOPPED);
		cut.stop_at = UINT64_MAX;
		assert_ok(recover(&cut, &report));
		assert_memory_equal(cut.bytes, whole.bytes, whole.size);
	}
}

static bool is_data_0(void *context, nvw_off block, uint64_t bytes)
{
	return block == *(nvw_off *)context;
}

TEST(a_sweep_frees_what_nobody_reaches)
{
	IMAGE(im) = built();
	struct nvw_recovery report = {0};
	nvw_off keep = data_at(&im, 0);
	struct nvw_pool *pool;

	assert_ok(recover(&im, NULL));
	assert_ok(open_image(&im, &pool));
	assert_ok(nvw_heap_sweep(pool, is_data_0, &keep, &report));
	assert_int_equal(report.blocks_freed, 3); /* two blocks and the extent */
	nvw_pool_close(pool);
	assert_true(allocated(&im, keep));
	assert_false(allocated(&im, data_at(&im, 1)));
	assert_false(allocated(&im, nvw__chunk_off(&im.g, 1)));
}

static bool reach_nothing(void *context, nvw_off block, uint64_t bytes)
{
	return false;
}

TEST(recovery_and_sweep_count_every_word_that_they_write)
{
	struct nvw_recovery report = {0};
	IMAGE(im) = built();
	POOL(pool) = opened(&im);

	assert_ok(nvw_recover(pool, &report));
	assert_int_equal(report.words_written, im.writes);
	assert_ok(nvw_heap_sweep(pool, reach_nothing, NULL, &report));
	assert_int_equal(report.words_written, im.writes);
}

TEST(recovery_counts_the_streams_whose_last_epoch_completed)
{
	struct nvw_recovery report;
	IMAGE(im) = built();

	assert_ok(recover(&im, &report));
	assert_ok(recover(&im, &report));
	assert_int_equal(report.epochs_completed, 1);
	assert_int_equal(report.epochs_rolled_back, 0);
	put_est(&im, 1, NVW__EST_COMPLETED, 7);
	assert_ok(recover(&im, &report));
	assert_int_equal(report.epochs_completed, 2);
}

TEST(the_state_of_a_stream_is_told_of_those_that_exist)
{
	static const struct nvw_stream_state expected[STREAMS] = {{3, NVW_EPOCH_COMPLETED, 0},
		{5, NVW_EPOCH_COMPLETED, 3}, {0, NVW_EPOCH_NEVER, 0}, {2, NVW_EPOCH_ROLLED_BACK, 0}};
	struct nvw_stream_state found;
	IMAGE(im) = built();
	POOL(pool) = opened(&im);

	NVW_FOR(stream, STREAMS) {
		assert_ok(nvw_stream_state(pool, stream, &found));
		assert_int_equal(found.settled, expected[stream].settled);
		assert_int_equal(found.state, expected[stream].state);
		assert_int_equal(found.open_entries, expected[stream].open_entries);
	}
	assert_int_equal(nvw_stream_state(pool, STREAMS, &found), NVW_E_USAGE);
	assert_int_equal(nvw_stream_state(pool, STREAMS + 1, &found), NVW_E_USAGE);
}

TEST(a_pool_that_keeps_no_holders_has_none)
{
	IMAGE(im) = built();
	nvw_off off = 77;
	POOL(pool) = opened(&im);

	assert_int_equal(nvw_pool_holders(pool, 1, &off, 1), 0);
	assert_int_equal(off, 77);
}

TEST(every_byte_of_a_block_is_in_its_place_and_no_other_byte_in_any)
{
	const struct nvw_pool_geometry g = {.chunks = 1 << 20, .chunk_count = 3};

	for (unsigned class = 0; class < NVW_HEAP_CLASSES; class ++) {
		const uint32_t bytes = nvw__class_block_bytes(class), blocks = nvw__class_blocks[class];
		const nvw_off behind = nvw__block_off(g.chunks, class, blocks);

		assert_int_equal(nvw_heap_places(&g, bytes), 3 * blocks);
		NVW_FOR(i, 3 * blocks) {
			const nvw_off off = nvw_heap_place(&g, bytes, i);

			assert_int_equal(off, nvw__block_off(nvw__chunk_off(&g, i / blocks), class,
						      (uint32_t)(i % blocks)));
			assert_int_equal(nvw_heap_place_of(&g, bytes, off), i);
			assert_int_equal(nvw_heap_place_of(&g, bytes, off + bytes - 1), i);
		}
		assert_int_equal(nvw_heap_place_of(&g, bytes, g.chunks), UINT64_MAX); /* its block words */
		assert_int_equal(
			nvw_heap_place_of(&g, bytes, nvw__block_off(g.chunks, class, 0) - 1), UINT64_MAX);
		if (behind < nvw__chunk_off(&g, 1)) {
			assert_int_equal(nvw_heap_place_of(&g, bytes, behind), UINT64_MAX);
		}
		assert_int_equal(nvw_heap_place_of(&g, bytes, g.chunks - 1), UINT64_MAX);
		assert_int_equal(
			nvw_heap_place_of(&g, bytes, nvw__block_off(nvw__chunk_off(&g, 3), class, 0)),
			UINT64_MAX);
	}
	assert_int_equal(nvw_heap_places(&g, NVW_HEAP_BLOCK_MAX + 1), 0);
	assert_int_equal(nvw_heap_place_of(&g, NVW_HEAP_BLOCK_MAX + 1, g.chunks + 32768), UINT64_MAX);
}

/* ---- Random histories ---------------------------------------------------------------------------- */

/* One stream changes random words, epoch by epoch, with its barriers; the power goes anywhere, with any part
 * of the step under way. Recovery must give the state before or after the last epoch. */
static void random_history(uint64_t seed, uint64_t first)
{
	enum { WORDS = 6 };
	struct nvw_random random = {nvw_mix64(seed + 1)};
	uint64_t before[WORDS] = {0}, after[WORDS], now[WORDS];
	const unsigned last = 1 + (unsigned)nvw_random_below(&random, 5),
		       step = (unsigned)nvw_random_below(&random, 4);
	IMAGE(im) = image_new();
	bool is_before = true, is_after = true;

	put_sealed(&im, nvw__chunk_word_off(&im.g, 0), nvw__chunk_payload(NVW__CHUNK_CLASS, 1));
	if (first > 1) {
		put_est(&im, 0, NVW__EST_COMPLETED, first - 1);
	}
	for (uint64_t epoch = first; epoch < first + last; epoch++) {
		const bool cut = epoch + 1 == first + last;
		const unsigned changes = 1 + (unsigned)nvw_random_below(&random, ENTRIES);
		unsigned word[ENTRIES];

		memcpy(after, before, sizeof after);
		NVW_FOR(i, changes) {
			word[i] = (unsigned)nvw_random_below(&random, WORDS);
			put_entry(&im, 0, i, epoch, data_at(&im, word[i]), before[word[i]],
				cut && step == 0 ? (unsigned)nvw_random_below(&random, 16) : 15);
		}
		for (unsigned i = 0; i < changes && !(cut && step == 0); i++) {
			after[word[i]] = nvw_random_u64(&random);
			if (!(cut && step == 1) || nvw_random_below(&random, 2)) {
				put(&im, data_at(&im, word[i]), after[word[i]]);
			}
		}
		if (!cut || step == 3) {
			put_est(&im, 0, NVW__EST_COMPLETED, epoch);
		}
		if (!cut) {
			memcpy(before, after, sizeof before);
		}
	}
	assert_ok(recover(&im, NULL));
	NVW_FOR(i, WORDS) {
		now[i] = get(&im, data_at(&im, i));
		is_before = is_before && now[i] == before[i];
		is_after = is_after && now[i] == after[i];
	}
	assert_true(step == 3 ? is_after : is_before);
}

TEST(random_histories_end_before_or_after_their_last_epoch)
{
	NVW_FOR(seed, 300) {
		random_history(seed, 1);
	}
	/* Streams that have counted for long: over every power of two below the last epoch. */
	for (unsigned bit = 4; bit < NVW__ENTRY_EPOCH_BITS; bit++) {
		random_history(bit, (UINT64_C(1) << bit) - 2);
	}
	random_history(0, NVW__EPOCH_MAX - 6);
}

/* ---- Large pools --------------------------------------------------------------------------------- */

/* As docs/pool-format.md places them. */
TEST(an_entry_names_every_word_of_the_largest_pool)
{
	struct nvw_random random = {5};

	NVW_FOR(i, 1000) {
		const struct nvw__undo undo = {
			8 * (nvw_random_u64(&random) >> (30 + i % 20)), nvw_random_u64(&random)};
		const uint64_t number = undo.off / 8, epoch = NVW__EPOCH_MAX - i;
		uint64_t payload[NVW__ENTRY_WORDS];

		NVW_FOR(k, NVW__ENTRY_WORDS) {
			payload[k] = nvw__entry_payload(&undo, epoch, k);
			assert_int_equal(payload[k] >> NVW_SEAL_PAYLOAD_BITS, 0);
			assert_int_equal(nvw__entry_epoch(payload[k]), epoch);
		}
		assert_int_equal(nvw__entry_undo(payload).off, undo.off);
		assert_int_equal(nvw__entry_undo(payload).value, undo.value);
		assert_int_equal(payload[0] & 0xffffff, number & 0xffffff);
		assert_int_equal(payload[1] & 0xff, number >> 24 & 0xff);
		assert_int_equal(payload[0] >> 47 | payload[1] >> 47 << 1, number >> 32);
	}
}

/* The last word of a file with holes of 64 GiB, which takes a few pages of the disk. */
TEST(a_word_beyond_32_GiB_is_restored)
{
	const struct nvw_pool_params params = {.bytes = UINT64_C(64) << 30, .sparse = true, .layout = "test"};
	struct nvw_recovery report = {0};
	struct nvw_pool *pool;
	char path[64];

	snprintf(path, sizeof path, "/tmp/nvwave-test-%ld.pool", (long)getpid());
	unlink(path);
	assert_ok(nvw_pool_create(path, &params, &pool));
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	const struct nvw__undo undo = {nvw__chunk_off(g, g->chunk_count) - 8, 77};

	assert_true(undo.off > UINT64_C(63) << 30);
	NVW_FOR(i, NVW__ENTRY_WORDS) {
		const nvw_off at = nvw__entry_off(g, 0, 0) + 8 * i;

		assert_ok(nvw_pool_write_word(pool, at, nvw_seal(at, nvw__entry_payload(&undo, 1, i))));
	}
	assert_ok(nvw_pool_write_word(pool, undo.off, 78));
	nvw_pool_close(pool);
	assert_ok(nvw_pool_open(path, NVW_POOL_WRITE, &pool));
	assert_ok(nvw_recover(pool, &report));
	assert_int_equal(report.words_restored, 1);
	assert_int_equal(nvw_pool_word(pool, undo.off), 77);
	nvw_pool_close(pool);
	unlink(path);
}
