/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Real programs under nvwave crash --exec, and their logs under nvwave crash --store-log: right ones, and
 * ones with planted bugs; store logs that are exported; checkers.
 */
#include "common/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_rig.h"

static const char *append_log, *list, *indexed_log, *indexed_log_check;

/* Nothing failed, and every state was tested of those that a comparison of lines can show (docs/host.md). */
static void expect_exhausted(void)
{
	unsigned instants = 0, exhausted = 1;
	const char *const possible = strstr(output, "possible:");

	assert_non_null(strstr(output, "NO FAILURE FOUND in "));
	assert_non_null(possible);
	assert_int_equal(sscanf(possible, "possible: %*[^,], at %u instant", &instants), 1);
	assert_non_null(strstr(possible, "; "));
	assert_int_equal(sscanf(strstr(possible, "; "), "; %u of them exhausted", &exhausted), 1);
	assert_int_equal(instants, exhausted);
}

/* ---- Crash tests ------------------------------------------------------------------------------ */

TEST(a_right_log_is_consistent_and_each_planted_bug_is_found)
{
	static const char *const bugs[] = {"one-drain", "no-flush", "header-first"};

	clean();
	assert_int_equal(run("%s pool 2", append_log), 0);
	assert_int_equal(run("cp pool before"), 0);
	assert_int_equal(
		run("%s crash --exec='%s pool 3' --image=pool --check=%s", nvwave, append_log, append_log),
		0);
	expect_exhausted();
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(run("%s crash --exec='%s pool 3 %s' --image=pool --check=%s --save=saved "
				     "--states=200 --cures=off",
					 nvwave, append_log, bugs[i], append_log),
			1);
		assert_non_null(strstr(output, "counts and is not whole"));
		assert_non_null(strstr(output, "examples/append_log.c:"));
		assert_int_equal(run("%s replay saved/finding-1", nvwave), 1);
		assert_non_null(strstr(output, "REPRODUCED"));
	}
	assert_int_equal(run("cmp pool before"), 0); /* the programs worked on copies */
}

TEST(a_right_indexed_log_is_consistent_and_each_planted_bug_is_found)
{
	static const struct {
		const char *name, *text;
	} bugs[] = {{"one-drain", "counts and is not whole"}, {"no-flush", "counts and is not whole"},
		{"index-first", "has an entry that does not count"},
		{"index-unflushed", "is not in the index"}};

	clean();
	assert_int_equal(run("%s pool 2", indexed_log), 0);
	assert_int_equal(
		run("%s crash --exec='%s pool 6' --image=pool --check=%s", nvwave, indexed_log, indexed_log),
		0);
	expect_exhausted();
	assert_int_equal(run("%s crash --exec='%s pool 6' --image=pool --check-lib=%s --model=pmreorder",
				 nvwave, indexed_log, indexed_log_check),
		0);
	for (unsigned i = 0; i < sizeof bugs / sizeof *bugs; i++) {
		assert_int_equal(run("%s crash --exec='%s pool 4 %s' --image=pool --check=%s --cures=off",
					 nvwave, indexed_log, bugs[i].name, indexed_log),
			1);
		assert_non_null(strstr(output, bugs[i].text));
		assert_non_null(strstr(output, "examples/indexed_log.c:"));
		assert_int_equal(run("%s crash --exec='%s pool 4 %s' --image=pool --check-lib=%s --cures=off",
					 nvwave, indexed_log, bugs[i].name, indexed_log_check),
			1);
		assert_non_null(strstr(output, bugs[i].text));
	}
}

TEST(a_right_pmemobj_list_is_consistent_and_each_planted_bug_is_found)
{
	static const char *const bugs[] = {"no-add", "no-tx"};

	clean();
	assert_int_equal(run("%s create pool && %s append pool 1", list, list), 0);
	assert_int_equal(
		run("%s crash --exec='%s append pool 1' --image=pool --check='%s check' --states=150", nvwave,
			list, list),
		0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(run("%s crash --exec='%s append pool 1 %s' --image=pool --check='%s check' "
				     "--states=150 --cures=off",
					 nvwave, list, bugs[i], list),
			1);
		assert_non_null(strstr(output, "examples/list.c:"));
	}
}

