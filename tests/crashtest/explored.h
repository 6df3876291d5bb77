/* SPDX-License-Identifier: BSD-3-Clause */
/* Explorations of logs that tests write. */
#ifndef TESTS_CRASHTEST_EXPLORED_H
#define TESTS_CRASHTEST_EXPLORED_H

#include "common/test.h"

#include <crashtest/crash.h>

/* Every state of a pool of zeroes, by one job: a test changes what it wants otherwise. */
static inline struct ct_exploration exploration_of(
	int fd, uint64_t bytes, ct_judge judge, enum ct_model model)
{
	static const uint8_t zeroes[1 << 16];

	assert_true(bytes <= sizeof zeroes);
	return (struct ct_exploration){.rules = {.model = model},
		.log_fd = fd,
		.initial = zeroes,
		.bytes = bytes,
		.judge = judge,
		.options = {.states = 1 << 20, .seed = 1, .jobs = 1, .timeout_ms = 10000}};
}

/* The result without what it has allocated; large, so the last one alone is kept. */
static inline const struct ct_result *explored_by(const struct ct_exploration *e)
{
	static struct ct_result result;

	assert_ok(ct_explore(e, NULL, &result));
	ct_result_free(&result);
	return &result;
}

#endif
