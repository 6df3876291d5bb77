/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cures of host programs as patches: bugs of host/examples are planted, and the patch of the finding's cure
 * is applied, built and run again, by hand and by --try-cures. What a run shows, and no more, is said of a
 * cure.
 */
#include "common/test.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/shell.h"
#include "common/skip.h"

static char temporary[64]; /* where nvwave makes its folders */

/* An example in the test's folder: built by nvwave-cc, so that its stores have their own lines. */
static void build(const char *program)
{
	succeeds("rm -rf -- * && cp " EXAMPLES "/%s.c . && cp -f " EXAMPLES "/*.h . && " NVWAVE_CC
		 " cc -g -O1 -I" HEADERS " -o %s %s.c -lpmem",
		program, program, program);
}

static void crash(
	int status, const char *program, const char *arguments, const char *check, const char *options)
{
	exits(status,
		"$NVWAVE crash --exec='./%s %s' --image=pool --check='./%s %s' --states=60 "
		"--cure-states=1000 %s",
		program, arguments, program, check, options);
}

TEST(the_patch_of_a_missing_flush_compiles_and_the_finding_is_gone)
{
	static const struct {
		const char *program, *arguments, *check, *line;
	} bugs[] = {
		{"ledger", "pool 3 entry-unflushed", "", "+	pmem_persist(&e->digest, sizeof e->digest);"},
		{"append_log", "pool 2 no-flush", "",
			"+		pmem_persist(&e->word[k], sizeof e->word[k]);"},
		{"indexed_log", "pool 3 index-unflushed", "",
			"+		pmem_flush(slot, sizeof *slot);"},
		{"skeleton", "run pool 24 lazy", "check",
			"+		pmem_persist(&(*link)->value, sizeof (*link)->value);"},
		{"raw_log", "append pool 3 unflushed", "check", "fence();"},
	};

	if (system("command -v patch >/dev/null") != 0) {
		skip_test("patch is needed");
	}
	for_each(bug, bugs) {
		build(bug->program);
		crash(1, bug->program, bug->arguments, bug->check, "--patch=cures");
		assert_output_has("verified on this log: with ");
		succeeds("cat cures");
		assert_output_has(bug->line);
		succeeds("patch -s -p1 <cures && %s cc -Wall -Wextra -Werror -g -O1 -I%s -o %s %s.c "
			 "-lpmem",
			NVWAVE_CC, HEADERS, bug->program, bug->program);
		crash(0, bug->program, bug->arguments, bug->check, "");
	}
}

/* ---- By --try-cures --------------------------------------------------------------------------- */

/* The ledger's crash test with a build command, and options besides. */
static void try_cures(int status, const char *bugs, const char *command)
{
	crash(status, "ledger", formatted("pool 3 %s", bugs), "", formatted("--try-cures='%s'", command));
}

static const char compile[] = NVWAVE_CC " cc -g -O1 -o ledger ledger.c -lpmem";

TEST(a_cure_that_holds_when_it_runs_is_verified_by_running_and_the_sources_stay)
{
	build("ledger");
	succeeds("touch -d 2001-01-01 * && ls -l --full-time ledger* >%s/before", temporary);
	try_cures(1, "entry-unflushed", compile);
	assert_output_has("verified by running: with a flush after ledger.c:");
	assert_output_lacks("on this log");
	succeeds("ls -l --full-time ledger* | diff - %s/before && rm %s/before", temporary, temporary);
	succeeds("diff ledger.c %s/ledger.c", EXAMPLES);
	succeeds("ls -A %s", temporary);
	assert_string_equal(output, ""); /* no copy is left */
}

TEST(of_several_cures_all_run_together)
{
	const char *at;

	build("ledger");
	try_cures(1, "undo-unfenced,applied-early", compile);
	at = strstr(output, "verified by running: with ");
	assert_non_null(at);
	assert_has(at + 1, "verified by running: with ");
}

/* The build leaves the patch out: it is as if the program did something else with it than its log. */
TEST(a_cure_with_which_states_still_fail_is_refuted)
{
	build("ledger");
	try_cures(1, "entry-unflushed", formatted("cp $NVWAVE_SOURCES/ledger.c . && %s", compile));
	assert_output_has("refuted by running: with a flush after ledger.c:",
		"tested states still fail (entry ", "though no tested state of this log fails (");
	assert_output_lacks("verified");
}

TEST(a_cure_with_which_the_program_ends_otherwise_is_refuted)
{
	static const struct {
		const char *text, *said;
	} programs[] = {
		{"sleep 100", "the program does not end within "},
		{"exit 7", "the program ends with status 7, and not as before with 0"},
		{"kill -9 $$", "the program is ended by signal 9"},
	};

	build("ledger");
	for_each(program, programs) {
		run("cat >made <<'END'\n#!/bin/sh\n%s\nEND\nchmod +x made", program->text);
		try_cures(1, "entry-unflushed", "mv made ledger");
		assert_output_has("refuted by running: with ", program->said);
	}
}

TEST(what_does_not_build_is_not_verified_by_running_and_stays_verified_on_the_log)
{
	static const struct {
		const char *command, *said;
	} builds[] = {
		{"echo no compiler; exit 3", "a copy with it does not build (status 3): no compiler"},
		{"true",
			/* though the sources have one */
			"the build of a copy with it made no ./ledger there"},
	};

	build("ledger");
	for_each(row, builds) {
		try_cures(1, "entry-unflushed", row->command);
		assert_output_has("verified on this log: with a flush after ledger.c:",
			"not verified by running: ", row->said);
	}
}

/* The other one's cure is no patch: a copy without it still fails, and says nothing about this one. */
TEST(a_cure_is_not_refuted_by_what_another_one_leaves)
{
	build("ledger");
	try_cures(1, "entry-unflushed,no-undo", compile);
	assert_output_lacks("refuted");
	assert_output_lacks("verified by running: with");
}

TEST(a_program_that_is_not_named_from_the_working_directory_is_refused)
{
	build("ledger");
	exits(2,
		"$NVWAVE crash --exec=\"$PWD/ledger pool 3\" --image=pool --check=./ledger --try-cures=make");
	assert_output_has(
		"--try-cures: expected --exec to begin with the program's path below the working directory");
	exits(2, "$NVWAVE crash --exec='ledger pool 3' --image=pool --check=./ledger --try-cures=make");
	exits(2, "$NVWAVE crash --exec='../ledger pool 3' --image=pool --check=./ledger --try-cures=make");
	exits(2, "$NVWAVE crash --exec='./ledger pool 3' --image=pool --check=./ledger --try-cures=make "
		 "--cures=off");
	assert_output_has("--try-cures has no effect with --cures=off");
}

static int begin(void **state)
{
	snprintf(temporary, sizeof temporary, "/tmp/nvwave-test-patches-tmp-XXXXXX");
	if (shell_begin((const char *const[]){"NVWAVE", NULL}) || !mkdtemp(temporary)) {
		return -1;
	}
	return setenv("TMPDIR", temporary, 1);
}

static int end(void **state)
{
	run("rm -rf -- %s", temporary);
	return shell_end(state);
}

GROUP(begin, end);
