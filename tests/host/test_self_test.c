/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave crash --self-test of programs: lists of bugs, and what is said of each (cli/bug_list.h). */
#include "common/test.h"

#include <unistd.h>

#include "common/shell.h"

static void self_test_of(int status, const char *program, const char *bugs, const char *options)
{
	exits(status,
		"rm -f pool; %s pool 2 && $NVWAVE crash --self-test --exec=\"%s pool 3\" --image=pool "
		"--check=%s "
		"--bugs=%s --states=200 %s",
		program, program, program, bugs, options);
}

static void self_test(int status, const char *bugs, const char *options)
{
	self_test_of(status, "$HOST_APPEND_LOG", bugs, options);
}

TEST(listed_bugs_are_found_with_the_lines_that_the_list_says)
{
	self_test(0, EXAMPLES "/append_log.bugs", "");
	assert_output_has("append_log   (none)           x86             clean ",
		"one-drain        x86             found ",
		"is not whole: append_log.c:62 durable, append_log.c:57 lost\n",
		"3 of 3 bugs found (100 %), 0 false alarms in 1 tests");
	self_test_of(0, "$HOST_INDEXED_LOG", EXAMPLES "/indexed_log.bugs", "");
	assert_output_has("4 of 4 bugs found (100 %), 0 false alarms in 1 tests");
}

TEST(a_bug_is_harmless_where_the_list_says_so_and_nowhere_else)
{
	self_test(0, EXAMPLES "/append_log.bugs", "--model=eadr --output-format=json");
	assert_output_has("\"bugs\": 1,", "\"false_alarms\": 0,", "\"result\": \"harmless\"");
	run("printf 'bugs = one-drain\\n[one-drain]\\nharmless = eadr x86\\n' >bugs");
	self_test(1, "bugs", "");
	assert_output_has(
		"one-drain        x86             FALSE ALARM ", "0 of 0 bugs found, 1 false alarms");
}

TEST(a_bug_that_is_found_elsewhere_or_not_at_all_is_told)
{
	run("printf 'bugs = a b\\n[a]\\narguments = one-drain\\nlost = append_log.c:58\\n[b]\\narguments "
	    "=\\n' >bugs");
	self_test(1, "bugs", "");
	assert_output_has("a                x86             OTHER ",
		"b                x86             MISSED ",
		"0 of 2 bugs found (0 %), 0 false alarms in 1 tests");
	run("printf 'bugs = one-drain\\n[one-drain]\\nfinding = other words\\n' >bugs");
	self_test(1, "bugs", "");
	assert_output_has("OTHER ");
	/* append_log.c is another file. */
	run("printf 'bugs = one-drain\\n[one-drain]\\ndurable = log.c:62\\n' >bugs");
	self_test(1, "bugs", "");
	assert_output_has("OTHER ");
	run("printf 'bugs = one-drain\\n[one-drain]\\ndurable = examples/append_log.c:62\\n' >bugs");
	self_test(0, "bugs", "");
	assert_output_has("found ");
}

TEST(a_program_that_is_wrong_without_a_bug_is_a_false_alarm)
{
	run("rm -f pool; printf 'bugs = none\\n[none]\\narguments =\\n' >bugs; $HOST_APPEND_LOG pool 2");
	exits(1, "$NVWAVE crash --self-test --exec=\"$HOST_APPEND_LOG pool 3 one-drain\" --image=pool "
		 "--check=$HOST_APPEND_LOG --bugs=bugs");
	assert_output_has("(none)           x86             FALSE ALARM ");
}

TEST(a_bug_stands_where_the_command_says_and_its_list_beside_the_program)
{
	run("rm -f pool; printf 'bugs = one-drain\\n' >program.bugs; cp $HOST_APPEND_LOG program; "
	    "./program pool 2");
	succeeds("$NVWAVE crash --self-test --exec='./program pool 3 {bug}' --image=pool --check=./program");
	assert_output_has("program      one-drain        x86             found ");
	/* The file is no argument of the program. */
	run("printf 'bugs = one-drain\\n[one-drain]\\nharmless = x86\\n' >program.bugs");
	succeeds("$NVWAVE crash --self-test --exec='env A={bug} ./program pool 3' --image=pool "
		 "--check=./program --bugs=program.bugs");
	assert_output_has("one-drain        x86             harmless ");
}

TEST(a_list_of_bugs_that_is_none_is_refused)
{
	static const struct {
		const char *text, *message;
	} wrong[] = {{"bugs = a a", "bugs: bugs: there are two \"a\""},
		{"bug = a", "expected \"bugs = NAMES\" or a section [NAME], found the key \"bug\""},
		{"[a]\\nlost = x.c:1", "bugs: [a]: expected one of the names that \"bugs =\" lists"},
		{"bugs = a\\n[a]\\nlost = x.c", "lost: expected FILE:LINE, found \"x.c\""},
		{"bugs = a\\n[a]\\nharmless = tso", "found \"tso\""},
		{"bugs = a\\n[a]\\nwords = b",
			"expected arguments, finding, durable, lost or harmless, found \"words\""},
		{"bugs =", "expected \"bugs = NAMES\", found no bug"}, {"x", "line 1 is neither"}};

	for_each(one, wrong) {
		run("printf '%s\\n' >bugs", one->text);
		self_test(2, "bugs", "");
		assert_output_has(one->message);
	}
	self_test(2, "missing", "");
	assert_output_has("missing: No such file");
	exits(2, "$NVWAVE crash --exec='true pool' --image=pool --check=true --bugs=bugs");
	assert_output_has("--bugs has no effect without --self-test");
	exits(2, "$NVWAVE crash kv --self-test --model=epoch");
	assert_output_has("--model has no effect with --self-test of a workload");
	exits(2, "printf 'bugs = a\\n' >bugs; $NVWAVE crash --self-test --exec='true pool' --image=pool "
		 "--check=true --bugs=bugs");
	assert_output_has("did not map or write the image's copy");
}

static int begin(void **state)
{
	return shell_begin((const char *const[]){"NVWAVE", "HOST_APPEND_LOG", "HOST_INDEXED_LOG", NULL});
}

static int end(void **state)
{
	run("rm -f pool bugs program program.bugs");
	return rmdir(dir);
}

GROUP(begin, end);
