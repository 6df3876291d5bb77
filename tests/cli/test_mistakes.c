/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A workload's own mistakes, as its author meets them: run and crash name the line and what to use instead.
 */
#include "common/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

static const char *mistaken; /* set by meson: the workload with the mistakes */

/*
 * "nvwave COMMAND mistaken --mutate=MISTAKE" ends with this status, and standard error has all of the words.
 */
static void expect(const char *command, const char *mistake, int status, const char *const *words)
{
	const struct command_outcome *o;
	char line[512];

	snprintf(line, sizeof line, "%s %s --mutate=%s", command, mistaken, mistake);
	o = command_run(line);
	for (; *words; words++) {
		if (o->status != status || !strstr(o->err, *words)) {
			fail_msg("nvwave %s: status %d, expected %d; expected \"%s\" in: %s%s", line,
				o->status, status, *words, o->out, o->err);
		}
	}
}

TEST(a_kernels_plain_access_ends_run_and_crash_with_the_line_and_the_macro)
{
	static const char *const store[] = {"mistaken.c:", "(kernel)", "kernel mistaken",
		"writes device memory (NVRAM", "nvw_store(p, value)", NULL};
	static const char *const load[] = {
		"mistaken.c:", "(kernel)", "reads device memory (DRAM", "nvw_load(p)", NULL};

	expect("run", "kernel-store", 2, store);
	expect("crash", "kernel-store", 2, store);
	expect("run", "kernel-load", 2, load);
	expect("crash --mode=kill --states=3", "kernel-load", 2, load);
}

TEST(host_code_that_dereferences_a_device_address_is_shown_the_accessors)
{
	static const char *const write[] = {"mistaken.c:", "(write_plainly)",
		"host code writes device memory", "nvw_write(machine", NULL};
	static const char *const read[] = {
		"mistaken.c:", "(read_plainly)", "host code reads device memory", "nvw_read(machine", NULL};

	expect("run", "host-write", 2, write);
	expect("crash", "host-write", 2, write);
	expect("run", "host-read", 2, read);
	expect("run", "verify-reads", 2, read);
}

TEST(a_check_that_dies_is_named_with_its_line_and_the_report_is_printed)
{
	static const char *const words[] = {
		"the check was killed by signal 11", "mistaken.c:", "(follow)", NULL};
	static const char *const aborts[] = {
		"the check was killed by signal 6", "mistaken.c:", "(check)", NULL};
	static const char *const exits[] = {"the check ended the process with status 0", NULL};

	expect("run", "check-dies", 1, words);
	assert_has(command_run("run kv --count=50")->out, "consistent");
	expect("run", "check-aborts", 1, aborts);
	expect("run", "check-exits", 1, exits);
}

TEST(a_run_that_finds_its_own_result_wrong_is_told)
{
	static const char *const words[] = {"mistaken: 7 of 64 words are wrong", NULL};
	char line[512];

	expect("run", "run-wrong", 1, words);
	snprintf(line, sizeof line, "run %s --mutate=run-wrong", mistaken);
	command_expect(line, 1, ": WRONG", "");
}

TEST(crash_names_the_same_line)
{
	char line[512];

	snprintf(line, sizeof line, "crash %s --mutate=check-dies --states=2", mistaken);
	command_expect(line, 1, "the check was killed by signal 11", "");
	command_expect(line, 1, "(follow)", "");
}

int main(void)
{
	mistaken = getenv("MISTAKEN_WORKLOAD");
	if (!mistaken || !command_begin()) {
		return 2;
	}

	const int failed = run_every_test();

	command_end();
	return failed;
}
