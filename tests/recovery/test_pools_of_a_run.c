/* SPDX-License-Identifier: BSD-3-Clause */
/* The pools of one run: their files, that the first stands for all, and that recovery covers each of them. */
#include "image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libpmem.h>

static const char *path;
static char second[80], third[80];

static int remove_all(void **state)
{
	unlink(path);
	unlink(second);
	unlink(third);
	return 0;
}

static int begin(void **state)
{
	path = test_pool();
	snprintf(second, sizeof second, "%s.1", path);
	snprintf(third, sizeof third, "%s.2", path);
	return 0;
}

GROUP(begin, remove_all, .each = remove_all);

static struct nvw_pool *create(unsigned count)
{
	const struct nvw_pool_params params[] = {
		{.heap_bytes = NVW_POOL_CHUNK_BYTES, .layout = "test", .streams = 2},
		{.heap_bytes = 2 * NVW_POOL_CHUNK_BYTES, .layout = "test", .device = "far", .streams = 3},
		{.heap_bytes = NVW_POOL_CHUNK_BYTES, .layout = "test", .device = "third"}};
	struct nvw_pool *pool;

	assert_ok(nvw_pool_create_several(path, params, count, &pool));
	return pool;
}

static void fails(const char *what, int expected, const char *message)
{
	struct nvw_pool *pool;

	assert_int_equal(nvw_pool_open(what, NVW_POOL_READ, &pool), expected);
	assert_error_has(message);
}

/* ---- Files --------------------------------------------------------------------------------- */

TEST(the_first_pool_opens_all_in_their_order)
{
	struct nvw_pool *pool = create(3);

	assert_int_equal(access(second, F_OK), 0);
	assert_int_equal(access(third, F_OK), 0);
	nvw_pool_close(pool);
	assert_ok(nvw_pool_open(path, NVW_POOL_READ, &pool));
	assert_int_equal(nvw_pool_count(pool), 3);
	assert_string_equal(nvw_pool_path(nvw_pool_number(pool, 1)), second);
	assert_string_equal(nvw_pool_device(pool), "");
	assert_string_equal(nvw_pool_device(nvw_pool_number(pool, 1)), "far");
	assert_string_equal(nvw_pool_device(nvw_pool_number(pool, 2)), "third");
	assert_null(nvw_pool_number(pool, 3));
	assert_int_equal(nvw_pool_begin(nvw_pool_number(pool, 2)),
		nvw_pool_geometry(pool)->bytes + nvw_pool_geometry(nvw_pool_number(pool, 1))->bytes);
	assert_int_equal(
		nvw_pool_run_bytes(pool), nvw_pool_begin(nvw_pool_number(pool, 2)) +
						  nvw_pool_geometry(nvw_pool_number(pool, 2))->bytes);
	nvw_pool_close(pool);
}

TEST(a_pool_that_is_alone_has_the_same_header_as_ever)
{
	POOL(pool) = create(1);
	const char *const header = nvw_pool_base(pool);

	for (size_t i = offsetof(struct nvw__header, device); i < offsetof(struct nvw__header, checksum);
		i++) {
		assert_int_equal(header[i], 0);
	}
	assert_int_equal(nvw_pool_count(pool), 1);
}

TEST(a_run_with_a_pool_missing_exchanged_or_named_alone_is_refused)
{
	char copy[96];

	nvw_pool_close(create(2));
	fails(second, NVW_E_USAGE, "is pool 1 of a run of 2");
	snprintf(copy, sizeof copy, "%s.1.copy", path);
	assert_int_equal(rename(second, copy), 0);
	fails(path, -ENOENT, second);
	assert_int_equal(rename(path, second), 0);
	assert_int_equal(rename(copy, path), 0);
	fails(path, NVW_E_USAGE, "is pool 1 of a run of 2");
	assert_int_equal(rename(path, copy), 0);
	unlink(second);
	nvw_pool_close(create(2));
	assert_int_equal(rename(copy, second), 0); /* of the run before */
	fails(path, NVW_E_DAMAGED, "found pool 1 of another run, expected pool 1 of");
}

