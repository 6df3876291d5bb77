/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recovery on pools that the tests write word by word: what it does, that it can be interrupted and repeated,
 * and that no damage goes unnoticed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nvw/random.h>
#include <nvw/recovery.h>

#include "pool/header.h"
#include "pool/internal.h"
#include <check/check.h>
#include "crashtest/states/image.h"
#include "crashtest/judge/oracle.h"
#include "recovery/cases.h"
#include "recovery/through.h"

enum { STREAMS = 4, ENTRIES = 5 };

/* A pool in memory, whose writes can be made to stop. */
struct image {
	uint8_t *bytes;
	uint64_t size;
	uint64_t writes, stop_at; /* the power goes at this write; UINT64_MAX: never */
	struct nvw_pool_geometry g;
	unsigned *asked; /* the words that were asked for; NULL: they are read */
};

static int image_write(void *context, nvw_off off, const void *from, size_t n)
{
	struct image *const im = context;

	if (im->writes++ == im->stop_at) {
		return NVW_E_STOPPED;
	}
	memcpy(im->bytes + off, from, n);
	return 0;
}

static uint64_t ask(
	void *context, nvw_off off, uint64_t (*of)(const void *from, uint64_t word), const void *from)
{
	const struct image *const im = context;
	uint64_t word;

	++*im->asked;
	memcpy(&word, im->bytes + off, 8);
	return of(from, word);
}

static int open_image(struct image *im, struct nvw_pool **ret_pool)
{
	const struct nvw_pool_image image = {.image = im->bytes,
		.bytes = im->size,
		.write = image_write,
		.context = im,
		.ask = im->asked ? ask : NULL};

	return nvw_pool_open_image(&image, ret_pool);
}

static void image_new(struct image *im)
{
	const struct nvw_pool_params params = {.heap_bytes = 3 * NVW_POOL_CHUNK_BYTES,
		.streams = STREAMS,
		.log_entries = ENTRIES,
		.layout = "test"};
	char path[64];
	struct nvw_pool *pool;

	snprintf(path, sizeof path, "/tmp/nvwave-test-%ld.pool", (long)getpid());
	unlink(path);
	assert_int_equal(nvw_pool_create(path, &params, &pool), 0);
	*im = (struct image){.g = *nvw_pool_geometry(pool), .stop_at = UINT64_MAX};
	im->size = im->g.bytes;
	im->bytes = aligned_alloc(4096, im->size);
	memcpy(im->bytes, nvw_pool_base(pool), im->size);
	nvw_pool_close(pool);
	unlink(path);
}

static struct image image_copy(const struct image *from)
{
	struct image im = *from;

	im.bytes = aligned_alloc(4096, im.size);
	memcpy(im.bytes, from->bytes, im.size);
	im.writes = 0;
	im.stop_at = UINT64_MAX;
	return im;
}

static void put(struct image *im, nvw_off off, uint64_t word)
{
	memcpy(im->bytes + off, &word, 8);
}

static uint64_t get(const struct image *im, nvw_off off)
{
	uint64_t word;

	memcpy(&word, im->bytes + off, 8);
	return word;
}

static void put_sealed(struct image *im, nvw_off off, uint64_t payload)
{
	put(im, off, nvw_seal(off, payload));
}

static void put_est(struct image *im, uint32_t stream, enum nvw__est_state state, uint64_t epoch)
{
	put_sealed(im, nvw__est_off(&im->g, stream), nvw__est_payload(state, epoch));
}

/* words: which of the entry's four words are durable. */
static void put_entry(struct image *im, uint32_t stream, uint32_t entry, uint64_t epoch, nvw_off off,
	uint64_t value, unsigned words)
{
	const struct nvw__undo undo = {.off = off, .value = value};

	for (unsigned i = 0; i < NVW__ENTRY_WORDS; i++) {
		if (words >> i & 1) {
			const nvw_off at = nvw__entry_off(&im->g, stream, entry) + 8 * i;

			put_sealed(im, at, nvw__entry_payload(&undo, epoch, i));
		}
	}
}

static void put_block(struct image *im, uint64_t chunk, uint32_t i, enum nvw__block_kind kind,
	uint32_t stream, uint64_t epoch)
{
	put_sealed(im, nvw__block_word_off(nvw__chunk_off(&im->g, chunk), i),
		nvw__block_payload(kind, stream, epoch));
}

static nvw_off data_at(const struct image *im, unsigned i)
{
	return nvw__block_off(nvw__chunk_off(&im->g, 0), 1, i);
}

/*
 * Stream 0: epoch 3 complete. Stream 1: epoch 6 open, two words changed, one of them twice, an allocation and
 * a free. Stream 2: epoch 1 open and torn. Stream 3: epoch 2 was rolled back before. An extent in chunk 1.
 */
