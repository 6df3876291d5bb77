/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the command writes: verdicts first, files whole or not at all, nothing of the user's replaced unasked.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "core/newfile.h"

#define BROKEN "crash kv --count=50 --states=500 --mode=permitted --mutate=publish-before-value"

TEST(output_that_cannot_be_written_is_no_clean_end)
{
	static const char *const commands[] = {"--help", "--version", "list workloads", "run kv --count=20",
		"run kv --count=20 --output-format=json", "crash kv --count=20 --states=50",
		"crash kv --count=20 --states=50 --output-format=json", "torture --programs=2",
		"torture --programs=2 --output-format=json", "crash --help"};

	for_each(command, commands) {
		exits(2, "$NVWAVE %s >/dev/full 2>/dev/null", *command);
	}
}

TEST(a_page_that_cannot_be_written_leaves_the_verdict)
{
	command_expect(BROKEN " --html=%D/nowhere/page.html", 2, "INCONSISTENT", "page.html");
}

TEST(a_finding_that_cannot_be_saved_leaves_the_verdict)
{
	command_write("file", "", 1);
	command_expect(BROKEN " --save=%D/file", 1, "INCONSISTENT", "the finding was not saved");
	command_remove("file");
}

static off_t size_of(const char *name)
{
	struct stat s;

	return stat(in_dir(name), &s) ? -1 : s.st_size;
}

TEST(a_saved_finding_is_never_overwritten)
{
	assert_int_equal(mkdir(in_dir("findings"), 0700), 0);
	command_write("findings/finding-1", "mine", 4);
	command_finds(BROKEN " --save=%D/findings", "findings/finding-2");
	assert_int_equal(size_of("findings/finding-1"), 4);
	command_finds("replay %D/findings/finding-2", "REPRODUCED");
	command_remove_findings();
	assert_int_equal(command_files(), 0);
}

/* The limit stands for a full disk. */
TEST(a_file_that_cannot_be_written_whole_replaces_nothing)
{
	struct rlimit before;
	struct nvw_new_file f;

	command_write("old", "whole", 5);
	assert_ok(nvw_new_file_begin(in_dir("old"), false, &f));
	getrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000, before.rlim_max});
	NVW_FOR(i, 2000) {
		fputs("longer", f.file);
	}
	assert_int_equal(nvw_new_file_end(&f, 0), NVW_E_FULL);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(size_of("old"), 5);
	assert_int_equal(command_files(), 1);

	assert_ok(nvw_new_file_begin(in_dir("old"), true, &f));
	assert_true(nvw_new_file_end(&f, 0) < 0);
	assert_int_equal(size_of("old"), 5);
	assert_ok(nvw_new_file_begin(in_dir("old"), false, &f));
	fputs("new content", f.file);
	assert_ok(nvw_new_file_end(&f, 0));
	assert_int_equal(size_of("old"), 11);
	assert_int_equal(command_files(), 1);
	command_remove("old");
}

GROUP_OF_COMMANDS();
