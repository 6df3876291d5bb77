/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The options that take a bug for cured, or end with the first: three stores that nothing orders, of which
 * each needs the one before.
 */
#include <unistd.h>

#include <common/shell.h>

static const char log_text[] =
	"START|REGISTER_FILE;/none;0x1000;0x1000;0x0|STORE;0x1000;0x1;0x8;first (list.c:31)|"
	"STORE;0x1040;0x1;0x8;second (list.c:40)|STORE;0x1080;0x1;0x8;third "
	"(list.c:50)|FLUSH;0x1000;0xc0|FENCE|STOP";

/* A library, since it is fast. */
static const char checker_text[] =
	"#include <stdio.h>\n#include <nvw/checker.h>\n"
	"int nvw_check(struct nvw_check *c) {\n"
	"	const char *const at = c->image;\n"
	"	if (at[64] && !at[0]) return snprintf(c->message, c->message_bytes, \"second without "
	"first\");\n"
	"	if (at[128] && !at[64]) return snprintf(c->message, c->message_bytes, \"third without "
	"second\");\n"
	"	return 0;\n}\n";

static void crash(int status, const char *options)
{
	exits(status, "$NVWAVE crash --store-log=log --image=pool --check-lib=./check.so %s", options);
}

TEST(both_bugs_are_found_without_assumptions)
{
	crash(1, "");
	assert_output_has(" 1  second without first", " 2  third without second");
}

TEST(a_store_assumed_durable_takes_its_bug_away_and_leaves_the_other_with_its_cure)
{
	crash(1, "--assume-durable=list.c:31");
	assert_output_has("INCONSISTENT   1 finding", "with list.c:31 assumed durable",
		" 1  third without second",
		("verified on this log: with a flush after list.c:40 and a fence after list.c:40 no tested "
		 "state fails"));
	crash(0, "--assume-durable=list.c:31 --assume-durable=list.c:40");
	assert_output_has("and list.c:40 assumed durable");
}

TEST(stores_assumed_ordered_take_their_bug_away_in_this_order_alone)
{
	crash(1, "--assume-ordered=list.c:31:list.c:40");
	assert_output_has("INCONSISTENT   1 finding", " 1  third without second");
	crash(1, "--assume-ordered=list.c:40:list.c:31");
	assert_output_has(" 1  second without first");
	crash(0, "--assume-ordered=list.c:31:list.c:40 --assume-ordered=list.c:40:list.c:50");
	assert_output_has("with list.c:31 assumed ordered before list.c:40");
}

/*
 * The order that is there already, by a fence or because nothing is stored later; nothing is uncertain where
 * all is durable at once.
 */
TEST(an_assumption_that_changes_nothing_says_so)
{
#define NOTHING ", which changes nothing: no state is without it"
	crash(1, "--assume-ordered=list.c:31:list.c:40");
	assert_output_has("with list.c:31 assumed ordered before list.c:40\n");
	crash(1, "--assume-ordered=list.c:40:list.c:31 --assume-ordered=list.c:40:list.c:50 "
		 "--assume-durable=list.c:50 --html=page");
	assert_output_has(("with list.c:40 assumed ordered before list.c:31" NOTHING "\n"),
		"and list.c:40 assumed ordered before list.c:50\n", "and list.c:50 assumed durable\n");
	succeeds("grep -q 'With list.c:40 assumed ordered before list.c:31" NOTHING "' page");
	crash(1, "--assume-ordered=list.c:40:list.c:31 --output-format=json");
	assert_output_has("\"changes_states\": false");
	crash(0, "--assume-durable=list.c:31 --model=eadr");
	assert_output_has("with list.c:31 assumed durable" NOTHING "\n");
	succeeds("sed 's/STORE;0x1040/FLUSH;0x1000;0x40|FENCE|&/' log >fenced");
	succeeds("$NVWAVE crash --store-log=fenced --image=pool --check-lib=./check.so "
		 "--assume-ordered=list.c:31:list.c:40 --assume-ordered=list.c:40:list.c:50");
	assert_output_has(("with list.c:31 assumed ordered before list.c:40" NOTHING "\n"),
		"and list.c:40 assumed ordered before list.c:50\n");
	run("rm fenced page");
}

TEST(an_assumption_about_a_line_without_stores_is_refused_with_lines_near_it)
{
	crash(2, "--assume-durable=list.c:33");
	assert_output_has(
		"list.c:33: the log has no store at this line; lines near it that have: 31, 40, 50");
}

/* Few states were tested then: that says nothing against a cure. */
TEST(stop_after_one_lists_one_and_denies_no_cure)
{
	crash(1, "--stop-after=1");
	assert_output_has("INCONSISTENT   1 finding");
	assert_output_lacks("\n 2  ");
	assert_output_lacks("no cure is known");
	crash(1, "--stop-after=2");
	assert_output_has("INCONSISTENT   2 findings");
}

static int prepare(void **state)
{
	if (shell_begin((const char *const[]){"NVWAVE", NULL})) {
		return -1;
	}
	write_text("log", log_text);
	write_text("check.c", checker_text);
	return run("truncate -s 4096 pool && cc -I%s -shared -fPIC -o check.so check.c", HEADERS);
}

static int clean_up(void **state)
{
	run("rm log pool check.c check.so");
	return rmdir(dir);
}

GROUP(prepare, clean_up);
