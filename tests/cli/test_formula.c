/* SPDX-License-Identifier: BSD-3-Clause */
/* A formula over statistics has its value, or names the first statistic that is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "paper.h"

static json_t *values(void)
{
	return json_pack("{s:i, s:i}", "l1.load_misses", 10, "l1.probes", 3);
}

static void products_come_before_sums(void **state)
{
	json_t *const v = values();
	char missing[PAPER_NAME_BYTES];
	double x;

	assert_true(paper_formula("64 * l1.load_misses + 8 * l1.probes", v, &x, missing));
	assert_true(x == 664);
	json_decref(v);
}

static void the_first_name_that_is_missing_is_named(void **state)
{
	json_t *const v = values();
	char missing[PAPER_NAME_BYTES];
	double x;

	assert_false(paper_formula("l2.hits + l1.probes + l3.hits + l1.load_misses", v, &x, missing));
	assert_string_equal(missing, "l2.hits");
	json_decref(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_come_before_sums),
		cmocka_unit_test(the_first_name_that_is_missing_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