static void build(struct image *im)
{
	image_new(im);
	put_sealed(im, nvw__chunk_word_off(&im->g, 0), nvw__chunk_payload(NVW__CHUNK_CLASS, 1));
	put_sealed(im, nvw__chunk_word_off(&im->g, 1), nvw__chunk_payload(NVW__CHUNK_EXTENT, 2));
	put_est(im, 0, NVW__EST_COMPLETED, 3);
	put_est(im, 1, NVW__EST_COMPLETED, 5);
	put_est(im, 3, NVW__EST_ROLLED_BACK, 2);
	put_entry(im, 0, 0, 3, data_at(im, 0), 111, 15);
	put_entry(im, 1, 0, 6, data_at(im, 1), 222, 15);
	put_entry(im, 1, 1, 6, nvw_pool_root_off(&im->g, 2), 333, 15);
	put_entry(im, 1, 2, 6, data_at(im, 1), 444, 15);
	put_entry(im, 1, 3, 5, data_at(im, 2), 555, 15);
	put_entry(im, 2, 0, 1, data_at(im, 3), 666, 7);
	put(im, data_at(im, 0), 1);
	put(im, data_at(im, 1), 2);
	put(im, data_at(im, 2), 3);
	put(im, data_at(im, 3), 4);
	put(im, nvw_pool_root_off(&im->g, 2), 5);
	put_block(im, 0, 0, NVW__BLOCK_ALLOCATED, 0, 0);
	put_block(im, 0, 1, NVW__BLOCK_ALLOCATED_BY, 0, 3);
	put_block(im, 0, 2, NVW__BLOCK_FREED_BY, 0, 2);
	put_block(im, 0, 3, NVW__BLOCK_ALLOCATED_BY, 1, 6);
	put_block(im, 0, 4, NVW__BLOCK_FREED_BY, 1, 6);
}

static int recover(struct image *im, struct nvw_recovery *report)
{
	struct nvw_pool *pool;
	int r = open_image(im, &pool);

	*report = (struct nvw_recovery){0};
	if (r == 0) {
		r = nvw_recover(pool, report);
		nvw_pool_close(pool);
	}
	return r;
}

static bool allocated(struct image *im, nvw_off off)
{
	struct nvw_pool *pool;
	uint64_t bytes;
	bool is;

	assert_int_equal(open_image(im, &pool), 0);
	is = nvw_heap_is_allocated(pool, off, &bytes);
	nvw_pool_close(pool);
	return is;
}

/* ---- Cases --------------------------------------------------------------------------------- */

static void exactly_one_case_fits_every_combination_of_facts(void **state)
{
	for (unsigned n = 0; n < 8 * REC_RELATIONS; n++) {
		const struct rec_entry_facts facts = {.sealed = n & 1,
			.one_epoch = n >> 1 & 1,
			.place = n >> 2 & 1,
			.relation = (enum rec_relation)(n >> 3)};
		unsigned fitting = 0;

		for (unsigned i = 0; i < REC_CASE_COUNT; i++) {
			fitting += rec_case_fits(&rec_entry_cases[i], &facts);
		}
		assert_int_equal(fitting, 1);
	}
}

/* ---- What it does -------------------------------------------------------------------------- */

static void open_epochs_are_undone_and_complete_ones_kept(void **state)
{
	struct image im;
	struct nvw_recovery report;

	build(&im);
	assert_int_equal(recover(&im, &report), 0);
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
	free(im.bytes);
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

	assert_int_equal(ct_image_create(im->bytes, im->size, &image), 0);
	image.recoveries = noted;
	assert_int_equal(ct_oracle_judge(&oracle, &image, NULL, &findings, &phase), 0);
	ct_image_destroy(&image);
}

/*
 * Of two states, one with two open epochs and one with none; the judge also recovers the first again, and
 * interrupted.
 */
static void a_crash_test_notes_the_most_that_recovery_did(void **state)
{
	struct ct_recoveries noted = {0}, of_none = {0};
	struct nvw_recovery report;
	struct image im, recovered;

	build(&im);
	recovered = image_copy(&im);
	assert_int_equal(recover(&recovered, &report), 0);
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
	free(im.bytes);
	free(recovered.bytes);
}

static void a_torn_entry_is_ignored_whichever_words_are_missing(void **state)
{
	for (unsigned words = 0; words < 16; words++) {
		struct image im;
		struct nvw_recovery report;

		image_new(&im);
		put_sealed(&im, nvw__chunk_word_off(&im.g, 0), nvw__chunk_payload(NVW__CHUNK_CLASS, 1));
		put_est(&im, 0, NVW__EST_COMPLETED, 8);
		put_entry(&im, 0, 0, 7, data_at(&im, 0), 0x1111111111111111, 15);
		put_entry(&im, 0, 0, 9, data_at(&im, 1), 0x2222222222222222, words);
		put(&im, data_at(&im, 0), 10);
		put(&im, data_at(&im, 1), 20);
		assert_int_equal(recover(&im, &report), 0);
		assert_int_equal(get(&im, data_at(&im, 0)), 10);
		assert_int_equal(get(&im, data_at(&im, 1)), words == 15 ? 0x2222222222222222 : 20);
		/* Once an entry of epoch 9 was begun, the next epoch must be another one. */
		assert_int_equal(report.epochs_rolled_back, words != 0);
		free(im.bytes);
	}
}

/*
 * A slot of the log that is used every 65,536 or 2^20 epochs: its words tell the two epochs apart by all of
 * their bits.
 */
static void an_entry_is_torn_however_long_ago_its_slot_was_used(void **state)
{
	static const uint64_t distances[] = {1, 256, 65536, 1 << 20, 1 << 22};

	for (unsigned i = 0; i < sizeof distances / sizeof *distances * 16; i++) {
		const uint64_t old = 70000, epoch = old + distances[i / 16];
		const unsigned words = i % 16;
		struct image im;
		struct nvw_recovery report;

		image_new(&im);
		put_sealed(&im, nvw__chunk_word_off(&im.g, 0), nvw__chunk_payload(NVW__CHUNK_CLASS, 1));
		put_est(&im, 0, NVW__EST_COMPLETED, epoch - 1);
		put_entry(&im, 0, 0, old, data_at(&im, 0), 0x1111111111111111, 15);
		put_entry(&im, 0, 0, epoch, data_at(&im, 1), 0x2222222222222222, words);
		put(&im, data_at(&im, 0), 10);
		put(&im, data_at(&im, 1), 20);
		assert_int_equal(recover(&im, &report), 0);
		assert_int_equal(get(&im, data_at(&im, 0)), 10);
		assert_int_equal(get(&im, data_at(&im, 1)), words == 15 ? 0x2222222222222222 : 20);
		assert_int_equal(report.entries_torn, words != 0 && words != 15);
		free(im.bytes);
	}
}

