/* SPDX-License-Identifier: BSD-3-Clause */
/* The order in which reports have findings (crashtest/explain/mend_order.h). */
#include "common/test.h"

#include <stdio.h>
#include <string.h>
#include <crashtest/explain/mend_order.h>

static struct ct_result result;

static struct ct_finding *add(const char *text, uint64_t states)
{
	struct ct_finding *const f = &result.finding[result.finding_count++];

	memset(f, 0, sizeof *f);
	snprintf(f->text, sizeof f->text, "%s", text);
	f->states = states;
	f->first_time_ps = result.finding_count;
	return f;
}

static int clear(void **state)
{
	result.finding_count = 0;
	return 0;
}

/* Orders, and returns the texts one behind the other. */
static const char *order(void)
{
	static char texts[256];
	size_t n = 0;

	assert_ok(ct_order_findings(&result));
	NVW_EACH(finding, result.finding, result.finding_count) {
		n += (size_t)snprintf(texts + n, sizeof texts - n, "%s ", finding->text);
	}
	return texts;
}

TEST(what_makes_more_states_fail_is_mended_first, clear)
{
	add("few", 3);
	add("many", 70);
	add("early", 20);
	add("late", 20);
	assert_string_equal(order(), "many early late few ");
}

TEST(what_is_wrong_without_a_crash_is_mended_before_all_else, clear)
{
	add("crash", 900);
	add("logic", 1)->cause.kind = CT_CAUSE_LOGIC;
	assert_string_equal(order(), "logic crash ");
}

TEST(what_others_hid_comes_after_them, clear)
{
	add("behind two", 900)->cure.behind = 2;
	add("behind one", 9)->cure.behind = 1;
	add("seen", 2);
	assert_string_equal(order(), "seen behind one behind two ");
}

TEST(what_another_cure_takes_away_comes_after_it_under_its_new_number, clear)
{
	add("taken", 50)->cure.cured_by = 3;
	add("other", 40);
	add("taking", 1);
	assert_string_equal(order(), "other taking taken ");
	assert_int_equal(result.finding[2].cure.cured_by, 2);
	assert_int_equal(result.finding[0].cure.cured_by, 0);
}

TEST(two_that_take_each_other_away_both_stay, clear)
{
	add("a", 1)->cure.cured_by = 2;
	add("b", 2)->cure.cured_by = 1;
	add("alone", 1);
	assert_string_equal(order(), "alone b a ");
	assert_int_equal(result.finding[1].cure.cured_by, 3);
	assert_int_equal(result.finding[2].cure.cured_by, 2);
}

TEST(another_cause_in_the_same_words_comes_after_the_first, clear)
{
	add("sample", 50)->sample = true;
	add("first", 50);
	assert_string_equal(order(), "first sample ");
}