TEST(nothing_is_left_of_a_run_that_cannot_be_created)
{
	const struct nvw_pool_params params[] = {{.layout = "test"}, {.layout = "test", .bytes = 1}};
	struct nvw_pool *pool;
	FILE *f;

	assert_int_equal(nvw_pool_create_several(path, params, 2, &pool), NVW_E_USAGE);
	assert_int_equal(access(path, F_OK), -1);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(nvw_pool_create_several(path,
				 &(const struct nvw_pool_params[]){{.layout = "test"}, {.layout = "test"}}[0],
				 2, &pool),
		-EEXIST);
	assert_int_equal(access(second, F_OK), -1);
	assert_int_equal(access(path, F_OK), 0); /* somebody else's */
	assert_int_equal(nvw_pool_create_several(path, params, NVW_POOLS_MAX + 1, &pool), NVW_E_USAGE);
}

TEST(a_writer_locks_every_pool_of_the_run)
{
	POOL(pool) = create(2);
	struct nvw_pool *other;

	assert_int_equal(nvw_pool_open(path, NVW_POOL_WRITE, &other), NVW_E_BUSY);
	assert_int_equal(nvw_pool_open(second, NVW_POOL_WRITE, &other), NVW_E_BUSY);
}

/* ---- Images -------------------------------------------------------------------------------- */

static struct image image_of_a_run(unsigned count)
{
	struct nvw_pool *const pool = create(count);
	struct image im = {.size = nvw_pool_run_bytes(pool), .stop_at = UINT64_MAX};

	im.bytes = malloc(im.size);
	nvw_pool_copy_run(pool, im.bytes);
	nvw_pool_close(pool);
	return im;
}

TEST(an_image_has_the_pools_one_behind_the_other)
{
	IMAGE(im) = image_of_a_run(3);
	struct nvw_pool *pool, *last;
	uint64_t words[8192] = {0};
	uint32_t order[8192], rank[8192];
	struct nvw_pool_reads reads = {.words = words, .order = order, .rank = rank};

	im.reads = &reads;
	assert_true(im.size / 512 < 8192);
	assert_ok(open_image(&im, &pool));
	assert_int_equal(nvw_pool_count(pool), 3);
	last = nvw_pool_number(pool, 2);

	const nvw_off off = nvw_pool_geometry(last)->chunks + 64, at = nvw_pool_begin(last) + off;

	assert_ok(nvw_pool_write_word(last, off, 77));
	assert_int_equal(*(uint64_t *)(void *)(im.bytes + at), 77);
	assert_int_equal(words[at / 512] >> (at / 8 % 64) & 1, 0);
	assert_int_equal(nvw_pool_word(last, off), 77);
	assert_int_equal(words[at / 512] >> (at / 8 % 64) & 1, 1);
	assert_null(nvw_pool_at(last, nvw_pool_geometry(last)->bytes, 1));
	nvw_pool_close(pool);
	im.size -= 4096;
	im.reads = NULL;
	assert_int_equal(open_image(&im, &pool), NVW_E_DAMAGED);
}

/* ---- Recovery ------------------------------------------------------------------------------ */

/* An open epoch of stream 1 has changed a word of the heap from old to new. */
static void open_epoch(struct image *im, const struct nvw_pool *pool, uint64_t old, uint64_t new)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	const struct nvw__undo undo = {.off = g->chunks + 128, .value = old};
	nvw_off off = nvw__entry_off(g, 1, 0);

	for (unsigned i = 0; i < NVW__ENTRY_WORDS; i++, off += 8) {
		const uint64_t word = nvw_seal(off, nvw__entry_payload(&undo, 1, i));

		memcpy(im->bytes + nvw_pool_begin(pool) + off, &word, 8);
	}
	memcpy(im->bytes + nvw_pool_begin(pool) + undo.off, &new, 8);
}

static uint64_t changed_word(const struct nvw_pool *pool)
{
	return nvw_pool_word(pool, nvw_pool_geometry(pool)->chunks + 128);
}

