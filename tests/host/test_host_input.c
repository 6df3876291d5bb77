/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bad input and bad manners: what nvwave exec and nvwave crash --exec cannot do is refused, what their
 * programs do to them is followed or told, and nothing of theirs stays behind.
 */
#include "common/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvw/persist_log.h>

#include "common/shell.h"
#include "common/skip.h"

/* ---- Running ---------------------------------------------------------------------------------- */

static int start_anew(void **state)
{
	return run("rm -rf -- * && mkdir tmp");
}

static void record(int status, const char *mode, const char *more)
{
	exits(status, "$NVWAVE exec --delays=off --record=log -- $HOST_ODD %s pool %s", mode, more);
}

static void crash(int status, const char *image, const char *command, const char *more)
{
	exits(status,
		"$NVWAVE crash --exec=\"%s\" --image=\"%s\" "
		"--check=$HOST_APPEND_LOG %s",
		command, image, more);
}

static uint8_t *read_whole(const char *name, size_t *ret_n)
{
	static uint8_t bytes[2][1 << 20];
	static unsigned next;
	uint8_t *const to = bytes[next++ % 2];
	FILE *const f = fopen(name, "r");

	assert_non_null(f);
	*ret_n = fread(to, 1, sizeof bytes[0], f);
	fclose(f);
	return to;
}

/* The log on its image must give the file, as far as that goes, and all of it from events. */
static void assert_replays(void)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	size_t image_bytes, file_bytes;
	uint8_t *const image = read_whole("log.image", &image_bytes), *const now =
									      read_whole("pool", &file_bytes);
	int more;

	assert_ok(nvw_log_open("log", &reader));
	while ((more = nvw_log_next(reader, &r)) == 1) {
		if (r.kind == NVW_LOG_STORE) {
			assert_true(r.store.off + 8 <= image_bytes);
			memcpy(image + r.store.off, &r.store.value, r.store.bytes);
			assert_int_not_equal(r.store.work_item, 0);
		}
		if (r.kind == NVW_LOG_HOST) {
			memcpy(image + r.host.off, r.host.data, r.host.bytes);
		}
	}
	assert_int_equal(more, 0);
	nvw_log_reader_close(reader);
	assert_true(file_bytes <= image_bytes);
	assert_memory_equal(image, now, file_bytes);
}

/* ---- Programs --------------------------------------------------------------------------------- */

TEST(a_program_is_looked_for_as_exec_does)
{
	succeeds("mkdir -p a/prog b && ln -s $HOST_APPEND_LOG b/prog && ln -s $HOST_APPEND_LOG here");
	succeeds("PATH=$PWD/a:$PWD/b:$PATH $NVWAVE exec -- prog pool 1");
	succeeds("PATH=/nowhere: $NVWAVE exec -- here pool 1");
	exits(2, "$NVWAVE exec -- prog pool 1");
	assert_output_has("prog: expected a program: No such file");
	exits(2, "$NVWAVE exec -- '' pool 1");
}

TEST(what_cannot_be_executed_is_refused)
{
	exits(2, "printf '#!' >bad && chmod +x bad && $NVWAVE exec -- ./bad");
	assert_output_has("./bad: cannot be executed");
	assert_output_lacks("ended with");
}

TEST(a_session_in_a_session_is_refused)
{
	exits(2, "NVWAVE_SESSION=/some/session $NVWAVE exec -- true");
	assert_output_has("nvwave exec cannot run under nvwave exec");
}

TEST(delays_that_would_hold_a_program_for_days_are_refused)
{
	exits(2, "$NVWAVE exec --set nvram.write=1000000s -- true");
	assert_output_has("nvram.write: expected at most 1s, found 1e+06s");
	exits(2, "$NVWAVE exec --set nvram.read=1001ms -- true");
	assert_output_has("nvram.read: expected at most 1s, found 1.001s");
	exits(2, "$NVWAVE exec --set nvram.bandwidth=1B/s -- true");
	assert_output_has("nvram.bandwidth: expected at least 64 B/s (one line per second), found 1");
	succeeds("$NVWAVE exec --delays=off --set nvram.write=1000000s -- true");
	succeeds("$NVWAVE exec --set nvram.write=1s -- true");
}

