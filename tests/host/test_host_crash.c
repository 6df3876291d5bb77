/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Real programs under nvwave crash --exec, and their logs under nvwave crash --store-log: right ones, and
 * ones with planted bugs; store logs that are exported; checkers.
 */
#include "common/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/skip.h"
#include "host_rig.h"

/* Nothing failed, and every state was tested of those that a comparison of lines can show (docs/host.md). */
static void expect_exhausted(void)
{
	unsigned instants = 0, exhausted = 1;
	const char *const possible = strstr(output, "possible:");

	assert_output_has("NO FAILURE FOUND in ");
	assert_non_null(possible);
	assert_int_equal(sscanf(possible, "possible: %*[^,], at %u instant", &instants), 1);
	assert_has(possible, "; ");
	assert_int_equal(sscanf(strstr(possible, "; "), "; %u of them exhausted", &exhausted), 1);
	assert_int_equal(instants, exhausted);
}

/* ---- Crash tests ------------------------------------------------------------------------------ */

TEST(a_right_log_is_consistent_and_each_planted_bug_is_found)
{
	static const char *const bugs[] = {"one-drain", "no-flush", "header-first"};

	succeeds("$HOST_APPEND_LOG pool 2");
	succeeds("cp pool before");
	succeeds("$NVWAVE crash --exec=\"$HOST_APPEND_LOG pool 3\" --image=pool --check=$HOST_APPEND_LOG");
	expect_exhausted();
	for_each(bug, bugs) {
		exits(1,
			"$NVWAVE crash --exec=\"$HOST_APPEND_LOG pool 3 %s\" --image=pool "
			"--check=$HOST_APPEND_LOG --save=saved "
			"--states=200 --cures=off",
			*bug);
		assert_output_has("counts and is not whole", "examples/append_log.c:");
		exits(1, "$NVWAVE replay saved/finding-1");
		assert_output_has("REPRODUCED");
	}
	succeeds("cmp pool before"); /* the programs worked on copies */
}

TEST(a_right_indexed_log_is_consistent_and_each_planted_bug_is_found)
{
	static const struct {
		const char *name, *text;
	} bugs[] = {{"one-drain", "counts and is not whole"}, {"no-flush", "counts and is not whole"},
		{"index-first", "has an entry that does not count"},
		{"index-unflushed", "is not in the index"}};

	succeeds("$HOST_INDEXED_LOG pool 2");
	succeeds("$NVWAVE crash --exec=\"$HOST_INDEXED_LOG pool 6\" --image=pool --check=$HOST_INDEXED_LOG");
	expect_exhausted();
	succeeds("$NVWAVE crash --exec=\"$HOST_INDEXED_LOG pool 6\" --image=pool "
		 "--check-lib=$HOST_INDEXED_LOG_CHECK --model=pmreorder");
	for_each(bug, bugs) {
		exits(1,
			"$NVWAVE crash --exec=\"$HOST_INDEXED_LOG pool 4 %s\" --image=pool "
			"--check=$HOST_INDEXED_LOG --cures=off",
			bug->name);
		assert_output_has(bug->text, "examples/indexed_log.c:");
		exits(1,
			"$NVWAVE crash --exec=\"$HOST_INDEXED_LOG pool 4 %s\" --image=pool "
			"--check-lib=$HOST_INDEXED_LOG_CHECK --cures=off",
			bug->name);
		assert_output_has(bug->text);
	}
}

TEST(a_right_pmemobj_list_is_consistent_and_each_planted_bug_is_found)
{
	static const char *const bugs[] = {"no-add", "no-tx"};

	succeeds("$HOST_LIST create pool && $HOST_LIST append pool 1");
	succeeds("$NVWAVE crash --exec=\"$HOST_LIST append pool 1\" --image=pool --check=\"$HOST_LIST "
		 "check\" --states=%u",
		150 / one_in(3));
	for_each(bug, bugs) {
		exits(1,
			"$NVWAVE crash --exec=\"$HOST_LIST append pool 1 %s\" --image=pool "
			"--check=\"$HOST_LIST check\" "
			"--states=150 --stop-after=1 --cures=off",
			*bug);
		assert_output_has("examples/list.c:");
	}
}

