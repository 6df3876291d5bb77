/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests ask of litmus tests and random programs: files that are shipped, and programs that are right. */
#ifndef TESTS_LITMUS_LITMUS_RIG_H
#define TESTS_LITMUS_LITMUS_RIG_H

#include "common/test.h"

#include <stdio.h>
#include <stdlib.h>

#include <litmus/litmus.h>
#include <litmus/torture.h>

/* A file or a folder of litmus/tests. Freed by litmus_list_free(). */
static inline struct litmus_list shipped(const char *name)
{
	const char *const folder = getenv("LITMUS_TESTS");
	struct litmus_list list = {0};
	char path[512];

	snprintf(path, sizeof path, "%s/%s", folder ? folder : "litmus/tests", name);
	assert_ok(litmus_load(path, &list));
	return list;
}

/* Programs all of whose loads are right; what was done for them. */
static inline struct torture_result expect_right(const struct torture_options *options)
{
	static struct torture_result result;

	if (torture_run(options, &result) < 0) {
		fail_msg("%s: %s", options->protocol, nvw_error_message());
	}
	if (result.failed) {
		fail_msg("%s, %s, seed %llu: %s\n%s", options->protocol,
			options->settings ? options->settings[0] : "no settings",
			(unsigned long long)result.seed, result.text, result.listing);
	}
	assert_int_equal(result.programs, options->programs);
	return result;
}

#endif
