/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Call stacks of a program's stores: in the log, in reports, and as what tells causes of one line apart. The
 * subject is helpers.c, built by the compiler alone and by nvwave-cc.
 */
#include "common/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvw/persist_log.h>

#include "common/json.h"
#include "common/shell.h"
#include "common/skip.h"

enum { SITES = 256 };

/* ---- The log ---------------------------------------------------------------------------------- */

struct log {
	struct place {
		char function[64];
		unsigned line, caller;
	} site[SITES];
	unsigned sites, store; /* the site of the last store */
};

static struct log recorded(const char *program, const char *options, const char *arguments)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	struct log log = {.sites = 0};

	succeeds("rm -f pool log; $NVWAVE exec %s --record=log -- %s %s", options, program, arguments);
	assert_ok(nvw_log_open(in_dir("log"), &reader));
	while (nvw_log_next(reader, &r) == 1) {
		if (r.kind == NVW_LOG_SITE && log.sites < SITES) {
			struct place *const p = &log.site[log.sites++];

			snprintf(p->function, sizeof p->function, "%s", r.site.function);
			p->line = r.site.line;
			p->caller = r.site.caller;
		}
		log.store = r.kind == NVW_LOG_STORE ? r.store.site : log.store;
	}
	nvw_log_reader_close(reader);
	return log;
}

/* "set put fill main", of the last store. */
static void stack_of(const struct log *log, char text[256])
{
	text[0] = '\0';
	for (unsigned i = log->store; i != 0; i = log->site[i - 1].caller) {
		const char *const f = log->site[i - 1].function;
		const size_t at = strlen(text);

		snprintf(text + at, 256 - at, "%s%.*s", at ? " " : "", (int)strcspn(f, ","), f);
	}
}

TEST(a_stores_site_has_all_callers_and_inlined_functions)
{
	struct log log = recorded("$HOST_HELPERS_CC", "", "run pool");
	char text[256];

	stack_of(&log, text);
	assert_string_equal(text, "set put fill main");
	log = recorded("$HOST_HELPERS", "", "run pool"); /* found at the flush */
	stack_of(&log, text);
	assert_string_equal(text, "persist ends fill main");
}

TEST(without_stacks_a_site_is_its_place_alone)
{
	const struct log log = recorded("$HOST_HELPERS_CC", "--callers=off", "run pool");
	char text[256];

	stack_of(&log, text);
	assert_string_equal(text, "set");
	unsigned sets = 0;

	NVW_EACH(site, log.site, log.sites) {
		assert_int_equal(site->caller, 0);
		sets += strcmp(site->function, "set") == 0;
	}
	assert_int_equal(sets, 1); /* whoever calls it */
}

/* The second store of a place is found in the cache of stacks; the callers are of this one. */
TEST(equal_stacks_have_one_site_and_others_have_others)
{
	const struct log log = recorded("$HOST_HELPERS_CC", "", "run pool");
	const unsigned set = line_with(HELPERS_SOURCE, "c->value = value;");
	unsigned sets = 0;

	NVW_EACH(site, log.site, log.sites) {
		sets += site->line == set;
	}
	assert_int_equal(sets, 4);
	const struct log deep = recorded("$HOST_HELPERS_CC", "", "dive pool 60");
	char text[256];

	stack_of(&deep, text);
	assert_int_equal(strncmp(text, "set dive dive dive ", 19), 0);
	assert_in_range(deep.sites, 30, 90); /* the innermost 40 frames */
}

/* ---- Findings --------------------------------------------------------------------------------- */

static json_t *crash(const char *program, const char *forgotten)
{
	run("rm -f pool; $NVWAVE crash --exec=\"%s run pool %s\" --image=pool --oracle=replay --states=400 "
	    "--html=page --output-format=json >report",
		program, forgotten);
	json_t *const report = json_load_file(in_dir("report"), 0, NULL);

	assert_non_null(report);
	return report;
}

static bool ends_in_line(const char *place, unsigned line)
{
	const char *const end = formatted("helpers.c:%u", line);

	return strlen(place) > strlen(end) && strcmp(place + strlen(place) - strlen(end), end) == 0;
}

/*
 * Two callers of one line forget to flush, and two do not: two causes, and each cure is for its own caller.
 */
