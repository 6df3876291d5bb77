/* SPDX-License-Identifier: BSD-3-Clause */
/* A cure is called verified by a run of the program with it; a run that deadlocks, does not end, or
 * ends in a wrong state refutes it. */
#include <stdlib.h>
#include <string.h>

#include "command.h"

static const char *report(const char *line, int status)
{
	const struct command_outcome *const o = command_run(line);

	if (o->status != status) {
		fail_msg("nvwave %s: status %d, expected %d: %s%s", line, o->status, status, o->out, o->err);
	}
	return o->out;
}

/* With default options: the command used to run for ever. */
TEST(a_run_with_a_cure_that_does_not_end_is_cut_and_refutes_it)
{
	static const char goes_on[] = ": the run with it goes on: after ", in_all[] = "acknowledged in ";
	const char *const text = report("crash $AWAITED_WORKLOAD", 1);

	assert_has(text, "no cure: a kernel barrier after awaited.c:", goes_on, in_all,
		"verified by running: with a work-item barrier after awaited.c:");
	/* A part of 256 of the limit lies between two looks at it. */
	assert_true(strtod(strstr(text, goes_on) + strlen(goes_on), NULL) <
		    21 * strtod(strstr(text, in_all) + strlen(in_all), NULL));
}

TEST(a_run_with_a_cure_whose_final_state_is_wrong_refutes_it)
{
	assert_has(report("crash $AWAITED_WORKLOAD --mutate=impatient", 1),
		"no cure: a kernel barrier after awaited.c:",
		": the final state of the run with it is wrong: group 1 gave up",
		"verified by running: with a work-item barrier after awaited.c:");
}

TEST(a_deadlock_is_no_cure_and_a_narrower_barrier_that_suffices_is)
{
	assert_has(report("crash btree --mutate=ack-before-barrier --seed=107 --states=1500 --count=300 "
			  "--preload=300 --batch=100 --op=update",
			   1),
		"verified by running: with a work-item barrier before batch.c:");
	assert_has(report("crash kv --mutate=publish-before-value --seed=102 --states=1500 --count=600 "
			  "--batch=128 --slots=64 --group-size=64 --scope=kernel --writers=group",
			   1),
		"it would deadlock: kernel kv_batch is deadlocked in ",
		"verified by running: with a work-item barrier after kernel.c:");
}

TEST(stores_that_no_run_exchanges_are_verified_on_the_log_alone)
{
	assert_has(report("crash stack --mutate=fill-after-publish --count=48 --take=50 --model=epoch "
			  "--states=1000",
			   1),
		"verified on this log: with kernel.c:");
}

GROUP_OF_COMMANDS("AWAITED_WORKLOAD");