/*
 * The state's file takes the place of the image's name, however it is written: the checker finds what fails
 * in the state, not in the pool, which is whole.
 */
TEST(a_check_that_names_the_image_judges_the_state)
{
	static const char *const names[] = {"pool 3", "./pool 3", "link 3", "$PWD/pool 3", "- <pool", "{} 3"};

	clean();
	assert_int_equal(run("%s create pool && %s append pool 1 && ln -s pool link", list, list), 0);
	assert_int_equal(
		run("printf '#!/bin/sh\\ntest $1 = - && set /dev/stdin\\nexec %s check $1\\n' >judge; chmod "
		    "+x judge",
			list),
		0);
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		const bool is_shell_s = names[i][0] == '$';

		assert_int_equal(
			run("%s crash --exec='%s append ./pool 1 no-tx' --image=%s --check=\"./judge %s\" "
			    "--states=150 --stop-after=1 --cures=off",
				nvwave, list, is_shell_s ? "$PWD/pool" : "pool", names[i]),
			1);
		assert_non_null(strstr(output, "examples/list.c:"));
	}
	assert_int_equal(
		run("%s crash --exec='%s append pool 1' --image=pool --check='cmp {} pool'", nvwave, list),
		2);
	assert_non_null(strstr(output, "--check: expected {} or pool, found both"));
	assert_int_equal(run("rm link judge"), 0);
}

TEST(what_a_line_held_at_an_event_persists_together)
{
	clean();
	/* The checker is not interposed, and the subject insists on persistent memory. */
	assert_int_equal(
		run("PMEM_IS_PMEM_FORCE=1 %s crash --exec='%s same-line {}' --image=pool --check='%s "
		    "check-same-line'",
			nvwave, subject, subject),
		0);
	expect_exhausted();
}

TEST(a_recorded_log_is_explored_like_the_run_itself)
{
	char first[64], *states;

	clean();
	assert_int_equal(run("%s pool 2 && cp pool copy", append_log), 0);
	assert_int_equal(run("%s crash --exec='%s pool 3 one-drain' --image=pool --check=%s --cures=off",
				 nvwave, append_log, append_log),
		1);
	states = strstr(output, "possible:");
	assert_non_null(states);
	snprintf(first, sizeof first, "%.40s", states);
	assert_int_equal(run("%s exec --record=log -- %s pool 3 one-drain", nvwave, append_log), 0);
	assert_int_equal(run("cmp copy log.image"), 0);
	assert_int_equal(
		run("%s crash --store-log=log --image=log.image --check=%s --cures=off", nvwave, append_log),
		1);
	assert_non_null(strstr(output, first));
}

TEST(a_killed_program_leaves_states_that_are_checked)
{
	clean();
	assert_int_equal(run("%s pool 2 && cp pool before", append_log), 0);
	assert_int_equal(run("%s crash --mode=kill --exec='%s pool 4' --image=pool --check=%s --states=10",
				 nvwave, append_log, append_log),
		0);
	assert_non_null(strstr(output, "10 kills"));
	assert_int_equal(
		run("%s crash --mode=kill --exec='%s pool 4 one-drain' --image=pool --check=%s --states=20 "
		    "--save=saved",
			nvwave, append_log, append_log),
		1);
	assert_non_null(strstr(output, "counts and is not whole"));
	assert_int_equal(run("%s replay saved/finding-1", nvwave), 1);
	assert_int_equal(run("cmp pool before"), 0);
	assert_int_equal(run("%s crash --mode=kill --exec='%s forks {}' --image=new --check=true --states=5",
				 nvwave, subject),
		0);
}

/* ---- Other models, threads -------------------------------------------------------------------- */