TEST(a_library_that_the_linker_would_not_find_is_refused)
{
	succeeds("mkdir 'a b' && cp $(dirname $NVWAVE)/../host/libnvwave-pmem.so 'a b'");
	exits(2, "NVWAVE_PMEM_LIBRARY='a b/libnvwave-pmem.so' $NVWAVE exec -- true");
	assert_output_has("cannot preload from a path with a space");
	exits(2, "NVWAVE_PMEM_LIBRARY=/nowhere $NVWAVE exec -- true");
}

TEST(programs_that_are_executed_by_a_list_are_looked_at)
{
	succeeds("printf 'int main(void) { return 0; }' >s.c && cc -static -o s s.c && cc -o d s.c");
	record(0, "list", "./s");
	assert_output_has("cannot be interposed (static");
	record(0, "list", "./d");
	assert_output_lacks("note:");
	record(0, "nothing", "./d");
	assert_output_has("without LD_PRELOAD");
	record(0, "descriptor", "./d");
	assert_output_has("without LD_PRELOAD");
}

/* ---- The session ------------------------------------------------------------------------------ */

TEST(a_program_may_forget_its_environment)
{
	succeeds("mkdir -p tmp && TMPDIR=tmp $NVWAVE exec --delays=off --record=log -- $HOST_ODD forgets "
		 "pool");
	assert_output_lacks("note:");
	assert_replays();
	succeeds("test -z \"$(ls tmp)\"");
}

TEST(a_program_that_cannot_be_watched_is_told)
{
	succeeds("$NVWAVE exec -- sh -c \"ulimit -v 20000; exec $HOST_APPEND_LOG pool 1\"");
	assert_output_has("cannot be watched", "it was not recorded");
}

TEST(a_folder_that_cannot_be_is_refused)
{
	exits(2, "TMPDIR=/nowhere $NVWAVE exec -- true");
	assert_output_has("TMPDIR: /nowhere");
	exits(2, "ulimit -f 64; TMPDIR=$PWD/tmp $NVWAVE exec -- true");
	assert_output_has("File too large");
	succeeds("test -z \"$(ls tmp)\"");
}

TEST(a_limit_to_files_ends_the_record_and_not_the_program)
{
	succeeds("$HOST_APPEND_LOG pool 1");
	succeeds("$NVWAVE exec --record=log -- sh -c \"ulimit -f 512; exec $HOST_APPEND_LOG pool 1\"");
	assert_output_has("no space was left for the record");
}

static double stat_of(const char *name)
{
	const char *const at = strstr(output, name);

	assert_non_null(at);
	return strtod(at + strlen(name), NULL);
}

/* The counters of the first threads have memory from the beginning; those of others take it when they
 * come. */
TEST(a_thread_without_memory_for_its_counters_runs_and_is_told)
{
	succeeds("$NVWAVE exec -- $HOST_ODD has-threads pool");
	assert_true(stat_of("pmem.flushes") == 8);
	assert_output_lacks("not in the counts");
	succeeds("$NVWAVE exec -- sh -c \"ulimit -f 512; exec $HOST_ODD has-threads pool\"");
	assert_output_has(
		"no memory was left for the counters of a thread: it is not in the counts (5 times)");
	assert_true(stat_of("host.threads") == 9);
	assert_true(stat_of("pmem.flushes") == 3);
}

TEST(folders_of_killed_runs_are_removed_by_the_next)
{
	succeeds("mkfifo ready; TMPDIR=$PWD/tmp $NVWAVE exec -- $HOST_ODD waits $PWD/pool >ready 2>&1 & "
		 "n=$!; head "
		 "-c 1 ready; kill -9 "
		 "$n; wait $n; ls -d tmp/nvwave-exec-*");
	succeeds("TMPDIR=$PWD/tmp $NVWAVE exec -- true && ! ls -d tmp/nvwave*");
	succeeds("pkill -9 -f \"waits $PWD/pool\"");
}

