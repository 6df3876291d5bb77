/* SPDX-License-Identifier: BSD-3-Clause */
/* Two explorations that have to have found the same, however many processes took part. */
#ifndef TESTS_CRASHTEST_SAME_RESULT_H
#define TESTS_CRASHTEST_SAME_RESULT_H

#include "common/test.h"

#include <crashtest/crash.h>

static inline void assert_same_result(const struct ct_result *a, const struct ct_result *b)
{
	assert_int_equal(a->states_tested, b->states_tested);
	assert_int_equal(a->states_distinct, b->states_distinct);
	assert_int_equal(a->states_equal, b->states_equal);
	assert_int_equal(a->states_failing, b->states_failing);
	assert_int_equal(a->instants, b->instants);
	assert_int_equal(a->instants_exhausted, b->instants_exhausted);
	assert_int_equal(a->finding_count, b->finding_count);
	NVW_FOR(i, a->finding_count) {
		assert_string_equal(a->finding[i].text, b->finding[i].text);
		assert_int_equal(a->finding[i].states, b->finding[i].states);
		assert_int_equal(a->finding[i].instant, b->finding[i].instant);
		assert_int_equal(a->finding[i].draw, b->finding[i].draw);
		assert_memory_equal(a->finding[i].place, b->finding[i].place, sizeof a->finding[i].place);
	}
	assert_int_equal(a->interval_count, b->interval_count);
	NVW_FOR(i, a->interval_count) {
		assert_int_equal(a->interval[i].distinct, b->interval[i].distinct);
		assert_int_equal(a->interval[i].equal, b->interval[i].equal);
		assert_int_equal(a->interval[i].exhausted, b->interval[i].exhausted);
	}
}

/* Two and three jobs have the result of one. */
static inline void assert_same_by_jobs(struct ct_exploration e)
{
	static struct ct_result one, more;

	e.options.jobs = 1;
	assert_ok(ct_explore(&e, NULL, &one));
	for (e.options.jobs = 2; e.options.jobs <= 3; e.options.jobs++) {
		assert_ok(ct_explore(&e, NULL, &more));
		assert_same_result(&one, &more);
		ct_result_free(&more);
	}
	ct_result_free(&one);
}

#endif
