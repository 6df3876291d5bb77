/* SPDX-License-Identifier: BSD-3-Clause */
/* A cure is called verified by a run of the program with it; a run that deadlocks, does not end, or
 * ends in a wrong state refutes it. */
#include "common/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

static const char *report(const char *line, int status)
{
	static char text[1 << 16];
	const struct command_outcome *const o = command_run(line);

	if (o->status != status) {
		fail_msg("nvwave %s: status %d, expected %d: %s%s", line, o->status, status, o->out, o->err);
	}
	assert_true(strlen(o->out) < sizeof text);
	strcpy(text, o->out);
	return text;
}

static void expect(const char *text, const char *words)
{
	if (strstr(text, words) == NULL) {
		fail_msg("expected \"%s\" in: %s", words, text);
	}
}

/* With default options: the command used to run for ever. */
TEST(a_run_with_a_cure_that_does_not_end_is_cut_and_refutes_it)
{
	char line[512];

	snprintf(line, sizeof line, "crash %s", getenv("AWAITED_WORKLOAD"));

	const char *const text = report(line, 1);

	expect(text, "no cure: a kernel barrier after awaited.c:");
	static const char goes_on[] = ": the run with it goes on: after ", in_all[] = "acknowledged in ";

	expect(text, goes_on);
	expect(text, in_all);
	/* A part of 256 of the limit lies between two looks at it. */
	assert_true(strtod(strstr(text, goes_on) + strlen(goes_on), NULL) <
		    21 * strtod(strstr(text, in_all) + strlen(in_all), NULL));
	expect(text, "verified by running: with a work-item barrier after awaited.c:");
}

TEST(a_run_with_a_cure_whose_final_state_is_wrong_refutes_it)
{
	char line[512];

	snprintf(line, sizeof line, "crash %s --mutate=impatient", getenv("AWAITED_WORKLOAD"));

	const char *const text = report(line, 1);

	expect(text, "no cure: a kernel barrier after awaited.c:");
	expect(text, ": the final state of the run with it is wrong: group 1 gave up");
	expect(text, "verified by running: with a work-item barrier after awaited.c:");
}

TEST(a_deadlock_is_no_cure_and_a_narrower_barrier_that_suffices_is)
{
	const char *const update = report(
		"crash btree --mutate=ack-before-barrier --seed=107 --states=1500 --count=300 --preload=300 "
		"--batch=100 --op=update",
		1);

	expect(update, "verified by running: with a work-item barrier before batch.c:");

	const char *const put = report(
		"crash kv --mutate=publish-before-value --seed=102 --states=1500 --count=600 --batch=128 "
		"--slots=64 --group-size=64 --scope=kernel --writers=group",
		1);

	expect(put, "it would deadlock: kernel kv_batch is deadlocked in ");
	expect(put, "verified by running: with a work-item barrier after kernel.c:");
}

TEST(stores_that_no_run_exchanges_are_verified_on_the_log_alone)
{
	expect(report("crash stack --mutate=fill-after-publish --count=48 --take=50 --model=epoch "
		      "--states=1000",
		       1),
		"verified on this log: with kernel.c:");
}

int main(void)
{
	if (getenv("AWAITED_WORKLOAD") == NULL || !command_begin()) {
		return 2;
	}

	const int failed = run_every_test();

	command_end();
	return failed;
}