TEST(a_signal_ends_the_program_and_not_the_report)
{
	static const char *const names[] = {"TERM", "HUP"}; /* a shell has its background ignore INT */

	for_each(name, names) {
		assert_int_equal(start_anew(NULL), 0);
		exits(2,
			"mkfifo ready; TMPDIR=$PWD/tmp $NVWAVE exec --record=log -- $HOST_ODD waits pool "
			">ready "
			"2>report & n=$!; "
			"head -c 1 ready; kill -%s $n; wait $n",
			*name);
		succeeds("grep 'ended by signal' report && ! ls -d tmp/nvwave*");
		assert_replays();
	}
}

TEST(a_reader_that_has_enough_of_the_report_leaves_nothing)
{
	run("(sleep 0.3; TMPDIR=$PWD/tmp $NVWAVE exec -- true) 2>&1 | true");
	exits(2, "sleep 0.7; ls -d tmp/nvwave*");
}

TEST(what_outlives_the_program_is_told)
{
	succeeds("$NVWAVE exec --record=log -- $HOST_ODD daemon $PWD/pool");
	assert_output_has("were still running");
	succeeds("pkill -9 -f \"daemon $PWD/pool\""); /* and was */
	succeeds("$NVWAVE exec -- sh -c 'true & wait'");
	assert_output_lacks("were still running");
}

TEST(what_outlives_a_tested_program_is_ended)
{
	const char *const name = strrchr(dir, '/') + 1; /* nobody else's */

	succeeds("$NVWAVE crash --exec=\"$HOST_ODD daemon {}\" --image=%s --check=true", name);
	assert_output_has("were still running");
	succeeds(
		"$NVWAVE crash --exec=\"$HOST_ODD daemon {}\" --image=%s --check=true --mode=kill --states=4",
		name);
	exits(1, "ps -eo stat,args | grep -v '^Z' | grep '/%s$'", name);
}

/* ---- What the program does -------------------------------------------------------------------- */

TEST(a_file_that_shrinks_does_not_end_the_program)
{
	record(0, "shrinks", "");
	assert_output_has("became shorter");
	assert_replays();
}

TEST(a_file_that_grows_under_its_mapping_is_recorded)
{
	record(0, "grows", "");
	assert_output_lacks("note:");
	assert_replays();
}

TEST(a_mapping_is_followed_where_it_goes)
{
	record(0, "moves", "");
	assert_output_lacks("note:");
	assert_replays();
}

TEST(a_mapping_that_becomes_writable_is_recorded)
{
	record(0, "later", "");
	assert_replays();
}

TEST(a_part_of_a_mapping_that_becomes_writable_is_recorded)
{
	record(0, "part-later", "nothing");
	assert_replays();
}

static int crash_of_written(const char *mode, const char *call)
{
	assert_int_equal(start_anew(NULL), 0);
	return run("$NVWAVE crash --exec=\"$HOST_ODD %s {} %s\" --image=pool --check=true --states=20", mode,
		call);
}

TEST(a_crash_test_of_what_system_calls_write_is_undecided)
{
	static const char *const calls[] = {"splice", "fallocate", "fallocate64"};

	for_each(row, calls) {
		const char *const sentence =
			formatted("odd changes pool by %.*s() at ", (int)strcspn(*row, "6"), *row);

		for (size_t reads = (size_t)(row - calls) % one_in(2); reads < 2; reads += one_in(2)) {
			if (crash_of_written(reads ? "read" : "written", *row) != 2 ||
				!printed("UNDECIDED") || !printed(sentence) || !printed("odd.c:")) {
				fail_msg("%s: %.500s", *row, output);
			}
		}
	}
	assert_int_equal(crash_of_written("written", "ftruncate"), 2);
	assert_true(printed("UNDECIDED") && printed("odd changes pool by ftruncate() at "));
	assert_int_equal(start_anew(NULL), 0);
	record(2, "written", "splice");
	assert_output_has("UNDECIDED");
}

