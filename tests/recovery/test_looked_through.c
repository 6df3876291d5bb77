/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool looked through, without being recovered, shows what recovery would make of it (recovery/through.h).
 */
#include "image.h"

#include <sys/mman.h>

#include "recovery/through.h"

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

	assert_ok(nvw__geometry(bytes, STREAMS, ENTRIES, &pool.geometry));
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
TEST(a_word_looked_through_beyond_128_MiB_has_the_value_that_recovery_restores)
{
	const uint64_t distance = UINT64_C(128) << 20;
	unsigned asked = 0;
	struct image im;

	sparse_new(&im, distance + (UINT64_C(1) << 20), &asked);
	NVW_FOR(i, 2) {
		const nvw_off off = im.g.chunks + 64, far = off + distance, named = i ? far : off,
			      other = i ? off : far;
		struct nvw_pool *pool;
		uint64_t value = 0;

		put_est(&im, 1, NVW__EST_COMPLETED, 8);
		put_entry(&im, 1, 0, 9, named, 77, 15);
		assert_ok(open_image(&im, &pool));

		const struct rec_through through = {
			.before = pool, .completed = completed, .context = none_known};

		assert_true(rec_through_restores(&through, 1, 0, named, &value));
		assert_int_equal(value, 77);
		asked = 0;
		assert_false(rec_through_restores(&through, 1, 0, other, &value));
		assert_int_equal(asked, 2); /* whose it is, two words say */
		nvw_pool_close(pool);
		assert_ok(recover(&im, NULL));
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

	NVW_FOR(stream, STREAMS) {
		assert_ok(rec_through_stream(through, stream));
		NVW_FOR(i, ENTRIES) {
			assert_ok(rec_through_entry(through, stream, i, &entry));
			assert_int_equal(entry.verdict, verdicts[stream][i]);
		}
	}
	NVW_FOR(i, nvw__class_blocks[1]) {
		assert_true(rec_through_is_block_word(through, block_words + 8 * i));
		assert_ok(rec_through_block(through, block_words + 8 * i, &word));
		assert_int_equal(word, get(recovered, block_words + 8 * i));
	}
	assert_false(rec_through_is_block_word(through, block_words + 8 * nvw__class_blocks[1]));
	assert_false(rec_through_is_block_word(through, block_words - 8));
	assert_false(rec_through_is_block_word(through, nvw__chunk_off(&before->g, 1)));
	assert_false(rec_through_is_block_word(through, nvw__chunk_off(&before->g, before->g.chunk_count)));
	assert_ok(rec_through_chunk(through, 0));
}

/*
 * An entry that was never written, or whose epoch is known to be over, says so by itself: the status table is
 * damaged.
 */
TEST(the_status_table_is_looked_at_for_other_entries_alone)
{
	struct rec_entry entry;
	IMAGE(im) = built();

	im.bytes[nvw__est_off(&im.g, 0)] ^= 1;
	POOL(pool) = opened(&im);

	NVW_FOR(i, 2) {
		const struct rec_through through = {
			.before = pool, .completed = completed, .context = i ? known : none_known};

		assert_int_equal(rec_through_entry(&through, 0, 0, &entry), i ? 0 : NVW_E_DAMAGED);
		assert_ok(rec_through_entry(&through, 0, 1, &entry));
		assert_int_equal(entry.verdict, REC_IGNORE);
	}
}

TEST(what_is_looked_through_is_what_recovery_does)
{
	IMAGE(im) = built();
	IMAGE(recovered) = image_copy(&im);

	assert_ok(recover(&recovered, NULL));
	POOL(pool) = opened(&im);

	NVW_FOR(i, 2) {
		const struct rec_through through = {
			.before = pool, .completed = completed, .context = i ? known : none_known};

		assert_looked_through(&through, &im, &recovered);
	}
}

TEST(damage_that_is_looked_through_is_found)
{
	struct rec_entry entry;
	IMAGE(im) = built();
	uint64_t word;

	im.bytes[nvw__est_off(&im.g, 2)] ^= 1;
	im.bytes[nvw__chunk_word_off(&im.g, 2)] ^= 1;
	im.bytes[nvw__entry_off(&im.g, 1, 1)] ^= 1;
	im.bytes[nvw__chunk_off(&im.g, 0) + 8 * 3] ^= 1;
	POOL(pool) = opened(&im);

	const struct rec_through through = {.before = pool, .completed = completed, .context = none_known};

	assert_int_equal(rec_through_stream(&through, 2), NVW_E_DAMAGED);
	assert_int_equal(rec_through_chunk(&through, 2), NVW_E_DAMAGED);
	assert_int_equal(rec_through_entry(&through, 1, 1, &entry), NVW_E_DAMAGED);
	assert_int_equal(rec_through_block(&through, nvw__chunk_off(&im.g, 0) + 8 * 3, &word), NVW_E_DAMAGED);
}
