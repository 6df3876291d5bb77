/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery on pools that are torn or damaged: a torn entry is ignored, and no damage goes unnoticed. */
#include "image.h"

#include <stdlib.h>
#include <string.h>

#include <nvw/random.h>

#include "core/each.h"

/* ---- Torn entries -------------------------------------------------------------------------------- */

/* Recovers after an old epoch and one whose entry has only some of its words. */
static struct nvw_recovery recover_torn(uint64_t old, uint64_t epoch, unsigned words)
{
	IMAGE(im) = image_new();
	struct nvw_recovery report;

	put_sealed(&im, nvw__chunk_word_off(&im.g, 0), nvw__chunk_payload(NVW__CHUNK_CLASS, 1));
	put_est(&im, 0, NVW__EST_COMPLETED, epoch - 1);
	put_entry(&im, 0, 0, old, data_at(&im, 0), 0x1111111111111111, 15);
	put_entry(&im, 0, 0, epoch, data_at(&im, 1), 0x2222222222222222, words);
	put(&im, data_at(&im, 0), 10);
	put(&im, data_at(&im, 1), 20);
	assert_ok(recover(&im, &report));
	assert_int_equal(get(&im, data_at(&im, 0)), 10);
	assert_int_equal(get(&im, data_at(&im, 1)), words == 15 ? 0x2222222222222222 : 20);
	return report;
}

TEST(a_torn_entry_is_ignored_whichever_words_are_missing)
{
	NVW_FOR(words, 16) {
		/* Once an entry of epoch 9 was begun, the next epoch must be another one. */
		assert_int_equal(recover_torn(7, 9, words).epochs_rolled_back, words != 0);
	}
}

/*
 * A slot of the log that is used every 65,536 or 2^20 epochs: its words tell the two epochs apart by all of
 * their bits.
 */
TEST(an_entry_is_torn_however_long_ago_its_slot_was_used)
{
	static const uint64_t distances[] = {1, 256, 65536, 1 << 20, 1 << 22};

	NVW_FOR(i, NVW_COUNT(distances) * 16) {
		const uint64_t old = 70000;
		const unsigned words = i % 16;

		assert_int_equal(recover_torn(old, old + distances[i / 16], words).entries_torn,
			words != 0 && words != 15);
	}
}

/*
 * A later epoch cannot have begun, however few words of its entry are there: the mark of this one would leave
 * it open.
 */
TEST(a_torn_entry_of_a_later_epoch_is_damage)
{
	for (unsigned words = 1; words < 16; words++) {
		IMAGE(im) = image_new();

		put_sealed(&im, nvw__chunk_word_off(&im.g, 0), nvw__chunk_payload(NVW__CHUNK_CLASS, 1));
		put_est(&im, 0, NVW__EST_COMPLETED, 8);
		put_entry(&im, 0, 0, 9, data_at(&im, 0), 0x1111111111111111, 15);
		put_entry(&im, 0, 1, 7, data_at(&im, 1), 0x2222222222222222, 15);
		put_entry(&im, 0, 1, 10, data_at(&im, 1), 0x3333333333333333, words);
		put(&im, data_at(&im, 0), 10);
		assert_int_equal(recover(&im, NULL), NVW_E_DAMAGED);
		assert_int_equal(get(&im, data_at(&im, 0)), 10);
	}
}

/* ---- Headers ------------------------------------------------------------------------------------- */

TEST(a_changed_byte_behind_either_header_is_mended)
{
	const nvw_off at[] = {sizeof(struct nvw__header), NVW__COPY_OFF - 1,
		NVW__COPY_OFF + sizeof(struct nvw__header), NVW__ROOTS_OFF - 1};

	for_each(row, at) {
		struct nvw_recovery report;
		IMAGE(im) = built();

		im.bytes[*row] = 1;
		assert_ok(recover(&im, &report));
		assert_int_equal(report.header_repaired, 1);
		assert_int_equal(im.bytes[*row], 0);
		assert_memory_equal(im.bytes, im.bytes + NVW__COPY_OFF, NVW__PAGE_BYTES);
	}
}

TEST(a_pool_that_has_lost_its_end_is_refused)
{
	IMAGE(im) = built();

	im.size -= 4096;
	assert_int_equal(recover(&im, NULL), NVW_E_DAMAGED);
	im.size += 2 * 4096;
	im.bytes = realloc(im.bytes, im.size);
	memset(im.bytes + im.size - 4096, 0, 4096);
	assert_int_equal(recover(&im, NULL), NVW_E_DAMAGED);
}

