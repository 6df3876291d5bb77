/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A test function: TEST(the_property_that_it_defends) { ... }, with functions that run before and after it, if
 * it has them. It is a test by being there: the program runs those of its file in their order.
 */
#ifndef TESTS_COMMON_TEST_H
#define TESTS_COMMON_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct registered {
	struct CMUnitTest unit;
	int line;
};

#define TEST(property, ...)                                                                                  \
	static void property(void **state);                                                                  \
	static const struct registered property##_test = {                                                   \
		{.name = #property, .test_func = property, ##__VA_ARGS__}, __LINE__};                        \
	static const struct registered *const property##_entry __attribute__((section("nvw_tests"), used)) = \
		&property##_test;                                                                            \
	static void property(void **state)

/* What runs before all tests of the program, and after them. */
struct test_group {
	CMFixtureFunction begin, end;
};
extern const struct test_group test_group;
#define GROUP(before, after) const struct test_group test_group = {before, after}

/* All tests of the program; what main() does, unless the program has its own. How many failed. */
int run_every_test(void);

/* For pools: in memory, if there is such a folder. A pool is synchronized when it is closed, and a test with many
 * of them would wait for its disk again and again. */
const char *test_folder(void);

#endif
