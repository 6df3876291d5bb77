/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The next protocol: the skeleton of docs/protocols.md, brought along in a list of this executable's own, is asked what
 * all are asked, with nothing else said about it anywhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <litmus/litmus.h>
#include <litmus/torture.h>

enum { PROGRAMS = 60 };

static void it_is_listed_behind_the_shipped_ones(void **state)
{
	const char *name = "", *citation, *summary;

	for (unsigned i = 0; emu_protocol_info(i, &name, &citation, &summary); i++) {
	}
	assert_string_equal(name, "skeleton");
}

static void random_programs_are_right_under_it(void **state)
{
	static struct torture_result result;

	assert_int_equal(
		torture_run(
			&(struct torture_options){.protocol = "skeleton", .seed = 1, .programs = PROGRAMS},
			&result),
		0);
	if (result.failed) {
		fail_msg("seed %llu: %s", (unsigned long long)result.seed, result.text);
	}
	assert_int_equal(result.programs, PROGRAMS);
}

/* Torture looks at caches; what only memory shows, tests/emu/test_seams.c sees. */
static bool is_below_the_l2(const char *action)
{
	return !strcmp(action, "marker through the S-FIFOs") || !strcmp(action, "append to the S-FIFO");
}

/* Whatever its tables name is missed by some program, but for what is known of others too. */
static void each_of_its_actions_is_missed(void **state)
{
	static struct torture_result result;
	const char *action;
	unsigned missed = 0;

	for (unsigned i = 0; (action = emu_protocol_action("skeleton", i)); i++) {
		if (torture_unnoticed("skeleton", action) || is_below_the_l2(action)) {
			continue;
		}
		assert_int_equal(torture_run(&(struct torture_options){.protocol = "skeleton",
						     .seed = 1,
						     .programs = PROGRAMS,
						     .fault = action},
					 &result),
			0);
		if (!result.failed) {
			fail_msg("without \"%s\" it passes for itself", action);
		}
		missed++;
	}
	assert_true(missed >= 8);
}

static void litmus_tests_give_their_verdicts_under_it(void **state)
{
	static const char *const files[] = {"hrf.litmus", "remote.litmus"};
	static struct litmus_report report;
	const char *const folder = getenv("LITMUS_TESTS");
	const struct litmus_options options = {.protocol = "skeleton", .schedules = 60, .seed = 1};

	for (unsigned f = 0; f < 2; f++) {
		struct litmus_list list = {0};
		char path[512];

		snprintf(path, sizeof path, "%s/%s", folder ? folder : "litmus/tests", files[f]);
		assert_int_equal(litmus_load(path, &list), 0);
		assert_true(list.count > 0);
		for (unsigned i = 0; i < list.count; i++) {
			assert_int_equal(litmus_run_visibility(&list.test[i], &options, &report), 0);
			assert_false(litmus_has_failed(&report));
		}
		litmus_list_free(&list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_listed_behind_the_shipped_ones),
		cmocka_unit_test(random_programs_are_right_under_it),
		cmocka_unit_test(each_of_its_actions_is_missed),
		cmocka_unit_test(litmus_tests_give_their_verdicts_under_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