/*
 * The state's file takes the place of the image's name, however it is written: the checker finds what fails
 * in the state, not in the pool, which is whole.
 */
TEST(a_check_that_names_the_image_judges_the_state)
{
	static const char *const names[] = {"pool 3", "./pool 3", "link 3", "$PWD/pool 3", "- <pool", "{} 3"};

	succeeds("$HOST_APPEND_LOG pool 2 && ln -s pool link");
	succeeds("printf '#!/bin/sh\\ntest $1 = - && set /dev/stdin\\nexec $HOST_APPEND_LOG $1\\n' >judge; "
		 "chmod "
		 "+x judge");
	for_each(name, names) {
		const bool is_shell_s = (*name)[0] == '$';

		exits(1,
			"$NVWAVE crash --exec=\"$HOST_APPEND_LOG ./pool 3 one-drain\" --image=%s "
			"--check=\"./judge %s\" "
			"--states=150 --stop-after=1 --cures=off",
			is_shell_s ? "$PWD/pool" : "pool", *name);
		assert_output_has("examples/append_log.c:");
	}
	exits(2, "$NVWAVE crash --exec=\"$HOST_APPEND_LOG pool 3\" --image=pool --check='cmp {} pool'");
	assert_output_has("--check: expected {} or pool, found both");
	succeeds("rm link judge");
}

TEST(what_a_line_held_at_an_event_persists_together)
{
	/* The checker is not interposed, and the subject insists on persistent memory. */
	succeeds("PMEM_IS_PMEM_FORCE=1 $NVWAVE crash --exec=\"$HOST_SUBJECT same-line {}\" --image=pool "
		 "--check=\"$HOST_SUBJECT "
		 "check-same-line\"");
	expect_exhausted();
}

TEST(a_recorded_log_is_explored_like_the_run_itself)
{
	char first[64], *states;

	succeeds("$HOST_APPEND_LOG pool 2 && cp pool copy");
	exits(1, "$NVWAVE crash --exec=\"$HOST_APPEND_LOG pool 3 one-drain\" --image=pool "
		 "--check=$HOST_APPEND_LOG --cures=off");
	states = strstr(output, "possible:");
	assert_non_null(states);
	snprintf(first, sizeof first, "%.40s", states);
	succeeds("$NVWAVE exec --record=log -- $HOST_APPEND_LOG pool 3 one-drain");
	succeeds("cmp copy log.image");
	exits(1, "$NVWAVE crash --store-log=log --image=log.image --check=$HOST_APPEND_LOG --cures=off");
	assert_output_has(first);
}

TEST(a_killed_program_leaves_states_that_are_checked)
{
	succeeds("$HOST_APPEND_LOG pool 2 && cp pool before");
	succeeds("$NVWAVE crash --mode=kill --exec=\"$HOST_APPEND_LOG pool 4\" --image=pool "
		 "--check=$HOST_APPEND_LOG --states=5");
	assert_output_has("5 kills");
	exits(1, "$NVWAVE crash --mode=kill --exec=\"$HOST_APPEND_LOG pool 4 one-drain\" --image=pool "
		 "--check=$HOST_APPEND_LOG --states=8 "
		 "--save=saved");
	assert_output_has("counts and is not whole");
	exits(1, "$NVWAVE replay saved/finding-1");
	succeeds("cmp pool before");
	succeeds("$NVWAVE crash --mode=kill --exec=\"$HOST_SUBJECT forks {}\" --image=new --check=true "
		 "--states=5");
}

/* ---- Other models, threads -------------------------------------------------------------------- */

TEST(the_models_differ_where_they_should)
{
	succeeds("$HOST_APPEND_LOG pool 2");
	succeeds("$NVWAVE crash --exec=\"$HOST_APPEND_LOG pool 3 no-flush\" --image=pool "
		 "--check=$HOST_APPEND_LOG --model=eadr"); /* caches are inside */
	exits(1, "$NVWAVE crash --exec=\"$HOST_APPEND_LOG pool 3 header-first\" --image=pool "
		 "--check=$HOST_APPEND_LOG --model=eadr "
		 "--cures=off");
	exits(1, "$NVWAVE crash --exec=\"$HOST_APPEND_LOG pool 3 one-drain\" --image=pool "
		 "--check=$HOST_APPEND_LOG --model=pmreorder "
		 "--cures=off");
}

