/* SPDX-License-Identifier: BSD-3-Clause */
/* A formula over statistics has its value, or names the first statistic that is missing. */
#include "common/test.h"

#include "paper.h"

static json_t *values(void)
{
	return json_pack("{s:i, s:i}", "l1.load_misses", 10, "l1.probes", 3);
}

TEST(products_come_before_sums)
{
	json_auto_t *v = values();
	char missing[PAPER_NAME_BYTES];
	double x;

	assert_true(paper_formula("64 * l1.load_misses + 8 * l1.probes", v, &x, missing));
	assert_true(x == 664);
}

TEST(the_first_name_that_is_missing_is_named)
{
	json_auto_t *v = values();
	char missing[PAPER_NAME_BYTES];
	double x;

	assert_false(paper_formula("l2.hits + l1.probes + l3.hits + l1.load_misses", v, &x, missing));
	assert_string_equal(missing, "l2.hits");
}