/*
 * A later epoch cannot have begun, however few words of its entry are there: the mark of this one would leave
 * it open.
 */
static void a_torn_entry_of_a_later_epoch_is_damage(void **state)
{
	for (unsigned words = 1; words < 16; words++) {
		struct image im;
		struct nvw_recovery report;

		image_new(&im);
		put_sealed(&im, nvw__chunk_word_off(&im.g, 0), nvw__chunk_payload(NVW__CHUNK_CLASS, 1));
		put_est(&im, 0, NVW__EST_COMPLETED, 8);
		put_entry(&im, 0, 0, 9, data_at(&im, 0), 0x1111111111111111, 15);
		put_entry(&im, 0, 1, 7, data_at(&im, 1), 0x2222222222222222, 15);
		put_entry(&im, 0, 1, 10, data_at(&im, 1), 0x3333333333333333, words);
		put(&im, data_at(&im, 0), 10);
		assert_int_equal(recover(&im, &report), NVW_E_DAMAGED);
		assert_int_equal(get(&im, data_at(&im, 0)), 10);
		free(im.bytes);
	}
}

static void recovering_twice_writes_nothing(void **state)
{
	struct image im;
	struct nvw_recovery report;

	build(&im);
	assert_int_equal(recover(&im, &report), 0);
	assert_true(report.words_written > 0);
	assert_int_equal(recover(&im, &report), 0);
	assert_int_equal(report.words_written, 0);
	free(im.bytes);
}

static void an_interruption_at_any_write_changes_nothing_about_the_result(void **state)
{
	struct image im, whole;
	struct nvw_recovery report;
	uint64_t writes;

	build(&im);
	/* An open epoch that left nothing but a block word, and a damaged header. */
	put_block(&im, 0, 6, NVW__BLOCK_ALLOCATED_BY, 0, 4);
	put_block(&im, 0, 7, NVW__BLOCK_FREED_BY, 3, 3);
	im.bytes[100] ^= 1;
	whole = image_copy(&im);
	assert_int_equal(recover(&whole, &report), 0);
	assert_int_equal(report.header_repaired, 1);
	writes = whole.writes;
	assert_true(writes > 5);
	for (uint64_t at = 0; at < writes; at++) {
		struct image cut = image_copy(&im);

		cut.stop_at = at;
		assert_int_equal(recover(&cut, &report), NVW_E_STOPPED);
		cut.stop_at = UINT64_MAX;
		assert_int_equal(recover(&cut, &report), 0);
		assert_memory_equal(cut.bytes, whole.bytes, whole.size);
		free(cut.bytes);
	}
	free(im.bytes);
	free(whole.bytes);
}

static bool is_data_0(void *context, nvw_off block, uint64_t bytes)
{
	return block == *(nvw_off *)context;
}

static void a_sweep_frees_what_nobody_reaches(void **state)
{
	struct image im;
	struct nvw_recovery report;
	struct nvw_pool *pool;
	nvw_off keep;

	build(&im);
	assert_int_equal(recover(&im, &report), 0);
	keep = data_at(&im, 0);
	report = (struct nvw_recovery){0};
	assert_int_equal(open_image(&im, &pool), 0);
	assert_int_equal(nvw_heap_sweep(pool, is_data_0, &keep, &report), 0);
	assert_int_equal(report.blocks_freed, 3); /* two blocks and the extent */
	nvw_pool_close(pool);
	assert_true(allocated(&im, keep));
	assert_false(allocated(&im, data_at(&im, 1)));
	assert_false(allocated(&im, nvw__chunk_off(&im.g, 1)));
	free(im.bytes);
}

/* ---- Damage -------------------------------------------------------------------------------- */

/* What a user of the pool can tell apart after recovery: data, roots, which blocks are allocated, what is
 * settled. */
static uint64_t meaning(struct image *im)
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < 8; i++) {
		hash = nvw_mix64(hash ^ get(im, data_at(im, i)));
		hash = nvw_mix64(hash ^ allocated(im, data_at(im, i)));
		hash = nvw_mix64(hash ^ get(im, nvw_pool_root_off(&im->g, i)));
	}
	hash = nvw_mix64(hash ^ allocated(im, nvw__chunk_off(&im->g, 1)));
	for (uint32_t s = 0; s < STREAMS; s++) {
		hash = nvw_mix64(hash ^ get(im, nvw__est_off(&im->g, s)));
	}
	return hash;
}

static void flip(const struct image *im, nvw_off at, uint8_t bits, uint64_t expected)
{
	struct image bad = image_copy(im), before;
	struct nvw_recovery report;
	int r;

	bad.bytes[at] ^= bits;
	before = image_copy(&bad);
	r = recover(&bad, &report);
	if (r == 0) {
		if (meaning(&bad) != expected) {
			fail_msg("offset %llu, bits %02x: a wrong answer in silence", (unsigned long long)at,
				bits);
		}
	} else {
		assert_true(r == NVW_E_DAMAGED || r == NVW_E_NOT_A_POOL || r == NVW_E_VERSION);
		assert_memory_equal(bad.bytes, before.bytes, bad.size);
	}
	free(bad.bytes);
	free(before.bytes);
}

