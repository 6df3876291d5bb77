/* SPDX-License-Identifier: BSD-3-Clause */
/* Key sources and key files: what is promised in keys.h, keyfile.h and zipf.h. */
#include "common/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/compressed.h"
#include "common/skip.h"

#include "workloads/common/keyfile.h"
#include "workloads/common/keys.h"
#include "workloads/common/zipf.h"

static void expect_keys(unsigned column, unsigned count, const uint64_t *expected)
{
	uint64_t *keys, found;

	assert_ok(keyfile_read(in_dir("keys"), column, &keys, &found));
	assert_int_equal(found, count);
	assert_memory_equal(keys, expected, count * sizeof(*keys));
	free(keys);
}

static void expect_refusal(unsigned column, const char *part)
{
	uint64_t *keys = NULL, found;

	assert_int_equal(keyfile_read(in_dir("keys"), column, &keys, &found), NVW_E_INPUT);
	assert_null(keys);
	assert_error_has(part);
}

TEST(text_keys_are_decimal_or_hexadecimal)
{
	write_text("keys", "# three keys\n0\n\n0xfFfFFfffffffffff\r\n  18446744073709551614");
	expect_keys(0, 3, (uint64_t[]){0, UINT64_MAX, UINT64_MAX - 1});
}

TEST(a_column_of_a_trace_can_be_the_key)
{
	write_text("keys", "1 0 68\n2,17,7454\n3\t2 40773\n");
	expect_keys(2, 3, (uint64_t[]){0, 17, 2});
	expect_keys(1, 3, (uint64_t[]){1, 2, 3});
	expect_refusal(0, ":1: expected one 64-bit key, found \"1 0 68\"");
	expect_refusal(4, ":1: expected a 64-bit key in column 4, found \"1 0 68\"");
}

TEST(a_malformed_line_is_named_with_its_number)
{
	write_text("keys", "1\n2\n3x\n");
	expect_refusal(0, ":3: expected one 64-bit key, found \"3x\"");
	write_text("keys", "1\n-2\n");
	expect_refusal(0, ":2: expected one 64-bit key, found \"-2\"");
	write_text("keys", "18446744073709551616\n");
	expect_refusal(0, ":1: expected one 64-bit key");
	write_text("keys", "0x\n");
	expect_refusal(0, ":1: expected one 64-bit key");
}

TEST(empty_and_keyless_files_are_refused)
{
	write_text("keys", "");
	expect_refusal(0, "the file is empty");
	write_text("keys", "# nothing\n\n");
	expect_refusal(0, "found none in 2 lines");
	write_compressed("keys", "", 0, archive_write_add_filter_gzip);
	expect_refusal(0, "empty");
}

TEST(binary_keys_are_big_endian)
{
	write_bytes("keys", "\0\0\0\0\0\0\0\1\x80\0\0\0\0\0\0\2", 16);
	expect_keys(0, 2, (uint64_t[]){1, 0x8000000000000002u});
}

TEST(a_binary_file_cut_short_is_refused)
{
	write_bytes("keys", "\0\0\0\0\0\0\0\1\x80\0\0\0\0", 13);
	expect_refusal(0, "cut short after 5 of 8 bytes");
}

TEST(the_format_can_be_forced)
{
	char forced[80];
	uint64_t *keys, found;

	write_text("keys", "12345678");
	expect_keys(0, 1, (uint64_t[]){12345678});
	snprintf(forced, sizeof(forced), "binary:%s", in_dir("keys"));
	assert_ok(keyfile_read(forced, 0, &keys, &found));
	assert_int_equal(keys[0], 0x3132333435363738);
	free(keys);
}

TEST(gzip_and_xz_are_accepted)
{
	write_compressed("keys", "7\n8\n", 4, archive_write_add_filter_gzip);
	expect_keys(0, 2, (uint64_t[]){7, 8});
	write_compressed("keys", "\0\0\0\0\0\0\1\0", 8, archive_write_add_filter_xz);
	expect_keys(0, 1, (uint64_t[]){256});
}

TEST(a_truncated_gzip_file_is_refused)
{
	static char text[100000];

	NVW_FOR(i, sizeof(text)) {
		text[i] = i % 9 == 8 ? '\n' : (char)('0' + nvw_mix64(i) % 10);
	}
	write_compressed("keys", text, sizeof(text), archive_write_add_filter_gzip);
	assert_int_equal(truncate(in_dir("keys"), 20000), 0);
	expect_refusal(0, in_dir("keys"));
}

