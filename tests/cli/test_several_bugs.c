/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs with several bugs at once (host/examples/ledger.c): a bug does not hide another, and none is
 * invented.
 */
#include "common/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "common/skip.h"

/* The crash test of transfers with bugs, "" for none: exit status, and what its output has to have. */
static void crash_of(const char *ledger, unsigned transfers, const char *bugs, int status, const char *out)
{
	command_expect(formatted("crash --exec=%s~%%D/pool~%u~%s --image=%%D/pool --check=%s", ledger,
			       transfers, bugs, ledger),
		status, out, "");
}

static void crash(unsigned transfers, const char *bugs, int status, const char *out)
{
	crash_of("$HOST_LEDGER", transfers, bugs, status, out);
}

TEST(the_ledger_without_bugs_passes_in_every_state)
{
	crash(6, "", 0, " at 36 instants; 36 of them exhausted");
}

TEST(each_bug_of_the_ledger_is_found)
{
	crash(3, "entry-unflushed", 1, "counts and is not whole");
	crash(3, "count-first", 1, "counts and is not whole");
	crash(3, "undo-unfenced", 1, "account");
	crash(3, "applied-early", 1, "account");
	crash(3, "no-undo", 1, "account");
}

/* ---- Several at once ------------------------------------------------------------------------------ */

/*
 * The cure that mends a bug: what a "verified on this log" line of the report says, up to the line number,
 * and that of the source.
 */
enum { BUGS = 4 };

static const struct {
	const char *name, *cure, *first, *last; /* the line is one from the text first to the text last */
} bugs[BUGS] = {
	{"entry-unflushed", "a flush after ledger.c:", "e->from = mixed", "e->digest = digest_of(e);"},
	{"count-first", " before ledger.c:", "*to = value;", "*to = value;"},
	{"undo-unfenced", "a fence after ledger.c:", "pmem_flush(&l->undo,", "pmem_flush(&l->undo,"},
	{"applied-early", "a fence after ledger.c:", "pmem_flush(&l->balance[e->from]",
		"pmem_flush(&l->balance[e->to]"},
};

/* Is the text a cure of the bug? */
static bool cures(const char *text, unsigned bug)
{
	const unsigned first = line_with(LEDGER_SOURCE, bugs[bug].first),
		       last = line_with(LEDGER_SOURCE, bugs[bug].last);

	while ((text = strstr(text, bugs[bug].cure)) != NULL) {
		const unsigned line = (unsigned)atoi(text += strlen(bugs[bug].cure));

		if (line >= first && line <= last) {
			return true;
		}
	}
	return false;
}

/*
 * Every cure is of a bug that is there, and every bug has its cure. A bug of several source lines is one
 * finding.
 */
static void judge(const char *report, unsigned set)
{
	unsigned found = 0, findings = 0;

	for (const char *at = report; (at = strstr(at, "verified on this log: with ")) != NULL; at++) {
		const size_t n = strcspn(at, "\n");
		char text[1024];
		unsigned of = 0;

		snprintf(text, sizeof text, "%.*s", (int)n, at);
		NVW_FOR(bug, BUGS) {
			of |= (unsigned)(set >> bug & 1 && cures(text, bug)) << bug;
		}
		if (of == 0) {
			fail_msg("set %u: no bug asks for \"%s\"", set, text);
		}
		found |= of;
		findings++;
	}
	assert_true(findings <= (unsigned)__builtin_popcount(set));
	if (found != set) {
		fail_msg("of the bugs %#x only %#x have a cure:\n%s", set, found, report);
	}
}

TEST(of_several_bugs_at_once_each_gets_its_cure)
{
#ifdef __SANITIZE_ADDRESS__
	static const unsigned sets[] = {0xc}; /* sanitizers take ten times as long */
#else
	/* A patch of two is below; four together take half a minute longer. Two transfers
	 * show the findings of four. */
	const unsigned sets[] = {getenv("FOUR_BUGS") != NULL ? 0xf : 0x7};
#endif
	if (getenv("HOST_LEDGER_CC") == NULL) {
		skip_test("nvwave-cc is for x86-64 only");
	}
	for_each(row, sets) {
		const unsigned set = *row;
		const struct command_outcome *o;
		char names[128] = "";

		NVW_FOR(bug, BUGS) {
			if (set >> bug & 1) {
				snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
					names[0] ? "," : "", bugs[bug].name);
			}
		}
		o = command_run(formatted("crash --exec=$HOST_LEDGER_CC~%%D/pool~%u~%s --image=%%D/pool "
					  "--check=$HOST_LEDGER_CC --jobs=2",
			4 / one_in(2), names));
		assert_int_equal(o->status, 1);
		judge(o->out, set);
	}
}

/*
 * A finding that only shows behind a cure, and that goes with another finding's, is that one in other words.
 */
TEST(what_is_met_behind_a_cure_and_goes_with_another_is_no_finding_of_its_own)
{
	static const char met[] = "found after curing", gone[] = "no longer occurs with";
	const struct command_outcome *o;

#ifdef __SANITIZE_ADDRESS__
	skip_test("sanitizers take ten times as long");
#endif
	o = command_run(
		"crash btree --mutate=narrow-scope --mode=permitted --model=buffered-epoch --states=300 "
		"--count=100 --preload=50 --batch=100 --group-size=64 --seed=2 --cure-states=8000");
	assert_int_equal(o->status, 1);
	assert_has(o->out, met);
	for (const char *at = o->out; (at = strstr(at, met)) != NULL; at += strlen(met)) {
		const char *const end = strstr(at, "\n\n"), *const text = strstr(at, gone);

		assert_true(text == NULL || (end != NULL && text > end));
	}
	assert_has(o->out, "no tested state fails"); /* cures were looked for */
}

/*
 * Who follows the report has no state left that fails: the patch is applied, the program built and tested
 * again.
 */
TEST(the_patch_of_two_bugs_leaves_none)
{
	if (system("command -v patch cc >/dev/null") != 0) {
		skip_test("nvwave-cc is for x86-64 only");
	}
	command_finds("crash --exec=$HOST_LEDGER~%D/pool~6~undo-unfenced,applied-early --image=%D/pool "
		      "--check=$HOST_LEDGER --patch=%D/cures",
		"verified");
	succeeds("cp %s patched.c && patch -s patched.c cures && cc -g -o patched patched.c -lpmem",
		LEDGER_SOURCE);
	crash_of("%D/patched", 6, "undo-unfenced,applied-early", 0, " at 36 instants; 36 of them exhausted");
}

static int begin(void **state)
{
	return command_begin((const char *const[]){"NVWAVE", "HOST_LEDGER", NULL}) ||
	       run("$HOST_LEDGER pool 2");
}

GROUP(begin, command_end);