/* What the threads did in another order was not recorded. */
TEST(a_verdict_on_threads_is_of_the_recorded_interleaving)
{
	static const char crash[] =
		"$NVWAVE crash --exec=\"$HOST_SUBJECT %s {} 3\" --image=pool --check=true --states=50 %s";

	succeeds(crash, "threads", "--html=page");
	assert_output_has("states of this recorded interleaving of",
		"other interleavings of the threads may leave other states");
	succeeds("grep -q 'the recorded interleaving of [0-9]* threads' page");
	succeeds(crash, "threads", "--output-format=json >json");
	succeeds("grep -q '^  \"threads\": [2-9],' json");
	succeeds(crash, "persist", "");
	assert_output_lacks("interleaving");
	expect_exhausted();
}

/* Only the first thread makes a call that is recorded. */
TEST(threads_that_only_store_are_counted)
{
	succeeds("$NVWAVE crash --exec=\"$HOST_SUBJECT stores-apart {}\" --image=pool --check=true "
		 "--states=50");
	assert_output_has(" states of this recorded interleaving of 3 threads");
	succeeds("$NVWAVE exec --record=log -- $HOST_SUBJECT stores-apart pool");
	succeeds("$NVWAVE log export log >lines");
	succeeds("$NVWAVE crash --store-log=lines --image=log.image --check=true");
	assert_output_has("in one recorded order (the log names no threads)");
}

/* ---- Store logs ------------------------------------------------------------------------------- */

/* Makes the stores of a store log in a copy of the image; how many there were. */
static unsigned stores_of_store_log(const char *path, uint8_t *image, size_t bytes)
{
	size_t length;
	char *const text = (char *)read_whole(path, &length), *rest = text;
	unsigned long long base = 0, at, size;
	unsigned n = 0;
	char value[8193];

	text[length] = '\0';
	for (const char *o; (o = strsep(&rest, "|")) != NULL;) {
		sscanf(o, "REGISTER_FILE;%*[^;];%llx", &base);
		if (sscanf(o, "STORE;%llx;0x%8192[0-9a-f];%llx", &at, value, &size) == 3) {
			assert_true(base > 0 && strlen(value) == 2 * size && at - base + size <= bytes);
			for (unsigned long long i = 0; i < size; i++) {
				unsigned byte;

				sscanf(value + 2 * i, "%2x", &byte);
				image[at - base + size - 1 - i] = (uint8_t)byte;
			}
			n++;
		}
	}
	free(text);
	return n;
}

TEST(an_exported_store_log_gives_the_file)
{
	static const char *const modes[] = {"stress", "descriptor", "unflushed", "scatters"};

	for_each(row, modes) {
		unsigned stores[2];

		record(0, *row, 1);
		succeeds("$NVWAVE log export log >lines && $NVWAVE log export log --words >words");
		NVW_FOR(words, 2) {
			size_t bytes, now_bytes;
			uint8_t *const image = read_whole("log.image", &bytes), *const now = read_whole(
											"pool", &now_bytes);

			assert_int_equal(bytes, now_bytes);
			stores[words] = stores_of_store_log(words ? "words" : "lines", image, bytes);
			assert_memory_equal(image, now, bytes);
			free(image);
			free(now);
		}
		assert_true(stores[0] > 0 && stores[0] <= stores[1]);
	}
}

/* What the report says of the possible states. */
static const char *possible(const char *log, const char *model)
{
	static char text[4][96];
	static unsigned next;
	char *const kept = text[next++ % 4];

	run("$NVWAVE crash --store-log=%s --image=log.image --check-lib=$HOST_INDEXED_LOG_CHECK "
	    "--model=%s --cures=off",
		log, model);
	const char *const found = strstr(output, "possible:");

	assert_non_null(found);
	snprintf(kept, sizeof text[0], "%.*s", (int)(strstr(found, " states") - found), found);
	return kept;
}