TEST(the_header_of_another_pool_beside_ones_own_is_refused)
{
	IMAGE(im) = built();
	IMAGE(other) = built();

	memcpy(im.bytes + NVW__COPY_OFF, other.bytes + NVW__COPY_OFF, NVW__PAGE_BYTES);
	assert_int_equal(recover(&im, NULL), NVW_E_DAMAGED);
}

TEST(the_damaged_page_of_the_header_is_named)
{
	static const nvw_off pages[] = {NVW__HEADER_OFF, NVW__COPY_OFF};

	NVW_FOR(i, 2) {
		IMAGE(im) = built();
		POOL(pool) = opened(&im);

		assert_int_equal(nvw__header_damaged(pool), 0);
		im.bytes[pages[i] + 100] ^= 1;
		assert_int_equal(nvw__header_damaged(pool), i + 1);
	}
}

TEST(a_header_that_says_the_impossible_is_refused_though_its_checksum_is_right)
{
	static const struct nvw__member members[] = {
		{.count = 1}, {.number = 1}, {.count = 2, .number = 2}, {.count = NVW_POOLS_MAX + 1}};
	enum { MEMBERS = NVW_COUNT(members) };
	IMAGE(im) = image_new();

	NVW_FOR(i, MEMBERS + 4) {
		struct nvw_pool pool = {.geometry = im.g};

		put_headers(&im, &pool);
		assert_ok(recover(&im, NULL));
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
		assert_int_equal(recover(&im, NULL), NVW_E_DAMAGED);
	}
}

/* ---- Words --------------------------------------------------------------------------------------- */

/* What a user of the pool can tell apart after recovery: data, roots, which blocks are allocated, what is
 * settled. */
static uint64_t meaning(struct image *im)
{
	uint64_t hash = 0;

	NVW_FOR(i, 8) {
		hash = nvw_mix64(hash ^ get(im, data_at(im, i)));
		hash = nvw_mix64(hash ^ allocated(im, data_at(im, i)));
		hash = nvw_mix64(hash ^ get(im, nvw_pool_root_off(&im->g, i)));
	}
	hash = nvw_mix64(hash ^ allocated(im, nvw__chunk_off(&im->g, 1)));
	NVW_FOR(s, STREAMS) {
		hash = nvw_mix64(hash ^ get(im, nvw__est_off(&im->g, s)));
	}
	return hash;
}

static void flip(const struct image *im, nvw_off at, uint8_t bits, uint64_t expected)
{
	IMAGE(bad) = image_copy(im);

	bad.bytes[at] ^= bits;

	IMAGE(before) = image_copy(&bad);
	const int r = recover(&bad, NULL);

	if (r == 0) {
		if (meaning(&bad) != expected) {
			fail_msg("offset %llu, bits %02x: a wrong answer in silence", (unsigned long long)at,
				bits);
		}
	} else {
		assert_true(r == NVW_E_DAMAGED || r == NVW_E_NOT_A_POOL || r == NVW_E_VERSION);
		assert_memory_equal(bad.bytes, before.bytes, bad.size);
	}
}

TEST(every_changed_byte_of_the_metadata_is_noticed_or_harmless)
{
	static const uint8_t changes[] = {0x01, 0x80, 0xff};
	IMAGE(im) = built();
	IMAGE(whole) = image_copy(&im);
	const nvw_off table = 8 * 48; /* the first block words of chunk 0 */

	assert_ok(recover(&whole, NULL));

	const uint64_t expected = meaning(&whole);

	NVW_EACH(change, changes, sizeof changes) {
		NVW_FOR(at, im.g.chunks + table) {
			/* Root words are the structure's own, and so is what nothing uses between the tables
			 * and the chunks. */
			const bool is_root = at >= im.g.roots && at < im.g.roots + 8 * NVW_POOL_ROOTS;
			const bool is_header = at < im.g.roots;

			if (is_root || (is_header && at % 4096 >= 256 && at % 512) ||
				(at >= im.g.chunk_table + 64 && at < im.g.chunks)) {
				continue;
			}
			flip(&im, at, *change, expected);
		}
	}
}

TEST(a_word_that_strayed_from_its_place_is_damage)
{
	IMAGE(im) = built();

	put(&im, nvw__est_off(&im.g, 0), get(&im, nvw__est_off(&im.g, 1)));
	assert_int_equal(recover(&im, NULL), NVW_E_DAMAGED);
	assert_error_has("offset 0x");
}

