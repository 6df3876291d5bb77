/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A test function: TEST(the_property_that_it_defends) { ... }, with functions that run before and after it,
 * if it has them. It is a test by being there: the program runs those of its file in their order.
 */
#ifndef TESTS_COMMON_TEST_H
#define TESTS_COMMON_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/each.h"

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

/* Fails the test unless a text has each of these parts, or if it has this one; the library's last message. */
#define assert_has(text, ...)                              \
	test_has(text, (const char *const[]){__VA_ARGS__}, \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), true, __FILE__, __LINE__)
#define assert_lacks(text, part) test_has(text, (const char *const[]){part}, 1, false, __FILE__, __LINE__)
#define assert_error_has(part)   assert_has(nvw_error_message(), part)
void test_has(
	const char *text, const char *const *parts, size_t count, bool expected, const char *file, int line);

/* Fails the test, with the library's last message, unless it is 0. */
#define assert_ok(call) test_ok(call, #call, nvw_error_message(), __FILE__, __LINE__)
void test_ok(int r, const char *call, const char *message, const char *file, int line);

/* A text as printf() makes it; the last 32 are kept. */
const char *formatted(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The number of the first line of a file that has this text; the test fails if none has. */
unsigned line_with(const char *path, const char *text);

/* A file or a folder of $SHARED_DATA; NULL: it is not there. */
const char *shared_data(const char *name);

/* Each row of a table, by a pointer to it. */
#define for_each(row, table) NVW_EACH_IN(row, table)

/* A kernel with its arguments as they are, or by a pointer to them; what names places calls it NAME_of. */
#define KERNEL(name, type, given)                             \
	static void name##_of(const void *args, type *given); \
	static void name(const void *args)                    \
	{                                                     \
		name##_of(args, args);                        \
	}                                                     \
	static void name##_of(const void *args, type *const given)
#define KERNEL_ON(name, type, given)                          \
	static void name##_of(const void *args, type *given); \
	static void name(const void *args)                    \
	{                                                     \
		name##_of(args, *(type *const *)args);        \
	}                                                     \
	static void name##_of(const void *args, type *const given)

/* A checker of states. */
#define CHECK(name)                                                                         \
	static int name(void *context, struct ct_image *image, const struct nvw_acks *acks, \
		struct nvw_findings *findings, volatile uint32_t *phase)

/* What runs before all tests of the program, after them, and before each that has nothing of its own. */
struct test_group {
	CMFixtureFunction begin, end, each;
};
extern const struct test_group test_group;
#define GROUP(before, after, ...) \
	const struct test_group test_group = {.begin = before, .end = after, ##__VA_ARGS__}

/* All tests of the program; what main() does, unless the program has its own. How many failed. */
int run_every_test(void);

/* For qsort() and bsearch() of 64-bit numbers. */
int by_number(const void *a, const void *b);

/* Sorts so many, and keeps each once: how many are left. */
uint64_t sort_into_set(uint64_t *numbers, uint64_t count);

/* For pools: in memory, if there is such a folder. A pool is synchronized when it is closed, and a test
 * with many of them would wait for its disk again and again. */
const char *test_folder(void);
/* The path of a pool of this process there; there is none yet. */
const char *test_pool(void);

#endif