/* Behind a flush by libpmem the file is on persistent memory, else on a disk. */
TEST(what_system_calls_write_is_recorded)
{
	static const char *const calls[] = {"write", "pwrite", "pwrite64", "writev", "pwritev", "pwritev64",
		"pwritev2", "pwritev64v2", "sendfile", "sendfile64", "copy_file_range", "ftruncate",
		"ftruncate64"};

	for_each(row, calls) {
		const bool cuts = (*row)[0] == 'f', only_read = (row - calls) % 2 == 1;

		if ((cuts || only_read || one_in(2) == 1) &&
			(crash_of_written("read", *row) != 0 || !printed(" under files:"))) {
			fail_msg("%s: %.500s", *row, output);
		}
		if (!cuts && (!only_read || one_in(2) == 1) &&
			(crash_of_written("written", *row) != 0 || !printed(" under x86:"))) {
			fail_msg("%s: %.500s", *row, output);
		}
	}
	assert_int_equal(start_anew(NULL), 0);
	record(0, "written", "pwrite");
	assert_replays();
}

TEST(what_is_written_while_nothing_is_mapped_is_no_matter)
{
	assert_int_equal(crash_of_written("written", "nothing"), 0);
	assert_int_equal(crash_of_written("between", "pwrite"), 0);
	assert_int_equal(start_anew(NULL), 0);
	record(0, "between", "pwrite");
	assert_replays();
}

TEST(a_mapping_that_cannot_be_stored_to_is_not_recorded)
{
	record(2, "read", "nothing");
	assert_output_has("mapped no file");
	exits(2, "$NVWAVE crash --exec='true {}' --image=pool --check=true");
	assert_output_has("did not map or write the image's copy");
}

TEST(a_mapping_survives_calls_that_fail)
{
	record(0, "misaligned", "");
	assert_replays();
}

TEST(the_kernel_may_write_into_a_mapping)
{
	record(0, "reads", "");
	assert_replays();
}

TEST(the_programs_own_use_of_faults_stays)
{
	record(0, "segv", "");
	assert_replays();
}

/* ---- What is written -------------------------------------------------------------------------- */

TEST(a_file_of_the_program_is_never_replaced)
{
	exits(2, "$NVWAVE exec --record=pool -- $HOST_APPEND_LOG pool 2");
	assert_output_has("is a file of the program");
	exits(2, "$NVWAVE exec --record=log -- $HOST_APPEND_LOG log.image 2");
	succeeds("$HOST_APPEND_LOG pool && $HOST_APPEND_LOG log.image");
}

TEST(what_cannot_be_written_is_refused_before_the_run)
{
	exits(2, "$NVWAVE exec --record=no/log -- touch ran");
	exits(2, "$NVWAVE exec --report=no/report -- touch ran");
	exits(2, "ls ran");
	exits(2, "$NVWAVE exec -- true 2>/dev/full");
}

TEST(messages_do_not_go_into_the_log)
{
	exits(2, "$NVWAVE exec --record=log -- $HOST_APPEND_LOG pool 1 <&- >&- 2>&-"); /* no report */
	succeeds("$NVWAVE log dump log");
}

/* ---- Crash tests ------------------------------------------------------------------------------ */

TEST(images_may_have_any_name)
{
	static const char *const names[] = {"a b", "a'b", "a;b", "-a", "a(b"};

	for_each(name, names) {
		crash(0, *name, "$HOST_APPEND_LOG {} 1", "");
	}
}

TEST(images_that_are_no_files_are_refused)
{
	static const char *const names[] = {"", ".", "/dev/zero", "pipe", "loop"};

	succeeds("mkfifo pipe && ln -s loop loop");
	for_each(name, names) {
		crash(2, *name, "$HOST_APPEND_LOG {} 1", "");
		assert_output_lacks("Success");
	}
}

