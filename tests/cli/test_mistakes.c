/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A workload's own mistakes, as its author meets them: run and crash name the line and what to use instead.
 */
#include "command.h"

/* What "nvwave COMMAND mistaken --mutate=MISTAKE", which ends with this status, says on standard error. */
static const char *told(const char *command, const char *mistake, int status)
{
	const struct command_outcome *const o =
		command_run(formatted("%s $MISTAKEN_WORKLOAD --mutate=%s", command, mistake));

	if (o->status != status) {
		fail_msg("%s, %s: status %d, expected %d: %s%s", command, mistake, o->status, status, o->out,
			o->err);
	}
	return o->err;
}

TEST(a_kernels_plain_access_ends_run_and_crash_with_the_line_and_the_macro)
{
	static const char *const commands[] = {"run", "crash"};
	static const char *const others[] = {"run", "crash --mode=kill --states=3"};

	for_each(command, commands) {
		assert_has(told(*command, "kernel-store", 2), "mistaken.c:", "(kernel)", "kernel mistaken",
			"writes device memory (NVRAM", "nvw_store(p, value)");
	}
	for_each(command, others) {
		assert_has(told(*command, "kernel-load", 2), "mistaken.c:", "(kernel)",
			"reads device memory (DRAM", "nvw_load(p)");
	}
}

TEST(host_code_that_dereferences_a_device_address_is_shown_the_accessors)
{
	static const char *const commands[] = {"run", "crash"};
	static const char *const reads[] = {"host-read", "verify-reads"};

	for_each(command, commands) {
		assert_has(told(*command, "host-write", 2), "mistaken.c:", "(write_plainly)",
			"host code writes device memory", "nvw_write(machine");
	}
	for_each(mistake, reads) {
		assert_has(told("run", *mistake, 2), "mistaken.c:", "(read_plainly)",
			"host code reads device memory", "nvw_read(machine");
	}
}

TEST(a_check_that_dies_is_named_with_its_line_and_the_report_is_printed)
{
	assert_has(
		told("run", "check-dies", 1), "the check was killed by signal 11", "mistaken.c:", "(follow)");
	assert_has(command_run("run kv --count=50")->out, "consistent");
	assert_has(
		told("run", "check-aborts", 1), "the check was killed by signal 6", "mistaken.c:", "(check)");
	assert_has(told("run", "check-exits", 1), "the check ended the process with status 0");
}

TEST(a_run_that_finds_its_own_result_wrong_is_told)
{
	assert_has(told("run", "run-wrong", 1), "mistaken: 7 of 64 words are wrong");
	command_finds("run $MISTAKEN_WORKLOAD --mutate=run-wrong", ": WRONG");
}

TEST(crash_names_the_same_line)
{
	const struct command_outcome *const o =
		command_run("crash $MISTAKEN_WORKLOAD --mutate=check-dies --states=2");

	assert_int_equal(o->status, 1);
	assert_has(o->out, "the check was killed by signal 11", "(follow)");
}

GROUP_OF_COMMANDS("MISTAKEN_WORKLOAD");
