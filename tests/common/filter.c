/* SPDX-License-Identifier: BSD-3-Clause */
/* One test function of many: TEST_FILTER (with * and ?) names those that run. Part of every test program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

__attribute__((constructor)) static void filter_tests(void)
{
	cmocka_set_test_filter(getenv("TEST_FILTER"));
}
