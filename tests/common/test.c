/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the tests of a program; TEST_FILTER (with * and ?) names those that run. See test.h. */
#include "common/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct registered *const __start_nvw_tests[] __attribute__((weak)), *const __stop_nvw_tests[]
	__attribute__((weak));
__attribute__((weak)) const struct test_group test_group;

static int by_line(const void *a, const void *b)
{
	return (*(const struct registered *const *)a)->line - (*(const struct registered *const *)b)->line;
}

const char *test_folder(void)
{
	static const char in_memory[] = "/dev/shm";

	return access(in_memory, W_OK) == 0 ? in_memory : "/tmp";
}

const char *test_pool(void)
{
	static char path[64];

	snprintf(path, sizeof path, "%s/nvwave-test-%ld.pool", test_folder(), (long)getpid());
	unlink(path);
	return path;
}

void test_has(
	const char *text, const char *const *parts, size_t count, bool expected, const char *file, int line)
{
	assert_non_null(text);
	NVW_EACH(part, parts, count) {
		assert_non_null(*part);
		if ((strstr(text, *part) != NULL) != expected) {
			print_error("%sexpected \"%s\" in\n%s\n", expected ? "" : "not ", *part, text);
			_fail(file, line);
		}
	}
}

void test_ok(int r, const char *call, const char *message, const char *file, int line)
{
	if (r != 0) {
		print_error("%s: %d, %s\n", call, r, message);
		_fail(file, line);
	}
}

const char *formatted(const char *format, ...)
{
	static char texts[32][4096];
	static unsigned next;
	char *const text = texts[next++ % NVW_COUNT(texts)];
	va_list list;

	va_start(list, format);
	assert_in_range(vsnprintf(text, sizeof *texts, format, list), 0, sizeof *texts - 1);
	va_end(list);
	return text;
}

unsigned line_with(const char *path, const char *text)
{
	FILE *const f = fopen(path, "r");
	char line[1024];
	unsigned number = 0;
	bool found = false;

	assert_non_null(f);
	while (!found && fgets(line, sizeof line, f) != NULL) {
		number++;
		found = strstr(line, text) != NULL;
	}
	fclose(f);
	if (!found) {
		fail_msg("%s: no line has \"%s\"", path, text);
	}
	return number;
}

const char *shared_data(const char *name)
{
	const char *const folder = getenv("SHARED_DATA");
	const char *const path = formatted("%s/%s", folder ? folder : "../shared/data", name);

	return access(path, R_OK) == 0 ? path : NULL;
}

int run_every_test(void)
{
	const size_t n = (size_t)(__stop_nvw_tests - __start_nvw_tests);
	const struct registered **const order = malloc(n * sizeof *order);
	struct CMUnitTest *const units = malloc(n * sizeof *units);

	memcpy(order, __start_nvw_tests, n * sizeof *order);
	qsort(order, n, sizeof *order, by_line);
	NVW_FOR(i, n) {
		units[i] = order[i]->unit;
		if (units[i].setup_func == NULL) {
			units[i].setup_func = test_group.each;
		}
	}
	const int failed = _cmocka_run_group_tests("tests", units, n, test_group.begin, test_group.end);

	free(units);
	free(order);
	return failed;
}

__attribute__((weak)) int main(void)
{
	return run_every_test();
}

__attribute__((constructor)) static void filter_tests(void)
{
	cmocka_set_test_filter(getenv("TEST_FILTER"));
}

int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t sort_into_set(uint64_t *numbers, uint64_t count)
{
	uint64_t kept = 0;

	qsort(numbers, count, sizeof *numbers, by_number);
	NVW_EACH(number, numbers, count) {
		if (kept == 0 || *number != numbers[kept - 1]) {
			numbers[kept++] = *number;
		}
	}
	return kept;
}