static void a_changed_byte_behind_either_header_is_mended(void **state)
{
	const nvw_off at[] = {sizeof(struct nvw__header), NVW__COPY_OFF - 1,
		NVW__COPY_OFF + sizeof(struct nvw__header), NVW__ROOTS_OFF - 1};

	for (unsigned i = 0; i < sizeof at / sizeof *at; i++) {
		struct nvw_recovery report;
		struct image im;

		build(&im);
		im.bytes[at[i]] = 1;
		assert_int_equal(recover(&im, &report), 0);
		assert_int_equal(report.header_repaired, 1);
		assert_int_equal(im.bytes[at[i]], 0);
		assert_memory_equal(im.bytes, im.bytes + NVW__COPY_OFF, NVW__PAGE_BYTES);
		free(im.bytes);
	}
}

static void a_pool_that_has_lost_its_end_is_refused(void **state)
{
	struct nvw_recovery report;
	struct image im;

	build(&im);
	im.size -= 4096;
	assert_int_equal(recover(&im, &report), NVW_E_DAMAGED);
	im.size += 2 * 4096;
	im.bytes = realloc(im.bytes, im.size);
	memset(im.bytes + im.size - 4096, 0, 4096);
	assert_int_equal(recover(&im, &report), NVW_E_DAMAGED);
	free(im.bytes);
}

static void the_header_of_another_pool_beside_ones_own_is_refused(void **state)
{
	struct nvw_recovery report;
	struct image im, other;

	build(&im);
	build(&other);
	memcpy(im.bytes + NVW__COPY_OFF, other.bytes + NVW__COPY_OFF, NVW__PAGE_BYTES);
	assert_int_equal(recover(&im, &report), NVW_E_DAMAGED);
	free(im.bytes);
	free(other.bytes);
}

static void every_changed_byte_of_the_metadata_is_noticed_or_harmless(void **state)
{
	static const uint8_t changes[] = {0x01, 0x80, 0xff};
	struct image im, whole;
	struct nvw_recovery report;
	uint64_t expected;
	const nvw_off table = 8 * 48; /* the first block words of chunk 0 */

	build(&im);
	whole = image_copy(&im);
	assert_int_equal(recover(&whole, &report), 0);
	expected = meaning(&whole);
	for (unsigned c = 0; c < sizeof changes; c++) {
		for (nvw_off at = 0; at < im.g.chunks + table; at++) {
			/* Root words are the structure's own, and so is what nothing uses between the tables
			 * and the chunks. */
			const bool is_root = at >= im.g.roots && at < im.g.roots + 8 * NVW_POOL_ROOTS;
			const bool is_header = at < im.g.roots;

			if (is_root || (is_header && at % 4096 >= 256 && at % 512) ||
				(at >= im.g.chunk_table + 64 && at < im.g.chunks)) {
				continue;
			}
			flip(&im, at, changes[c], expected);
		}
	}
	free(im.bytes);
	free(whole.bytes);
}

static void a_word_that_strayed_from_its_place_is_damage(void **state)
{
	struct image im;
	struct nvw_recovery report;

	build(&im);
	put(&im, nvw__est_off(&im.g, 0), get(&im, nvw__est_off(&im.g, 1)));
	assert_int_equal(recover(&im, &report), NVW_E_DAMAGED);
	assert_non_null(strstr(nvw_error_message(), "offset 0x"));
	free(im.bytes);
}

static void a_log_entry_that_points_outside_the_data_is_damage(void **state)
{
	static const nvw_off places[] = {0, 4096, 8, UINT64_C(1) << 34};

	for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
		struct image im;
		struct nvw_recovery report;

		build(&im);
		put_entry(&im, 1, 0, 6, places[i], 1, 15);
		assert_int_equal(recover(&im, &report), NVW_E_DAMAGED);
		free(im.bytes);
	}
}

static void an_epoch_from_the_future_is_damage(void **state)
{
	struct image im;
	struct nvw_recovery report;

	build(&im);
	put_entry(&im, 1, 0, 8, data_at(&im, 0), 1, 15);
	assert_int_equal(recover(&im, &report), NVW_E_DAMAGED);
	put_entry(&im, 1, 0, 6, data_at(&im, 0), 1, 15);
	assert_int_equal(recover(&im, &report), 0);
	put_block(&im, 0, 5, NVW__BLOCK_ALLOCATED_BY, 0, 9);
	assert_int_equal(recover(&im, &report), NVW_E_DAMAGED);
	free(im.bytes);
}

static void a_sealed_word_that_says_the_impossible_is_damage(void **state)
{
	static const uint64_t payloads[] = {7, UINT64_C(3) << 24 | 1, UINT64_C(1) << 24};

	for (unsigned i = 0; i < sizeof payloads / sizeof *payloads; i++) {
		struct image im;
		struct nvw_recovery report;

		build(&im);
		put_sealed(&im, nvw__est_off(&im.g, 2), payloads[i]);
		assert_int_equal(recover(&im, &report), NVW_E_DAMAGED);
		free(im.bytes);
	}
}

/* ---- Random histories ---------------------------------------------------------------------- */

/* One stream changes random words, epoch by epoch, with its barriers; the power goes anywhere, with any part
 * of the step under way. Recovery must give the state before or after the last epoch. */