TEST(a_log_entry_that_points_outside_the_data_is_damage)
{
	static const nvw_off places[] = {0, 4096, 8, UINT64_C(1) << 34};

	for_each(row, places) {
		IMAGE(im) = built();

		put_entry(&im, 1, 0, 6, *row, 1, 15);
		assert_int_equal(recover(&im, NULL), NVW_E_DAMAGED);
	}
}

TEST(an_epoch_from_the_future_is_damage)
{
	IMAGE(im) = built();

	put_entry(&im, 1, 0, 8, data_at(&im, 0), 1, 15);
	assert_int_equal(recover(&im, NULL), NVW_E_DAMAGED);
	put_entry(&im, 1, 0, 6, data_at(&im, 0), 1, 15);
	assert_ok(recover(&im, NULL));
	put_block(&im, 0, 5, NVW__BLOCK_ALLOCATED_BY, 0, 9);
	assert_int_equal(recover(&im, NULL), NVW_E_DAMAGED);
}

TEST(a_sealed_word_that_says_the_impossible_is_damage)
{
	static const uint64_t payloads[] = {7, UINT64_C(3) << 24 | 1, UINT64_C(1) << 24};

	for_each(row, payloads) {
		IMAGE(im) = built();

		put_sealed(&im, nvw__est_off(&im.g, 2), *row);
		assert_int_equal(recover(&im, NULL), NVW_E_DAMAGED);
	}
}

TEST(a_changed_byte_is_harmless_in_a_settled_entry_and_damage_in_one_never_written)
{
	NVW_FOR(i, NVW__ENTRY_WORDS) {
		IMAGE(im) = built();

		im.bytes[nvw__entry_off(&im.g, 0, 0) + 8 * i] ^= 1;
		assert_ok(recover(&im, NULL));
		im.bytes[nvw__entry_off(&im.g, 0, 1) + 8 * i] ^= 1;
		assert_int_equal(recover(&im, NULL), NVW_E_DAMAGED);
	}
}

TEST(a_settled_block_word_that_names_a_stream_or_an_epoch_is_damage)
{
	NVW_FOR(i, 4) {
		const enum nvw__block_kind kind = i % 2 ? NVW__BLOCK_ALLOCATED : NVW__BLOCK_FREE;
		IMAGE(im) = built();

		put_block(&im, 0, 5, kind, i < 2, i >= 2);
		assert_int_equal(recover(&im, NULL), NVW_E_DAMAGED);
		put_block(&im, 0, 5, kind, 0, 0);
		assert_ok(recover(&im, NULL));
	}
}

TEST(a_chunk_that_cannot_be_is_damage_and_its_neighbours_are_not)
{
	static const struct {
		enum nvw__chunk_kind kind;
		uint64_t taken, refused;
	} limits[] = {{NVW__CHUNK_EXTENT, 2, 3}, {NVW__CHUNK_CLASS, NVW_HEAP_CLASSES - 1, NVW_HEAP_CLASSES},
		{NVW__CHUNK_FREE, 0, 1}, {NVW__CHUNK_EXTENT, 1, 0}};
	IMAGE(im) = image_new(); /* of three chunks */

	for_each(limit, limits) {
		const nvw_off off = nvw__chunk_word_off(&im.g, 1);

		put_sealed(&im, off, nvw__chunk_payload(limit->kind, limit->refused));
		assert_int_equal(recover(&im, NULL), NVW_E_DAMAGED);
		put_sealed(&im, off, nvw__chunk_payload(limit->kind, limit->taken));
		assert_ok(recover(&im, NULL));
	}
	put_sealed(&im, nvw__chunk_word_off(&im.g, 1), nvw__chunk_payload(NVW__CHUNK_KINDS, 0));
	assert_int_equal(recover(&im, NULL), NVW_E_DAMAGED);
}

TEST(a_chunk_within_an_extent_is_free_or_damage)
{
	IMAGE(im) = built(); /* the extent has chunks 1 and 2 */
	const nvw_off inner = nvw__chunk_word_off(&im.g, 2);

	put_sealed(&im, inner, nvw__chunk_payload(NVW__CHUNK_CLASS, 3));
	assert_int_equal(recover(&im, NULL), NVW_E_DAMAGED);
	put(&im, inner, 1);
	assert_int_equal(recover(&im, NULL), NVW_E_DAMAGED);
	put_sealed(&im, inner, nvw__chunk_payload(NVW__CHUNK_FREE, 0));
	assert_ok(recover(&im, NULL));
}
