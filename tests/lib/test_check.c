/* SPDX-License-Identifier: BSD-3-Clause */
/* Acknowledgements and findings. */
#include "common/test.h"

#include <check/check.h>

TEST(an_operation_is_acknowledged_once_it_was_added)
{
	struct nvw_acks acks = {0};

	assert_false(nvw_acked(&acks, 0));
	assert_ok(nvw__acks_add(&acks, 60, 10));
	NVW_FOR(op, 200) {
		assert_int_equal(nvw_acked(&acks, op), op >= 60 && op < 70);
	}
	assert_int_equal(nvw_acked_count(&acks), 10);
	nvw__acks_free(&acks);
}

TEST(an_operation_acknowledged_twice_counts_once)
{
	struct nvw_acks acks = {0};

	assert_ok(nvw__acks_add(&acks, 5, 3));
	assert_ok(nvw__acks_add(&acks, 6, 4));
	assert_int_equal(nvw_acked_count(&acks), 5);
	nvw__acks_free(&acks);
}

TEST(what_is_dropped_and_restored_is_as_before)
{
	struct nvw_acks acks = {0};

	assert_ok(nvw__acks_add(&acks, 10, 100));
	const uint64_t hash = acks.hash;

	nvw__acks_drop(&acks, 20, 3);
	assert_int_equal(nvw_acked_count(&acks), 97);
	for (uint64_t op = 19; op <= 23; op++) {
		assert_int_equal(nvw_acked(&acks, op), op == 19 || op == 23);
	}
	assert_true(acks.hash != hash);
	nvw__acks_restore(&acks, 20, 3);
	assert_int_equal(nvw_acked_count(&acks), 100);
	assert_true(acks.hash == hash);
	nvw__acks_free(&acks);
}

TEST(clearing_forgets_all_and_growth_keeps_all)
{
	struct nvw_acks acks = {0};

	assert_ok(nvw__acks_add(&acks, 1, 1));
	assert_ok(nvw__acks_add(&acks, 1000000, 1));
	assert_true(nvw_acked(&acks, 1));
	assert_true(nvw_acked(&acks, 1000000));
	assert_false(nvw_acked(&acks, 999999));
	nvw__acks_clear(&acks);
	assert_false(nvw_acked(&acks, 1));
	assert_int_equal(nvw_acked_count(&acks), 0);
	nvw__acks_free(&acks);
}

TEST(an_impossible_operation_number_is_refused)
{
	struct nvw_acks acks = {0};

	assert_int_equal(nvw__acks_add(&acks, UINT64_MAX, 1), NVW_E_KERNEL);
	assert_int_equal(nvw__acks_add(&acks, 1, UINT64_MAX), NVW_E_KERNEL);
	assert_int_equal(nvw_acked_count(&acks), 0);
	nvw__acks_free(&acks);
}

TEST(all_violations_are_counted_and_the_first_are_kept)
{
	static struct nvw_findings findings;

	NVW_FOR(i, 100) {
		assert_int_equal(nvw_violation(&findings, 8 * i, "key %u", i), NVW_E_INCONSISTENT);
	}
	assert_int_equal(findings.count, 100);
	assert_int_equal(findings.kept, NVW__FINDINGS_MAX);
	assert_string_equal(findings.finding[3].text, "key 3");
	assert_int_equal(findings.finding[3].off, 24);
	nvw__findings_clear(&findings);
	assert_int_equal(findings.count, 0);
}