static void random_history(uint64_t seed, uint64_t first)
{
	enum { WORDS = 6 };
	struct nvw_random random = {nvw_mix64(seed + 1)};
	uint64_t before[WORDS] = {0}, after[WORDS], now[WORDS];
	const unsigned last = 1 + (unsigned)nvw_random_below(&random, 5),
		       step = (unsigned)nvw_random_below(&random, 4);
	struct image im;
	struct nvw_recovery report;
	bool is_before = true, is_after = true;

	image_new(&im);
	put_sealed(&im, nvw__chunk_word_off(&im.g, 0), nvw__chunk_payload(NVW__CHUNK_CLASS, 1));
	if (first > 1) {
		put_est(&im, 0, NVW__EST_COMPLETED, first - 1);
	}
	for (uint64_t epoch = first; epoch < first + last; epoch++) {
		const bool cut = epoch + 1 == first + last;
		const unsigned changes = 1 + (unsigned)nvw_random_below(&random, ENTRIES);
		unsigned word[ENTRIES];

		memcpy(after, before, sizeof after);
		for (unsigned i = 0; i < changes; i++) {
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
	assert_int_equal(recover(&im, &report), 0);
	for (unsigned i = 0; i < WORDS; i++) {
		now[i] = get(&im, data_at(&im, i));
		is_before = is_before && now[i] == before[i];
		is_after = is_after && now[i] == after[i];
	}
	assert_true(step == 3 ? is_after : is_before);
	free(im.bytes);
}

static void random_histories_end_before_or_after_their_last_epoch(void **state)
{
	for (uint64_t seed = 0; seed < 300; seed++) {
		random_history(seed, 1);
	}
	/* Streams that have counted for long: over every power of two below the last epoch. */
	for (unsigned bit = 4; bit < NVW__ENTRY_EPOCH_BITS; bit++) {
		random_history(bit, (UINT64_C(1) << bit) - 2);
	}
	random_history(0, NVW__EPOCH_MAX - 6);
}

/* As docs/pool-format.md places them. */
static void an_entry_names_every_word_of_the_largest_pool(void **state)
{
	struct nvw_random random = {5};

	for (unsigned i = 0; i < 1000; i++) {
		const struct nvw__undo undo = {
			8 * (nvw_random_u64(&random) >> (30 + i % 20)), nvw_random_u64(&random)};
		const uint64_t number = undo.off / 8, epoch = NVW__EPOCH_MAX - i;
		uint64_t payload[NVW__ENTRY_WORDS];

		for (unsigned k = 0; k < NVW__ENTRY_WORDS; k++) {
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
static void a_word_beyond_32_GiB_is_restored(void **state)
{
	const struct nvw_pool_params params = {.bytes = UINT64_C(64) << 30, .sparse = true, .layout = "test"};
	struct nvw_recovery report = {0};
	struct nvw_pool *pool;
	char path[64];

	snprintf(path, sizeof path, "/tmp/nvwave-test-%ld.pool", (long)getpid());
	unlink(path);
	assert_int_equal(nvw_pool_create(path, &params, &pool), 0);
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	const struct nvw__undo undo = {nvw__chunk_off(g, g->chunk_count) - 8, 77};

	assert_true(undo.off > UINT64_C(63) << 30);
	for (unsigned i = 0; i < NVW__ENTRY_WORDS; i++) {
		const nvw_off at = nvw__entry_off(g, 0, 0) + 8 * i;

		assert_int_equal(
			nvw_pool_write_word(pool, at, nvw_seal(at, nvw__entry_payload(&undo, 1, i))), 0);
	}
	assert_int_equal(nvw_pool_write_word(pool, undo.off, 78), 0);
	nvw_pool_close(pool);
	assert_int_equal(nvw_pool_open(path, NVW_POOL_WRITE, &pool), 0);
	assert_int_equal(nvw_recover(pool, &report), 0);
	assert_int_equal(report.words_restored, 1);
	assert_int_equal(nvw_pool_word(pool, undo.off), 77);
	nvw_pool_close(pool);
	unlink(path);
}

static void the_state_of_a_stream_is_told_of_those_that_exist(void **state)
{
	static const struct nvw_stream_state expected[STREAMS] = {{3, NVW_EPOCH_COMPLETED, 0},
		{5, NVW_EPOCH_COMPLETED, 3}, {0, NVW_EPOCH_NEVER, 0}, {2, NVW_EPOCH_ROLLED_BACK, 0}};
	struct nvw_stream_state found;
	struct nvw_pool *pool;
	struct image im;

	build(&im);
	assert_int_equal(open_image(&im, &pool), 0);
	for (uint32_t stream = 0; stream < STREAMS; stream++) {
		assert_int_equal(nvw_stream_state(pool, stream, &found), 0);
		assert_int_equal(found.settled, expected[stream].settled);
		assert_int_equal(found.state, expected[stream].state);
		assert_int_equal(found.open_entries, expected[stream].open_entries);
	}
	assert_int_equal(nvw_stream_state(pool, STREAMS, &found), NVW_E_USAGE);
	assert_int_equal(nvw_stream_state(pool, STREAMS + 1, &found), NVW_E_USAGE);
	nvw_pool_close(pool);
	free(im.bytes);
}

static bool reach_nothing(void *context, nvw_off block, uint64_t bytes)
{
	return false;
}

static void recovery_and_sweep_count_every_word_that_they_write(void **state)
{
	struct nvw_recovery report = {0};
	struct nvw_pool *pool;
	struct image im;

	build(&im);
	assert_int_equal(open_image(&im, &pool), 0);
	assert_int_equal(nvw_recover(pool, &report), 0);
	assert_int_equal(report.words_written, im.writes);
	assert_int_equal(nvw_heap_sweep(pool, reach_nothing, NULL, &report), 0);
	assert_int_equal(report.words_written, im.writes);
	nvw_pool_close(pool);
	free(im.bytes);
}

static void a_changed_byte_is_harmless_in_a_settled_entry_and_damage_in_one_never_written(void **state)
{
	for (unsigned i = 0; i < NVW__ENTRY_WORDS; i++) {
		struct nvw_recovery report;
		struct image im;

		build(&im);
		im.bytes[nvw__entry_off(&im.g, 0, 0) + 8 * i] ^= 1;
		assert_int_equal(recover(&im, &report), 0);
		im.bytes[nvw__entry_off(&im.g, 0, 1) + 8 * i] ^= 1;
		assert_int_equal(recover(&im, &report), NVW_E_DAMAGED);
		free(im.bytes);
	}
}

static void a_settled_block_word_that_names_a_stream_or_an_epoch_is_damage(void **state)
{
	for (unsigned i = 0; i < 4; i++) {
		const enum nvw__block_kind kind = i % 2 ? NVW__BLOCK_ALLOCATED : NVW__BLOCK_FREE;
		struct nvw_recovery report;
		struct image im;

		build(&im);
		put_block(&im, 0, 5, kind, i < 2, i >= 2);
		assert_int_equal(recover(&im, &report), NVW_E_DAMAGED);
		put_block(&im, 0, 5, kind, 0, 0);
		assert_int_equal(recover(&im, &report), 0);
		free(im.bytes);
	}
}

static void recovery_counts_the_streams_whose_last_epoch_completed(void **state)
{
	struct nvw_recovery report;
	struct image im;

	build(&im);
	assert_int_equal(recover(&im, &report), 0);
	assert_int_equal(recover(&im, &report), 0);
	assert_int_equal(report.epochs_completed, 1);
	assert_int_equal(report.epochs_rolled_back, 0);
	put_est(&im, 1, NVW__EST_COMPLETED, 7);
	assert_int_equal(recover(&im, &report), 0);
	assert_int_equal(report.epochs_completed, 2);
	free(im.bytes);
}

static void the_damaged_page_of_the_header_is_named(void **state)
{
	static const nvw_off pages[] = {NVW__HEADER_OFF, NVW__COPY_OFF};

	for (unsigned i = 0; i < 2; i++) {
		struct nvw_pool *pool;
		struct image im;

		build(&im);
		assert_int_equal(open_image(&im, &pool), 0);
		assert_int_equal(nvw__header_damaged(pool), 0);
		im.bytes[pages[i] + 100] ^= 1;
		assert_int_equal(nvw__header_damaged(pool), i + 1);
		nvw_pool_close(pool);
		free(im.bytes);
	}
}

static void a_chunk_that_cannot_be_is_damage_and_its_neighbours_are_not(void **state)
{
	static const struct {
		enum nvw__chunk_kind kind;
		uint64_t taken, refused;
	} limits[] = {{NVW__CHUNK_EXTENT, 2, 3}, {NVW__CHUNK_CLASS, NVW_HEAP_CLASSES - 1, NVW_HEAP_CLASSES},
		{NVW__CHUNK_FREE, 0, 1}, {NVW__CHUNK_EXTENT, 1, 0}};
	struct nvw_recovery report;
	struct image im;

	image_new(&im); /* of three chunks */
	for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++) {
		const nvw_off off = nvw__chunk_word_off(&im.g, 1);

		put_sealed(&im, off, nvw__chunk_payload(limits[i].kind, limits[i].refused));
		assert_int_equal(recover(&im, &report), NVW_E_DAMAGED);
		put_sealed(&im, off, nvw__chunk_payload(limits[i].kind, limits[i].taken));
		assert_int_equal(recover(&im, &report), 0);
	}
	put_sealed(&im, nvw__chunk_word_off(&im.g, 1), nvw__chunk_payload(NVW__CHUNK_KINDS, 0));
	assert_int_equal(recover(&im, &report), NVW_E_DAMAGED);
	free(im.bytes);
}

static void a_chunk_within_an_extent_is_free_or_damage(void **state)
{
	struct nvw_recovery report;
	struct image im;
	nvw_off inner;

	build(&im); /* the extent has chunks 1 and 2 */
	inner = nvw__chunk_word_off(&im.g, 2);
	put_sealed(&im, inner, nvw__chunk_payload(NVW__CHUNK_CLASS, 3));
	assert_int_equal(recover(&im, &report), NVW_E_DAMAGED);
	put(&im, inner, 1);
	assert_int_equal(recover(&im, &report), NVW_E_DAMAGED);
	put_sealed(&im, inner, nvw__chunk_payload(NVW__CHUNK_FREE, 0));
	assert_int_equal(recover(&im, &report), 0);
	free(im.bytes);
}

static void put_headers(struct image *im, const struct nvw_pool *pool)
{
	struct nvw__header header;

	assert_int_equal(nvw__header_make(pool, &header), 0);
	memcpy(im->bytes + NVW__HEADER_OFF, &header, sizeof header);
	memcpy(im->bytes + NVW__COPY_OFF, &header, sizeof header);
}

static void a_header_that_says_the_impossible_is_refused_though_its_checksum_is_right(void **state)
{
	static const struct nvw__member members[] = {
		{.count = 1}, {.number = 1}, {.count = 2, .number = 2}, {.count = NVW_POOLS_MAX + 1}};
	enum { MEMBERS = sizeof members / sizeof *members };
	struct nvw_recovery report;
	struct image im;

	image_new(&im);
	for (unsigned i = 0; i < MEMBERS + 4; i++) {
		struct nvw_pool pool = {.geometry = im.g};

		put_headers(&im, &pool);
		assert_int_equal(recover(&im, &report), 0);
		if (i < MEMBERS) {
			pool.member = members[i];
		} else if (i == MEMBERS) {
			memset(pool.device, 'x', sizeof pool.device);
		} else if (i == MEMBERS + 1) {
			memset(pool.geometry.layout, 'x', sizeof pool.geometry.layout);
		} else if (i == MEMBERS + 2) {
			pool.geometry.est += NVW__LINE_BYTES;
		} else {
			pool.geometry.streams++;
		}
		put_headers(&im, &pool);
		assert_int_equal(recover(&im, &report), NVW_E_DAMAGED);
	}
	free(im.bytes);
}

static void every_byte_of_a_block_is_in_its_place_and_no_other_byte_in_any(void **state)
{
	const struct nvw_pool_geometry g = {.chunks = 1 << 20, .chunk_count = 3};

	for (unsigned class = 0; class < NVW_HEAP_CLASSES; class ++) {
		const uint32_t bytes = nvw__class_block_bytes(class), blocks = nvw__class_blocks[class];
		const nvw_off behind = nvw__block_off(g.chunks, class, blocks);

		assert_int_equal(nvw_heap_places(&g, bytes), 3 * blocks);
		for (uint64_t i = 0; i < 3 * blocks; i++) {
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

static void a_pool_that_keeps_no_holders_has_none(void **state)
{
	struct nvw_pool *pool;
	struct image im;
	nvw_off off = 77;

	build(&im);
	assert_int_equal(open_image(&im, &pool), 0);
	assert_int_equal(nvw_pool_holders(pool, 1, &off, 1), 0);
	assert_int_equal(off, 77);
	nvw_pool_close(pool);
	free(im.bytes);
}

/* ---- Looked through ------------------------------------------------------------------------ */

/*
 * Epochs of each stream that are known to have completed: none, or what build() leaves; its last stream's was
 * rolled back.
 */
static uint64_t none_known[STREAMS], known[STREAMS] = {3, 5, 0, 0};

static uint64_t completed(void *context, uint32_t stream)
{
	return ((const uint64_t *)context)[stream];
}

/* An empty pool whose pages take no memory until they are written. */
static void sparse_new(struct image *im, uint64_t bytes, unsigned *asked)
{
	struct nvw_pool pool = {0};

	assert_int_equal(nvw__geometry(bytes, STREAMS, ENTRIES, &pool.geometry), 0);
	*im = (struct image){.size = bytes, .g = pool.geometry, .stop_at = UINT64_MAX, .asked = asked};
	im->bytes =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(im->bytes != MAP_FAILED);
	put_headers(im, &pool);
}

/*
 * Entry 0 of stream 1 is open. Of its word's offset only the bits above 128 MiB are in the entry's second
 * word.
 */
static void a_word_looked_through_beyond_128_MiB_has_the_value_that_recovery_restores(void **state)
{
	const uint64_t distance = UINT64_C(128) << 20;
	unsigned asked = 0;
	struct image im;

	sparse_new(&im, distance + (UINT64_C(1) << 20), &asked);
	for (unsigned i = 0; i < 2; i++) {
		const nvw_off off = im.g.chunks + 64, far = off + distance, named = i ? far : off,
			      other = i ? off : far;
		struct nvw_recovery report;
		struct nvw_pool *pool;
		uint64_t value = 0;

		put_est(&im, 1, NVW__EST_COMPLETED, 8);
		put_entry(&im, 1, 0, 9, named, 77, 15);
		assert_int_equal(open_image(&im, &pool), 0);

		const struct rec_through through = {
			.before = pool, .completed = completed, .context = none_known};

		assert_true(rec_through_restores(&through, 1, 0, named, &value));
		assert_int_equal(value, 77);
		asked = 0;
		assert_false(rec_through_restores(&through, 1, 0, other, &value));
		assert_int_equal(asked, 2); /* whose it is, two words say */
		nvw_pool_close(pool);
		assert_int_equal(recover(&im, &report), 0);
		assert_int_equal(get(&im, named), 77);
		assert_int_equal(get(&im, other), i ? 77 : 0);
	}
	munmap(im.bytes, im.size);
}

static void assert_looked_through(
	const struct rec_through *through, const struct image *before, const struct image *recovered)
{
	static const enum rec_verdict verdicts[STREAMS][ENTRIES] = {
		[1] = {REC_RESTORE, REC_RESTORE, REC_RESTORE}, [2] = {REC_TORN}};
	const nvw_off block_words = nvw__chunk_off(&before->g, 0);
	struct rec_entry entry;
	uint64_t word;

	for (uint32_t stream = 0; stream < STREAMS; stream++) {
		assert_int_equal(rec_through_stream(through, stream), 0);
		for (uint32_t i = 0; i < ENTRIES; i++) {
			assert_int_equal(rec_through_entry(through, stream, i, &entry), 0);
			assert_int_equal(entry.verdict, verdicts[stream][i]);
		}
	}
	for (uint32_t i = 0; i < nvw__class_blocks[1]; i++) {
		assert_true(rec_through_is_block_word(through, block_words + 8 * i));
		assert_int_equal(rec_through_block(through, block_words + 8 * i, &word), 0);
		assert_int_equal(word, get(recovered, block_words + 8 * i));
	}
	assert_false(rec_through_is_block_word(through, block_words + 8 * nvw__class_blocks[1]));
	assert_false(rec_through_is_block_word(through, block_words - 8));
	assert_false(rec_through_is_block_word(through, nvw__chunk_off(&before->g, 1)));
	assert_false(rec_through_is_block_word(through, nvw__chunk_off(&before->g, before->g.chunk_count)));
	assert_int_equal(rec_through_chunk(through, 0), 0);
}

/*
 * An entry that was never written, or whose epoch is known to be over, says so by itself: the status table is
 * damaged.
 */
static void the_status_table_is_looked_at_for_other_entries_alone(void **state)
{
	struct rec_entry entry;
	struct nvw_pool *pool;
	struct image im;

	build(&im);
	im.bytes[nvw__est_off(&im.g, 0)] ^= 1;
	assert_int_equal(open_image(&im, &pool), 0);
	for (unsigned i = 0; i < 2; i++) {
		const struct rec_through through = {
			.before = pool, .completed = completed, .context = i ? known : none_known};

		assert_int_equal(rec_through_entry(&through, 0, 0, &entry), i ? 0 : NVW_E_DAMAGED);
		assert_int_equal(rec_through_entry(&through, 0, 1, &entry), 0);
		assert_int_equal(entry.verdict, REC_IGNORE);
	}
	nvw_pool_close(pool);
	free(im.bytes);
}

static void what_is_looked_through_is_what_recovery_does(void **state)
{
	struct nvw_recovery report;
	struct image im, recovered;
	struct nvw_pool *pool;

	build(&im);
	recovered = image_copy(&im);
	assert_int_equal(recover(&recovered, &report), 0);
	assert_int_equal(open_image(&im, &pool), 0);
	for (unsigned i = 0; i < 2; i++) {
		const struct rec_through through = {
			.before = pool, .completed = completed, .context = i ? known : none_known};

		assert_looked_through(&through, &im, &recovered);
	}
	nvw_pool_close(pool);
	free(im.bytes);
	free(recovered.bytes);
}

static void damage_that_is_looked_through_is_found(void **state)
{
	struct rec_entry entry;
	struct nvw_pool *pool;
	struct image im;
	uint64_t word;

	build(&im);
	im.bytes[nvw__est_off(&im.g, 2)] ^= 1;
	im.bytes[nvw__chunk_word_off(&im.g, 2)] ^= 1;
	im.bytes[nvw__entry_off(&im.g, 1, 1)] ^= 1;
	im.bytes[nvw__chunk_off(&im.g, 0) + 8 * 3] ^= 1;
	assert_int_equal(open_image(&im, &pool), 0);

	const struct rec_through through = {.before = pool, .completed = completed, .context = none_known};

	assert_int_equal(rec_through_stream(&through, 2), NVW_E_DAMAGED);
	assert_int_equal(rec_through_chunk(&through, 2), NVW_E_DAMAGED);
	assert_int_equal(rec_through_entry(&through, 1, 1, &entry), NVW_E_DAMAGED);
	assert_int_equal(rec_through_block(&through, nvw__chunk_off(&im.g, 0) + 8 * 3, &word), NVW_E_DAMAGED);
	nvw_pool_close(pool);
	free(im.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exactly_one_case_fits_every_combination_of_facts),
		cmocka_unit_test(open_epochs_are_undone_and_complete_ones_kept),
		cmocka_unit_test(a_crash_test_notes_the_most_that_recovery_did),
		cmocka_unit_test(a_torn_entry_is_ignored_whichever_words_are_missing),
		cmocka_unit_test(an_entry_is_torn_however_long_ago_its_slot_was_used),
		cmocka_unit_test(a_torn_entry_of_a_later_epoch_is_damage),
		cmocka_unit_test(recovering_twice_writes_nothing),
		cmocka_unit_test(an_interruption_at_any_write_changes_nothing_about_the_result),
		cmocka_unit_test(a_sweep_frees_what_nobody_reaches),
		cmocka_unit_test(a_changed_byte_behind_either_header_is_mended),
		cmocka_unit_test(a_pool_that_has_lost_its_end_is_refused),
		cmocka_unit_test(the_header_of_another_pool_beside_ones_own_is_refused),
		cmocka_unit_test(every_changed_byte_of_the_metadata_is_noticed_or_harmless),
		cmocka_unit_test(a_word_that_strayed_from_its_place_is_damage),
		cmocka_unit_test(a_log_entry_that_points_outside_the_data_is_damage),
		cmocka_unit_test(an_epoch_from_the_future_is_damage),
		cmocka_unit_test(a_sealed_word_that_says_the_impossible_is_damage),
		cmocka_unit_test(random_histories_end_before_or_after_their_last_epoch),
		cmocka_unit_test(an_entry_names_every_word_of_the_largest_pool),
		cmocka_unit_test(a_word_beyond_32_GiB_is_restored),
		cmocka_unit_test(the_state_of_a_stream_is_told_of_those_that_exist),
		cmocka_unit_test(recovery_and_sweep_count_every_word_that_they_write),
		cmocka_unit_test(
			a_changed_byte_is_harmless_in_a_settled_entry_and_damage_in_one_never_written),
		cmocka_unit_test(a_settled_block_word_that_names_a_stream_or_an_epoch_is_damage),
		cmocka_unit_test(recovery_counts_the_streams_whose_last_epoch_completed),
		cmocka_unit_test(the_damaged_page_of_the_header_is_named),
		cmocka_unit_test(a_word_looked_through_beyond_128_MiB_has_the_value_that_recovery_restores),
		cmocka_unit_test(a_chunk_that_cannot_be_is_damage_and_its_neighbours_are_not),
		cmocka_unit_test(a_chunk_within_an_extent_is_free_or_damage),
		cmocka_unit_test(a_header_that_says_the_impossible_is_refused_though_its_checksum_is_right),
		cmocka_unit_test(a_pool_that_keeps_no_holders_has_none),
		cmocka_unit_test(every_byte_of_a_block_is_in_its_place_and_no_other_byte_in_any),
		cmocka_unit_test(the_status_table_is_looked_at_for_other_entries_alone),
		cmocka_unit_test(what_is_looked_through_is_what_recovery_does),
		cmocka_unit_test(damage_that_is_looked_through_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
