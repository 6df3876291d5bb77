/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run of the tests leaves out. A test that lacks its input is left visibly: cmocka's own skip() is
 * "not ok" in TAP, which counts as a failure.
 */
#ifndef TESTS_COMMON_SKIP_H
#define TESTS_COMMON_SKIP_H

#include <stdio.h>
#include <stdlib.h>

/* A loop over combinations takes each step-th, so that every row and every column is met; with EVERY_CASE in
 * the environment (./test.sh --all) it takes each. */
static inline unsigned one_in(unsigned step)
{
	return getenv("EVERY_CASE") ? 1 : step;
}

#define skip_test(...)                             \
	do {                                       \
		printf("# skipped: " __VA_ARGS__); \
		printf("\n");                      \
		fflush(stdout);                    \
		return;                            \
	} while (0)

/* It skips what is the same with sanitizers but for its time: tests of verdicts, whose code others run as
 * well. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define skip_if_sanitized() skip_test("%s: sanitizers take ten times as long", __func__)
#define NEXT_PROTOCOL       4 /* of those in the list; the optimised build tries each */
#else
#define skip_if_sanitized() ((void)0)
#define NEXT_PROTOCOL       1
#endif

/* Each protocol, or each step-th of them, by name and number. */
struct each_protocol {
	unsigned number;
	const char *name;
};
#define for_each_protocol_name(at, step)                                   \
	for (struct each_protocol at = {0, emu_protocol_name(0)}; at.name; \
		at.name = emu_protocol_name(at.number += (step)))

#endif
