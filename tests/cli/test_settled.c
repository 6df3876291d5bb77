/* SPDX-License-Identifier: BSD-3-Clause */
/* A run in which nearly every state fails: a million of them say no more than the first thousands. */
#include "command.h"
#include "common/json.h"

static uint64_t number(const json_t *report, const char *key)
{
	const json_t *const value = json_at(report, key);

	assert_non_null(value);
	return (uint64_t)json_integer_value(value);
}

/*
 * Recovery points that lack half of the tasks: from the first one on, whatever was lost, the result is wrong.
 */
TEST(a_run_in_which_nearly_every_state_fails_ends_when_its_causes_are_settled)
{
	const struct command_outcome *const o = command_run(
		"crash saved-tasks --mutate=half-vector --program=fib --n=6 --entries=64 --group-size=16 "
		"--mode=permitted --states=1000000 --output-format=json");

	assert_int_equal(o->status, 1);
	json_auto_t *report = json_loads(o->out, 0, NULL);

	assert_non_null(report);
	assert_int_equal(size_at(report, "findings"), 1);
	assert_true(number(report, "states_failing") > 1024);
	assert_true(number(report, "states_distinct") < 20000);
	assert_true(number(report, "states_settled") > 800000);
}

GROUP_OF_COMMANDS();
