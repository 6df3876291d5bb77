/* SPDX-License-Identifier: BSD-3-Clause */
/* Saved findings come back as they were, or not at all; the log of a block device says what is owed. */
#include <stdio.h>
#include <unistd.h>
#include "common/shell.h"
#include "common/test.h"
#include "memory_log.h"

#include <check/check.h>
#include <crashtest/explain/finding.h>
#include <crashtest/states/image.h>
#include <crashtest/requests/writes.h>

enum { BYTES = 4096 };

/* ---- Findings --------------------------------------------------------------------------------- */

static size_t save(uint8_t *file, size_t room)
{
	static const struct ct_finding finding = {.text = "entry 7 is missing", .states = 1};
	static uint8_t image[BYTES];
	struct nvw_acks acks = {0};
	json_t *const head = json_pack("{s:s, s:i}", "workload", "list", "seed", 1);

	NVW_FOR(i, BYTES) {
		image[i] = (uint8_t)(i * 7 ^ i >> 8);
	}
	assert_ok(nvw__acks_add(&acks, 3, 5));
	assert_ok(ct_finding_save(in_dir("finding"), head, &finding, image, BYTES, &acks));
	json_decref(head);
	nvw__acks_free(&acks);
	FILE *const f = fopen(in_dir("finding"), "rb");

	assert_non_null(f);
	const size_t n = fread(file, 1, room, f);

	fclose(f);
	return n;
}

static void load(const uint8_t *file, size_t n, int wanted)
{
	struct ct_saved saved;
	FILE *const f = fopen(in_dir("finding"), "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(file, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
	const int error = ct_saved_load(in_dir("finding"), &saved);

	if (error == 0) {
		assert_int_equal(saved.bytes, BYTES);
		assert_int_equal(nvw_acked_count(&saved.acks), 5);
		ct_saved_free(&saved);
	}
	assert_int_equal(error, wanted);
}

/* A digit of the seed, an acknowledgement or a byte of the pool would be another finding. */
TEST(a_finding_with_a_changed_byte_is_refused)
{
	static uint8_t file[3 * BYTES];
	const size_t n = save(file, sizeof file);

	load(file, n, 0);
	NVW_FOR(i, n) {
		file[i] ^= 1;
		load(file, n, i >= 8 && i < 12 ? NVW_E_VERSION : NVW_E_DAMAGED);
		file[i] ^= 1;
	}
	load(file, n - 1, NVW_E_DAMAGED);
}

/* ---- Block devices ---------------------------------------------------------------------------- */

enum { WRITES = 4, HELD = 3 };

/* Write n puts n + 1 into one word; the first HELD are acknowledged. */
static int write_log(void)
{
	struct memory_log log = begin_log(CT_BLOCK_LOG, BYTES);

	log_sites(&log, 1, 1, "w.c");
	NVW_FOR(i, WRITES) {
		log_launch(&log, i + 1, 1, 1);
		log_append(&log,
			(struct nvw_log_record){.kind = NVW_LOG_STORE,
				.store = {
					.site = 1, .kernel = i + 1, .bytes = 8, .off = 64, .value = i + 1}});
		if (i < HELD) {
			log_append(&log, (struct nvw_log_record){.kind = NVW_LOG_ACK,
						 .ack = {.first = i, .count = 1, .kernel = i + 1}});
		}
	}
	return log_end(&log);
}

/* What is said of a word that holds value, "" if nothing. */
static const char *said_of(const struct ct_writes *writes, uint64_t value)
{
	static struct nvw_findings findings;
	static const uint8_t zeroes[BYTES];
	volatile uint32_t phase = 0;
	struct nvw_acks acks = {0};
	struct ct_image image;

	assert_ok(nvw__acks_add(&acks, 0, HELD));
	assert_ok(ct_image_create(zeroes, NULL, BYTES, &image));
	assert_ok(ct_image_write(&image, 64, &value, 8));
	findings = (struct nvw_findings){0};
	ct_writes_judge((void *)(uintptr_t)writes, &image, &acks, &findings, &phase);
	ct_image_destroy(&image);
	nvw__acks_free(&acks);
	return findings.count ? findings.finding[0].text : "";
}

TEST(a_word_may_hold_its_last_acknowledged_version_or_a_later_one)
{
	static const uint8_t zeroes[BYTES];
	static const char older[] = "write 2 was acknowledged, but a word of it is older";
	const int fd = write_log();
	struct ct_writes *writes;

	assert_ok(ct_writes_create(fd, zeroes, BYTES, &writes));
	assert_int_equal(ct_writes_count(writes), WRITES);
	assert_string_equal(said_of(writes, 4), "");
	assert_string_equal(said_of(writes, 3), "");
	assert_string_equal(said_of(writes, 2), older);
	assert_string_equal(said_of(writes, 1), older);
	assert_string_equal(said_of(writes, 0), older);
	assert_string_equal(said_of(writes, 77), older);
	ct_writes_destroy(writes);
	close(fd);
}

GROUP(folder_begin, shell_end);