TEST(recovery_rolls_back_open_epochs_of_every_pool)
{
	IMAGE(im) = image_of_a_run(2);
	struct nvw_pool *pool;
	struct nvw_recovery report = {0};

	assert_ok(open_image(&im, &pool));
	open_epoch(&im, pool, 1, 2);
	open_epoch(&im, nvw_pool_number(pool, 1), 3, 4);
	nvw_pool_close(pool);

	IMAGE(before) = image_copy(&im);

	assert_ok(open_image(&im, &pool));
	assert_ok(nvw_recover(pool, &report));
	assert_int_equal(changed_word(pool), 1);
	assert_int_equal(changed_word(nvw_pool_number(pool, 1)), 3);
	assert_int_equal(report.epochs_rolled_back, 2);
	assert_int_equal(report.words_written, im.writes);
	nvw_pool_close(pool);

	/* Again: nothing; interrupted anywhere and repeated: the same bytes. */
	const uint64_t writes = im.writes;

	assert_ok(recover(&im, NULL));
	assert_int_equal(im.writes, 0);
	NVW_FOR(stop, writes) {
		IMAGE(cut) = image_copy(&before);

		cut.stop_at = stop;
		assert_int_equal(recover(&cut, NULL), NVW_E_STOPPED);
		cut.stop_at = UINT64_MAX;
		assert_ok(recover(&cut, NULL));
		assert_memory_equal(cut.bytes, im.bytes, im.size);
	}
}

TEST(damage_in_the_second_pool_leaves_the_first_untouched)
{
	IMAGE(im) = image_of_a_run(2);
	struct nvw_recovery report = {0};
	POOL(pool) = opened(&im);

	open_epoch(&im, pool, 1, 2);
	/* An epoch's number whose seal is wrong. */
	memset(im.bytes + nvw_pool_begin(nvw_pool_number(pool, 1)) +
			nvw__est_off(nvw_pool_geometry(nvw_pool_number(pool, 1)), 0),
		0x5a, 8);
	assert_int_equal(nvw_recover(pool, &report), NVW_E_DAMAGED);
	assert_int_equal(im.writes, 0);
	assert_int_equal(changed_word(pool), 2);
}

/* ---- Durability ---------------------------------------------------------------------------- */

static struct {
	const char *at;
	size_t bytes;
} synced[4];
static unsigned sync_count;
static bool watching;

/* In place of libpmem's, on a file system that is no persistent memory. */
int pmem_msync(const void *addr, size_t len)
{
	if (watching) {
		assert_true(sync_count < 4);
		synced[sync_count].at = addr;
		synced[sync_count++].bytes = len;
	}
	return 0;
}

TEST(making_the_first_pool_durable_does_so_with_its_run_and_another_one_alone)
{
	struct nvw_pool *const first = create(3);
	const nvw_off off = nvw_pool_geometry(first)->chunks;

	watching = true;
	sync_count = 0;
	for (unsigned i = 1; i < 3; i++) {
		assert_ok(nvw_pool_write_word(nvw_pool_number(first, i), off, 7));
	}
	assert_ok(nvw_pool_sync(nvw_pool_number(first, 1)));
	assert_int_equal(sync_count, 1);
	assert_ok(nvw_pool_sync(first));
	assert_int_equal(sync_count, 2);
	for (unsigned i = 1; i < 3; i++) {
		assert_ptr_equal(
			synced[i - 1].at, (const char *)nvw_pool_base(nvw_pool_number(first, i)) + off);
		assert_int_equal(synced[i - 1].bytes, 8);
	}
	assert_ok(nvw_pool_sync(first));
	assert_int_equal(sync_count, 2); /* once is enough */
	watching = false;
	nvw_pool_close(first);
}

TEST(bytes_are_written_and_made_durable_by_the_words_that_hold_them)
{
	POOL(pool) = create(1);
	const nvw_off words = nvw_pool_geometry(pool)->chunks;
	uint8_t expected[32], now[32];

	watching = true;
	NVW_FOR(i, 8 * 16) {
		const unsigned at = 8 + i % 8, n = 1 + i / 8, first = at / 8 * 8, end = (at + n + 7) / 8 * 8;

		memcpy(expected, (const char *)nvw_pool_base(pool) + words, sizeof expected);
		NVW_FOR(k, n) {
			expected[at + k] = now[k] = (uint8_t)(i + k);
		}
		const uint64_t written = nvw_pool_words_written(pool);

		sync_count = 0;
		assert_ok(nvw_pool_write(pool, words + at, now, n));
		assert_int_equal(nvw_pool_words_written(pool) - written, (end - first) / 8);
		assert_memory_equal((const char *)nvw_pool_base(pool) + words, expected, sizeof expected);
		assert_ok(nvw_pool_sync(pool));
		assert_int_equal(sync_count, 1);
		assert_ptr_equal(synced[0].at, (const char *)nvw_pool_base(pool) + words + first);
		assert_int_equal(synced[0].bytes, end - first);
	}
	watching = false;
}
