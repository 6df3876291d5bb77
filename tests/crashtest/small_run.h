/* SPDX-License-Identifier: BSD-3-Clause */
/* A crash test of a workload with options as text, on the default machine. */
#ifndef TESTS_CRASHTEST_SMALL_RUN_H
#define TESTS_CRASHTEST_SMALL_RUN_H

#include <crashtest/crash.h>

/* assignments: "name=value ..."; a wrong one fails the test. Frees what *result had before. The result of
 * ct_run(). */
int small_run(const struct nvw_workload *workload, const char *assignments, int mutation,
	const struct ct_options *options, struct ct_result *result);

#endif