TEST(the_models_differ_where_they_should)
{
	clean();
	assert_int_equal(run("%s pool 2", append_log), 0);
	assert_int_equal(run("%s crash --exec='%s pool 3 no-flush' --image=pool --check=%s --model=eadr",
				 nvwave, append_log, append_log),
		0); /* caches are inside */
	assert_int_equal(run("%s crash --exec='%s pool 3 header-first' --image=pool --check=%s --model=eadr "
			     "--cures=off",
				 nvwave, append_log, append_log),
		1);
	assert_int_equal(
		run("%s crash --exec='%s pool 3 one-drain' --image=pool --check=%s --model=pmreorder "
		    "--cures=off",
			nvwave, append_log, append_log),
		1);
}

/* What the threads did in another order was not recorded. */
TEST(a_verdict_on_threads_is_of_the_recorded_interleaving)
{
	static const char crash[] = "%s crash --exec='%s %s {} 3' --image=pool --check=true --states=50 %s";

	clean();
	assert_int_equal(run(crash, nvwave, subject, "threads", "--html=page"), 0);
	assert_non_null(strstr(output, "states of this recorded interleaving of"));
	assert_non_null(strstr(output, "other interleavings of the threads may leave other states"));
	assert_int_equal(run("grep -q 'the recorded interleaving of [0-9]* threads' page"), 0);
	assert_int_equal(run(crash, nvwave, subject, "threads", "--output-format=json >json"), 0);
	assert_int_equal(run("grep -q '^  \"threads\": [2-9],' json"), 0);
	assert_int_equal(run(crash, nvwave, subject, "persist", ""), 0);
	assert_null(strstr(output, "interleaving"));
	expect_exhausted();
}