TEST(callers_of_one_line_that_are_at_fault_are_causes_of_their_own)
{
	json_auto_t *report = crash("$HOST_HELPERS_CC", "12");
	const json_t *const findings = json_at(report, "findings");
	const unsigned put[] = {line_with(HELPERS_SOURCE, "put(1);"), line_with(HELPERS_SOURCE, "put(2);")};
	unsigned seen = 0;

	assert_int_equal(json_array_size(findings), 2);
	NVW_FOR(i, 2) {
		const json_t *const f = json_array_get(findings, i);
		const char *const caller = text_at(f, "cause.lost_caller");

		assert_true(ends_in_line(
			text_at(f, "cause.lost"), line_with(HELPERS_SOURCE, "c->value = value;")));
		seen |= ends_in_line(caller, put[0]) ? 1 : ends_in_line(caller, put[1]) ? 2 : 4;
		assert_has(text_at(f, "cause.text"), "(called at ");
		assert_true(json_is_true(json_at(f, "cure.verified_on_log")));
		assert_true(json_is_false(json_at(f, "cure.verified")));
		assert_has(text_at(f, "cure.edits.0.text"), "(called at helpers.c:");
		assert_int_equal(size_at(f, "cause.lost_stack"), 4);
		assert_has(text_at(f, "cause.lost_stack.1"), "(put)");
	}
	assert_int_equal(seen, 3);
	succeeds("grep -c 'The stack of the lost store' page");
	assert_int_equal(atoi(output), 2);
}

/* Where every caller of the line is wrong, the line is at fault. */
TEST(a_line_that_all_callers_get_wrong_is_one_cause)
{
	json_auto_t *report = crash("$HOST_HELPERS_CC", "0123");

	assert_int_equal(size_at(report, "findings"), 1);
	assert_string_equal(text_at(report, "findings.0.cause.lost_caller"), "");
	assert_lacks(text_at(report, "findings.0.cause.text"), "called at");
}

/*
 * Whether the compiler has inlined the library's function or not, its line is no place, and two causes that
 * share only it are two.
 */
TEST(code_of_the_librarys_headers_is_no_place_but_its_callers_are)
{
	static const char *const levels[] = {"-O0", "-O2"};
	static const char *const places[] = {
		"p->left.value.store(1", "p->right.value = 1", "p->count.value.store(1"};

	if (system("command -v g++ >/dev/null") != 0) {
		skip_test("a C++ compiler is needed");
	}
	for_each(given, levels) {
		succeeds("%s g++ -g %s -o atomics %s -lpmem", NVWAVE_CC, *given, ATOMICS_SOURCE);
		exits(1, "rm -f pool; $NVWAVE crash --exec='./atomics run pool' --image=pool "
			 "--check='./atomics check'");
		assert_output_lacks("atomic_base");
		for_each(row, places) {
			assert_output_has(formatted("atomics.cpp:%u ", line_with(ATOMICS_SOURCE, *row)));
		}
		assert_output_has("2 findings");
	}
}

/* ---- Patches ---------------------------------------------------------------------------------- */

/*
 * The flush is a helper's, and one caller lacks the fence: it gets one behind its call, and with that no
 * state fails.
 */
TEST(a_patch_for_one_caller_stands_behind_its_call)
{
	if (system("command -v patch cc >/dev/null") != 0) {
		skip_test("patch and a C compiler are needed");
	}
	run("rm -f pool cures; $NVWAVE crash --exec=\"$HOST_HELPERS_CC note pool 1\" --image=pool "
	    "--oracle=replay --states=400 "
	    "--patch=cures "
	    ">report");
	succeeds("grep -A1 'for operation 1' cures | tail -1");
	assert_string_equal(strtok(output, "\n"), "+\tpmem_drain();");
	succeeds("grep -c '^+.' cures");
	assert_int_equal(atoi(output), 2); /* with the name of the file */
	succeeds("cp %s patched.c && patch -s patched.c cures && "
		 "cc -g -o patched -I$(dirname %s)/../../lib patched.c -lpmem",
		HELPERS_SOURCE, HELPERS_SOURCE);
	succeeds("rm -f pool; $NVWAVE crash --exec='./patched note pool 1' --image=pool --oracle=replay");
}

/* The helper goes on with a store that relies on the fence. */
TEST(a_fence_that_would_come_too_late_behind_the_call_is_no_patch)
{
	run("rm -f pool cures; truncate -s 4096 pool; $NVWAVE crash --exec=\"$HOST_HELPERS_CC mark pool "
	    "1\" --image=pool "
	    "--check=\"$HOST_HELPERS_CC check\" "
	    "--states=400 --patch=cures 2>notes");
	assert_output_has("verified on this log: with a fence after");
	assert_int_not_equal(run("test -e cures"), 0);
	succeeds("grep 'no patch for finding 1: its fence is for one caller, and' notes");
}

GROUP_IN_FOLDER("HOST_HELPERS", "HOST_HELPERS_CC");