TEST(an_exported_store_log_is_explored_like_the_record)
{
	succeeds("$HOST_INDEXED_LOG pool 2");
	succeeds("$NVWAVE exec --record=log -- $HOST_INDEXED_LOG pool 4 one-drain");
	succeeds("$NVWAVE log export log >lines && $NVWAVE log export log --words >words");
	assert_string_equal(possible("lines", "pmreorder"), possible("log", "pmreorder"));
	assert_output_has("counts and is not whole", "examples/indexed_log.c:");
	assert_string_not_equal(possible("words", "pmreorder"), possible("log", "pmreorder"));
	exits(2, "$NVWAVE log export log --file='a;b'");
	assert_output_has("a;b");
	exits(2, "$NVWAVE run kv --count=20 --log=kernel && $NVWAVE log export kernel >out");
	assert_output_has("found a kernel's");
	exits(1, "test -s out");
}

/* ---- Checkers, bad input ---------------------------------------------------------------------- */

/* The report of a checker that is a script, or a program of a line of C built with flags. */
static void crash_with(int status, const char *check)
{
	exits(status,
		"$NVWAVE crash --exec=\"$HOST_APPEND_LOG pool 3\" --image=pool --check=%s --timeout=2s "
		"--states=12",
		check);
}

TEST(every_kind_of_checker_is_asked_about_every_state)
{
	succeeds("$HOST_APPEND_LOG pool 2");
	/* Forked from a server: none of it is left in the environment, and each run is one of its own. */
	succeeds("printf '#!/bin/sh\\ntest -z \"$LD_PRELOAD$NVWAVE_FORK_SERVER$NVWAVE_FORK_PRELOAD\" -a "
		 "-f \"$1\" && echo $$ >>runs\\n' >script && chmod +x script");
	crash_with(0, "./script");
	succeeds("test $(sort -u runs | wc -l) -ge 8");
	/* Static: executed each time. It changes the file, which must be made new. */
	succeeds("printf '#include <stdio.h>\\nint main(int n, char **a) { FILE *f = fopen(a[1], "
		 "\"r+\"); int c = "
		 "fgetc(f); rewind(f); fputc(255, f); fclose(f); return c == 255; }' >s.c && cc -static "
		 "-o s s.c");
	crash_with(0, "./s");
	succeeds("cc -o s s.c");
	crash_with(0, "./s");
	succeeds("sed -i 's/return c == 255/raise(11)/; s/^#/#include <signal.h>\\n#/' s.c && cc -o s "
		 "s.c");
	crash_with(1, "./s");
	assert_output_has("was killed by signal 11");
	succeeds("sed -i 's/raise(11)/pause()/; s/^#/#include <unistd.h>\\n#/' s.c && cc -o s s.c");
	exits(1, "$NVWAVE crash --exec=\"$HOST_APPEND_LOG pool 3\" --image=pool --check=./s "
		 "--timeout=100ms --states=2");
	assert_output_has("does not terminate");
}

TEST(crash_tests_that_cannot_be_are_refused)
{
	succeeds("$HOST_APPEND_LOG pool 1");
	exits(2, "$NVWAVE crash --exec=\"$HOST_APPEND_LOG pool 3\" --image=other --check=true");
	assert_output_has("expected other, or {}");
	exits(2, "$NVWAVE crash --exec=\"$HOST_APPEND_LOG pool 3\" --check=true");
	exits(2, "$NVWAVE crash --exec=\"$HOST_APPEND_LOG pool 3\" --image=pool");
	exits(2, "$NVWAVE crash --exec='ls pool' --image=pool --check=true");
	assert_output_has("did not map");
	exits(2, "$NVWAVE crash kv --exec='ls pool' --image=pool --check=true");
	exits(2, "$NVWAVE crash --exec=\"$HOST_APPEND_LOG pool 3\" --image=pool --check=true --model=epoch");
}

GROUP_IN_FOLDER("HOST_SUBJECT", "HOST_APPEND_LOG", "HOST_LIST", "HOST_INDEXED_LOG", "HOST_INDEXED_LOG_CHECK");