/* Only the first thread makes a call that is recorded. */
TEST(threads_that_only_store_are_counted)
{
	clean();
	assert_int_equal(run("%s crash --exec='%s stores-apart {}' --image=pool --check=true --states=50",
				 nvwave, subject),
		0);
	assert_non_null(strstr(output, " states of this recorded interleaving of 3 threads"));
	assert_int_equal(run("%s exec --record=log -- %s stores-apart pool", nvwave, subject), 0);
	assert_int_equal(run("%s log export log >lines", nvwave), 0);
	assert_int_equal(run("%s crash --store-log=lines --image=log.image --check=true", nvwave), 0);
	assert_non_null(strstr(output, "in one recorded order (the log names no threads)"));
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

	for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++) {
		unsigned stores[2];

		clean();
		assert_int_equal(record(modes[i], 1), 0);
		assert_int_equal(
			run("%s log export log >lines && %s log export log --words >words", nvwave, nvwave),
			0);
		for (unsigned words = 0; words < 2; words++) {
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

	run("%s crash --store-log=%s --image=log.image --check-lib=%s --model=%s --cures=off", nvwave, log,
		indexed_log_check, model);
	const char *const found = strstr(output, "possible:");

	assert_non_null(found);
	snprintf(kept, sizeof text[0], "%.*s", (int)(strstr(found, " states") - found), found);
	return kept;
}

TEST(an_exported_store_log_is_explored_like_the_record)
{
	clean();
	assert_int_equal(run("%s pool 2", indexed_log), 0);
	assert_int_equal(run("%s exec --record=log -- %s pool 4 one-drain", nvwave, indexed_log), 0);
	assert_int_equal(
		run("%s log export log >lines && %s log export log --words >words", nvwave, nvwave), 0);
	assert_string_equal(possible("lines", "pmreorder"), possible("log", "pmreorder"));
	assert_non_null(strstr(output, "counts and is not whole"));
	assert_non_null(strstr(output, "examples/indexed_log.c:"));
	assert_string_not_equal(possible("words", "pmreorder"), possible("log", "pmreorder"));
	assert_int_equal(run("%s log export log --file='a;b'", nvwave), 2);
	assert_non_null(strstr(output, "a;b"));
	assert_int_equal(
		run("%s run kv --count=20 --log=kernel && %s log export kernel >out", nvwave, nvwave), 2);
	assert_non_null(strstr(output, "found a kernel's"));
	assert_int_equal(run("test -s out"), 1);
}

/* ---- Checkers, bad input ---------------------------------------------------------------------- */

/* The report of a checker that is a script, or a program of a line of C built with flags. */
static int crash_with(const char *check)
{
	return run("%s crash --exec='%s pool 3' --image=pool --check=%s --timeout=2s --states=12", nvwave,
		append_log, check);
}

TEST(every_kind_of_checker_is_asked_about_every_state)
{
	clean();
	assert_int_equal(run("%s pool 2", append_log), 0);
	/* Forked from a server: none of it is left in the environment, and each run is one of its own. */
	assert_int_equal(
		run("printf '#!/bin/sh\\ntest -z \"$LD_PRELOAD$NVWAVE_FORK_SERVER$NVWAVE_FORK_PRELOAD\" -a "
		    "-f \"$1\" && echo $$ >>runs\\n' >script && chmod +x script"),
		0);
	assert_int_equal(crash_with("./script"), 0);
	assert_int_equal(run("test $(sort -u runs | wc -l) -ge 8"), 0);
	/* Static: executed each time. It changes the file, which must be made new. */
	assert_int_equal(
		run("printf '#include <stdio.h>\\nint main(int n, char **a) { FILE *f = fopen(a[1], "
		    "\"r+\"); int c = "
		    "fgetc(f); rewind(f); fputc(255, f); fclose(f); return c == 255; }' >s.c && cc -static "
		    "-o s s.c"),
		0);
	assert_int_equal(crash_with("./s"), 0);
	assert_int_equal(run("cc -o s s.c"), 0);
	assert_int_equal(crash_with("./s"), 0);
	assert_int_equal(
		run("sed -i 's/return c == 255/raise(11)/; s/^#/#include <signal.h>\\n#/' s.c && cc -o s "
		    "s.c"),
		0);
	assert_int_equal(crash_with("./s"), 1);
	assert_non_null(strstr(output, "was killed by signal 11"));
	assert_int_equal(
		run("sed -i 's/raise(11)/pause()/; s/^#/#include <unistd.h>\\n#/' s.c && cc -o s s.c"), 0);
	assert_int_equal(
		run("%s crash --exec='%s pool 3' --image=pool --check=./s --timeout=100ms --states=2", nvwave,
			append_log),
		1);
	assert_non_null(strstr(output, "does not terminate"));
}

TEST(crash_tests_that_cannot_be_are_refused)
{
	clean();
	assert_int_equal(run("%s pool 1", append_log), 0);
	assert_int_equal(
		run("%s crash --exec='%s pool 3' --image=other --check=true", nvwave, append_log), 2);
	assert_non_null(strstr(output, "expected other, or {}"));
	assert_int_equal(run("%s crash --exec='%s pool 3' --check=true", nvwave, append_log), 2);
	assert_int_equal(run("%s crash --exec='%s pool 3' --image=pool", nvwave, append_log), 2);
	assert_int_equal(run("%s crash --exec='ls pool' --image=pool --check=true", nvwave), 2);
	assert_non_null(strstr(output, "did not map"));
	assert_int_equal(run("%s crash kv --exec='ls pool' --image=pool --check=true", nvwave), 2);
	assert_int_equal(run("%s crash --exec='%s pool 3' --image=pool --check=true --model=epoch", nvwave,
				 append_log),
		2);
}

static int begin_with_examples(void **state)
{
	append_log = getenv("HOST_APPEND_LOG");
	list = getenv("HOST_LIST");
	indexed_log = getenv("HOST_INDEXED_LOG");
	indexed_log_check = getenv("HOST_INDEXED_LOG_CHECK");
	return append_log && list && indexed_log && indexed_log_check ? begin(state) : -1;
}

GROUP(begin_with_examples, end);