TEST(absent_files_and_folders_are_refused)
{
	uint64_t *keys, found;

	assert_int_equal(keyfile_read("/tmp", 0, &keys, &found), NVW_E_INPUT);
	assert_int_equal(keyfile_read("/tmp/nvwave/no/such", 0, &keys, &found), NVW_E_INPUT);
	assert_error_has("No such file");
	assert_int_equal(keys_make(&(struct keys_source){.source = "zipfan"}, 5, &keys, &found), NVW_E_INPUT);
	assert_error_has("expected uniform, sequential, zipfian or a file");
}

TEST(a_file_with_too_few_keys_is_refused)
{
	const struct keys_source source = {.source = in_dir("keys")};
	uint64_t *keys, found;

	write_text("keys", "1\n2\n");
	assert_int_equal(keys_make(&source, 3, &keys, &found), NVW_E_INPUT);
	assert_error_has("expected 3 keys, found 2");
	assert_ok(keys_make(&source, 0, &keys, &found));
	assert_int_equal(found, 2);
	free(keys);
}

TEST(the_same_seed_gives_the_same_keys)
{
	static const char *const names[] = {"uniform", "sequential", "zipfian"};

	NVW_FOR(i, 3) {
		struct keys_source source = {.source = names[i], .seed = 5, .records = 1000};
		uint64_t *a, *b, *c, n;

		assert_ok(keys_make(&source, 500, &a, &n));
		assert_ok(keys_make(&source, 500, &b, &n));
		source.seed = 6;
		assert_ok(keys_make(&source, 500, &c, &n));
		assert_memory_equal(a, b, 500 * sizeof(*a));
		assert_true((memcmp(a, c, 500 * sizeof(*a)) == 0) == (i == 1));
		free(a);
		free(b);
		free(c);
	}
}

TEST(zeta_is_what_ycsb_publishes)
{
	double sum = 0;

	assert_true(fabs(zipf_zeta(ZIPF_YCSB_ITEMS, 0.99) - 26.46902820178302) < 1e-6);
	for (unsigned i = 1; i <= 200000; i++) {
		sum += pow(i, -0.99);
	}
	assert_true(fabs(zipf_zeta(200000, 0.99) - sum) < 1e-9);
}

/* Frequencies of the first ranks against the law itself. The method is exact for ranks 0 and 1 and an
 * approximation of the continuous law for the rest. */
TEST(zipfian_ranks_follow_the_law)
{
	enum { DRAWS = 400000, ITEMS = 1000 };
	static unsigned counts[ITEMS];
	struct nvw_random random = {1};
	struct zipf z;

	zipf_init(&z, ITEMS, 0.99);
	NVW_FOR(i, DRAWS) {
		const uint64_t rank = zipf_next(&z, &random);

		assert_true(rank < ITEMS);
		counts[rank]++;
	}
	NVW_FOR(rank, 2) {
		const double expected = DRAWS * pow(rank + 1, -0.99) / z.zeta;

		assert_true(fabs(counts[rank] - expected) < 6 * sqrt(expected));
	}
	for (unsigned rank = 4; rank < 64; rank++) {
		const double expected = DRAWS * pow(rank + 1, -0.99) / z.zeta;

		assert_true(fabs(counts[rank] - expected) < 0.15 * expected);
	}
}

TEST(growing_equals_starting_large)
{
	struct zipf a, b;

	zipf_init(&a, 100, 0.99);
	zipf_grow(&a, 700);
	zipf_init(&b, 700, 0.99);
	assert_true(fabs(a.zeta - b.zeta) < 1e-9 && fabs(a.eta - b.eta) < 1e-9);
}

TEST(latest_prefers_the_newest)
{
	struct nvw_random random = {3};
	unsigned newest = 0, oldest = 0;
	struct zipf z;

	zipf_init(&z, 1000, 0.99);
	NVW_FOR(i, 10000) {
		const uint64_t record = zipf_latest(&z, &random);

		assert_true(record < 1000);
		newest += record >= 900;
		oldest += record < 100;
	}
	assert_true(newest > 10 * oldest);
}

TEST(the_corda_trace_is_read_as_it_is)
{
	static const char name[] = "keys/corda-trace_vaultservice.gz";
	const char *const trace = shared_data(name);
	uint64_t *keys, count;

	if (trace == NULL) {
		skip_test("%s is not there", name);
	}
	assert_ok(keys_make(&(struct keys_source){.source = trace}, 0, &keys, &count));
	assert_int_equal(count, 135702);
	assert_true(keys[0] == 0x391c8ee0c57542c7u);
	assert_int_equal(sort_into_set(keys, count), 90468);
	free(keys);
}

GROUP(folder_begin, shell_end);