TEST(an_image_that_is_longer_than_the_log_s_file_is_refused)
{
	succeeds("$NVWAVE exec --delays=off --record=log -- $HOST_APPEND_LOG pool 2");
	succeeds("cp log.image longer; truncate -s 65536 longer");
	exits(2, "$NVWAVE crash --store-log=log --image=longer --check=$HOST_APPEND_LOG");
	assert_output_has(
		"nvwave: longer: has 65536 bytes, and log is the log of a file of 64064: expected that file "
		"as it was");
	succeeds("$NVWAVE crash --store-log=log --image=log.image --check=$HOST_APPEND_LOG --states=20");
	succeeds("rm log log.image longer pool");
}

TEST(an_image_that_is_replaced_is_told)
{
	static const char command[] =
		"$HOST_APPEND_LOG {} 1; cp {} {}.2; mv {}.2 {}; $HOST_APPEND_LOG {} 1; touch {}.more";

	crash(0, "pool", command, "");
	assert_output_has("only the first is explored");
	setenv("TMPDIR", "tmp", 1);
	crash(0, "pool", command, "");
	unsetenv("TMPDIR");
	succeeds("test -z \"$(ls tmp)\"");
}

TEST(an_interrupt_ends_a_crash_test_by_kills)
{
	exits(2, "mkfifo ready; $NVWAVE crash --mode=kill --exec=\"$HOST_ODD waits {}\" --image=pool "
		 "--check=true >out "
		 "2>ready & n=$!; "
		 "head -c 1 ready; kill -INT $n; wait $n; s=$?; cat out; exit $s");
	assert_output_has("UNDECIDED");
}

/* ---- Checkers --------------------------------------------------------------------------------- */

static void check_by(int status, const char *checker)
{
	exits(status,
		"$NVWAVE crash --exec=\"$HOST_APPEND_LOG {} 2\" --image=pool --check='%s' --timeout=5s "
		"--states=4",
		checker);
}

TEST(a_checker_that_is_not_there_is_refused)
{
	succeeds(": >plain");
	check_by(2, "no-such-checker");
	assert_output_has("--check: no-such-checker: expected an executable program");
	check_by(2, "./plain");
	check_by(0, "true");
}

TEST(a_checker_may_print_much_but_has_to_end)
{
	succeeds("printf '#!/bin/sh\nset -e\nseq 3000000\n' >talks && chmod +x talks");
	check_by(0, "./talks");
	succeeds("printf '#!/bin/sh\nyes\nexit 0\n' >talks");
	exits(1, "$NVWAVE crash --exec=\"$HOST_APPEND_LOG {} 2\" --image=pool --check=./talks "
		 "--timeout=300ms --states=4");
	assert_output_has("does not terminate"); /* its own limit, or that of the check around it */
}

TEST(a_checker_reads_nothing_and_leaves_nothing)
{
	succeeds("printf '#!/bin/sh\\nsleep 77 &\\nif read line; then exit 1; fi\\n' >leaves && chmod +x "
		 "leaves");
	succeeds("echo line | $NVWAVE crash --exec=\"$HOST_APPEND_LOG {} 2\" --image=pool --check=./leaves "
		 "--states=4");
	check_by(0, "./leaves; true"); /* executed, not served */
	exits(1, "ps -eo stat,args | grep -v '^Z' | grep '[s]leep 77.%d$'", getpid());
}

/* ---- Beginning and end ------------------------------------------------------------------------ */

static int begin(void **state)
{
	setenv("PMEM_IS_PMEM_FORCE", "0", 1);
	const int r = shell_begin((const char *const[]){"NVWAVE", "HOST_ODD", "HOST_APPEND_LOG", NULL});

	return r ? r : chdir(dir);
}

static int end(void **state)
{
	return chdir("/") || shell_end(state);
}

GROUP(begin, end, .each = start_anew);
