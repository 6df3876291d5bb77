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
#include <sys/wait.h>
#include <unistd.h>

#include <nvw/persist_log.h>

static const char *nvwave, *odd, *append_log;
static char dir[64], output[1 << 16];
static bool begun;

/* ---- Running ---------------------------------------------------------------------------------- */

/* The shell's command line in dir, its output kept: the exit status. Nothing here may hang. */
static int run(const char *format, ...)
{
	char command[2048];
	va_list list;

	va_start(list, format);
	vsnprintf(command, sizeof command, format, list);
	va_end(list);
	setenv("COMMAND", command, 1);
	FILE *const f = popen("timeout -k 1 50 sh -c \"$COMMAND\" 2>&1", "r");

	assert_non_null(f);
	const size_t n = fread(output, 1, sizeof output - 1, f);

	output[n] = '\0';
	return WEXITSTATUS(pclose(f));
}

static bool printed(const char *text)
{
	return strstr(output, text) != NULL;
}

static void clean(void)
{
	assert_int_equal(run("rm -rf -- * && mkdir tmp"), 0);
}

static int record(const char *mode, const char *more)
{
	return run("%s exec --delays=off --record=log -- %s %s pool %s", nvwave, odd, mode, more);
}

static int crash(const char *image, const char *command, const char *more)
{
	return run("%s crash --exec='%s' --image=\"%s\" --check=%s %s", nvwave, command, image, append_log,
		more);
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

/*
 * The log on its image must give the file, as far as that goes; all of it from events, or told is how many
 * stores are not.
 */
static void assert_replays(unsigned unflushed)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	size_t image_bytes, file_bytes;
	uint8_t *const image = read_whole("log.image", &image_bytes), *const now =
									      read_whole("pool", &file_bytes);
	unsigned late = 0;
	int more;

	assert_int_equal(nvw_log_open("log", &reader), 0);
	while ((more = nvw_log_next(reader, &r)) == 1) {
		if (r.kind == NVW_LOG_STORE) {
			assert_true(r.store.off + 8 <= image_bytes);
			memcpy(image + r.store.off, &r.store.value, r.store.bytes);
			late += r.store.work_item == 0;
		}
		if (r.kind == NVW_LOG_HOST) {
			memcpy(image + r.host.off, r.host.data, r.host.bytes);
		}
	}
	assert_int_equal(more, 0);
	nvw_log_reader_close(reader);
	assert_true(file_bytes <= image_bytes);
	assert_memory_equal(image, now, file_bytes);
	assert_int_equal(late, unflushed);
}

/* ---- Programs --------------------------------------------------------------------------------- */

TEST(a_program_is_looked_for_as_exec_does)
{
	clean();
	assert_int_equal(
		run("mkdir -p a/prog b && ln -s %s b/prog && ln -s %s here", append_log, append_log), 0);
	assert_int_equal(run("PATH=$PWD/a:$PWD/b:$PATH %s exec -- prog pool 1", nvwave), 0);
	assert_int_equal(run("PATH=/nowhere: %s exec -- here pool 1", nvwave), 0);
	assert_int_equal(run("%s exec -- prog pool 1", nvwave), 2);
	assert_true(printed("prog: expected a program: No such file"));
	assert_int_equal(run("%s exec -- '' pool 1", nvwave), 2);
}

TEST(what_cannot_be_executed_is_refused)
{
	clean();
	assert_int_equal(run("printf '#!' >bad && chmod +x bad && %s exec -- ./bad", nvwave), 2);
	assert_true(printed("./bad: cannot be executed"));
	assert_false(printed("ended with"));
}

TEST(a_session_in_a_session_is_refused)
{
	clean();
	assert_int_equal(run("NVWAVE_SESSION=/some/session %s exec -- true", nvwave), 2);
	assert_true(printed("nvwave exec cannot run under nvwave exec"));
}

TEST(delays_that_would_hold_a_program_for_days_are_refused)
{
	assert_int_equal(run("%s exec --set nvram.write=1000000s -- true", nvwave), 2);
	assert_true(printed("nvram.write: expected at most 1s, found 1e+06s"));
	assert_int_equal(run("%s exec --set nvram.read=1001ms -- true", nvwave), 2);
	assert_true(printed("nvram.read: expected at most 1s, found 1.001s"));
	assert_int_equal(run("%s exec --set nvram.bandwidth=1B/s -- true", nvwave), 2);
	assert_true(printed("nvram.bandwidth: expected at least 64 B/s (one line per second), found 1"));
	assert_int_equal(run("%s exec --delays=off --set nvram.write=1000000s -- true", nvwave), 0);
	assert_int_equal(run("%s exec --set nvram.write=1s -- true", nvwave), 0);
}

TEST(a_library_that_the_linker_would_not_find_is_refused)
{
	clean();
	assert_int_equal(run("mkdir 'a b' && cp $(dirname %s)/../host/libnvwave-pmem.so 'a b'", nvwave), 0);
	assert_int_equal(run("NVWAVE_PMEM_LIBRARY='a b/libnvwave-pmem.so' %s exec -- true", nvwave), 2);
	assert_true(printed("cannot preload from a path with a space"));
	assert_int_equal(run("NVWAVE_PMEM_LIBRARY=/nowhere %s exec -- true", nvwave), 2);
}

TEST(programs_that_are_executed_by_a_list_are_looked_at)
{
	clean();
	assert_int_equal(
		run("printf 'int main(void) { return 0; }' >s.c && cc -static -o s s.c && cc -o d s.c"), 0);
	assert_int_equal(record("list", "./s"), 0);
	assert_true(printed("cannot be interposed (static"));
	assert_int_equal(record("list", "./d"), 0);
	assert_false(printed("note:"));
	assert_int_equal(record("nothing", "./d"), 0);
	assert_true(printed("without LD_PRELOAD"));
	assert_int_equal(record("descriptor", "./d"), 0);
	assert_true(printed("without LD_PRELOAD"));
}

/* ---- The session ------------------------------------------------------------------------------ */

TEST(a_program_may_forget_its_environment)
{
	clean();
	assert_int_equal(
		run("mkdir -p tmp && TMPDIR=tmp %s exec --delays=off --record=log -- %s forgets pool", nvwave,
			odd),
		0);
	assert_false(printed("note:"));
	assert_replays(0);
	assert_int_equal(run("test -z \"$(ls tmp)\""), 0);
}

TEST(a_program_that_cannot_be_watched_is_told)
{
	clean();
	assert_int_equal(run("%s exec -- sh -c 'ulimit -v 20000; exec %s pool 1'", nvwave, append_log), 0);
	assert_true(printed("cannot be watched"));
	assert_true(printed("it was not recorded"));
}

TEST(a_folder_that_cannot_be_is_refused)
{
	clean();
	assert_int_equal(run("TMPDIR=/nowhere %s exec -- true", nvwave), 2);
	assert_true(printed("TMPDIR: /nowhere"));
	assert_int_equal(run("ulimit -f 64; TMPDIR=$PWD/tmp %s exec -- true", nvwave), 2);
	assert_true(printed("File too large"));
	assert_int_equal(run("test -z \"$(ls tmp)\""), 0);
}

TEST(a_limit_to_files_ends_the_record_and_not_the_program)
{
	clean();
	assert_int_equal(run("%s pool 1", append_log), 0);
	assert_int_equal(
		run("%s exec --record=log -- sh -c 'ulimit -f 512; exec %s pool 1'", nvwave, append_log), 0);
	assert_true(printed("no space was left for the record"));
}

static double stat_of(const char *name)
{
	const char *const at = strstr(output, name);

	assert_non_null(at);
	return strtod(at + strlen(name), NULL);
}

/* The counters of the first threads have memory from the beginning; those of others take it when they come. */
TEST(a_thread_without_memory_for_its_counters_runs_and_is_told)
{
	clean();
	assert_int_equal(run("%s exec -- %s has-threads pool", nvwave, odd), 0);
	assert_true(stat_of("pmem.flushes") == 8);
	assert_false(printed("not in the counts"));
	assert_int_equal(run("%s exec -- sh -c 'ulimit -f 512; exec %s has-threads pool'", nvwave, odd), 0);
	assert_true(printed(
		"no memory was left for the counters of a thread: it is not in the counts (5 times)"));
	assert_true(stat_of("host.threads") == 9);
	assert_true(stat_of("pmem.flushes") == 3);
}

TEST(folders_of_killed_runs_are_removed_by_the_next)
{
	clean();
	assert_int_equal(
		run("mkfifo ready; TMPDIR=$PWD/tmp %s exec -- %s waits $PWD/pool >ready 2>&1 & n=$!; head "
		    "-c 1 ready; kill -9 "
		    "$n; wait $n; ls -d tmp/nvwave-exec-*",
			nvwave, odd),
		0);
	assert_int_equal(run("TMPDIR=$PWD/tmp %s exec -- true && ! ls -d tmp/nvwave*", nvwave), 0);
	assert_int_equal(run("pkill -9 -f \"waits $PWD/pool\""), 0);
}

TEST(a_signal_ends_the_program_and_not_the_report)
{
	static const char *const names[] = {"TERM", "HUP"}; /* a shell has its background ignore INT */

	for (unsigned i = 0; i < 2; i++) {
		clean();
		assert_int_equal(
			run("mkfifo ready; TMPDIR=$PWD/tmp %s exec --record=log -- %s waits pool >ready "
			    "2>report & n=$!; "
			    "head -c 1 ready; kill -%s $n; wait $n",
				nvwave, odd, names[i]),
			2);
		assert_int_equal(run("grep 'ended by signal' report && ! ls -d tmp/nvwave*"), 0);
		assert_replays(0);
	}
}

TEST(a_reader_that_has_enough_of_the_report_leaves_nothing)
{
	clean();
	run("(sleep 0.3; TMPDIR=$PWD/tmp %s exec -- true) 2>&1 | true", nvwave);
	assert_int_equal(run("sleep 0.7; ls -d tmp/nvwave*"), 2);
}

TEST(what_outlives_the_program_is_told)
{
	clean();
	assert_int_equal(run("%s exec --record=log -- %s daemon $PWD/pool", nvwave, odd), 0);
	assert_true(printed("were still running"));
	assert_int_equal(run("pkill -9 -f \"daemon $PWD/pool\""), 0); /* and was */
	assert_int_equal(run("%s exec -- sh -c 'true & wait'", nvwave), 0);
	assert_false(printed("were still running"));
}

TEST(what_outlives_a_tested_program_is_ended)
{
	const char *const name = strrchr(dir, '/') + 1; /* nobody else's */

	clean();
	assert_int_equal(run("%s crash --exec='%s daemon {}' --image=%s --check=true", nvwave, odd, name), 0);
	assert_true(printed("were still running"));
	assert_int_equal(run("%s crash --exec='%s daemon {}' --image=%s --check=true --mode=kill --states=4",
				 nvwave, odd, name),
		0);
	assert_int_equal(run("ps -eo stat,args | grep -v '^Z' | grep '/%s$'", name), 1);
}

/* ---- What the program does -------------------------------------------------------------------- */

TEST(a_file_that_shrinks_does_not_end_the_program)
{
	clean();
	assert_int_equal(record("shrinks", ""), 0);
	assert_true(printed("became shorter"));
	assert_replays(0);
}

TEST(a_file_that_grows_under_its_mapping_is_recorded)
{
	clean();
	assert_int_equal(record("grows", ""), 0);
	assert_false(printed("note:"));
	assert_replays(0);
}

TEST(a_mapping_is_followed_where_it_goes)
{
	clean();
	assert_int_equal(record("moves", ""), 0);
	assert_false(printed("note:"));
	assert_replays(0);
}

TEST(a_mapping_that_becomes_writable_is_recorded)
{
	clean();
	assert_int_equal(record("later", ""), 0);
	assert_replays(0);
}

TEST(a_part_of_a_mapping_that_becomes_writable_is_recorded)
{
	clean();
	assert_int_equal(record("part-later", "nothing"), 0);
	assert_replays(0);
}

static int crash_of_written(const char *mode, const char *call)
{
	clean();
	return run("%s crash --exec='%s %s {} %s' --image=pool --check=true --states=20", nvwave, odd, mode,
		call);
}

TEST(a_crash_test_of_what_system_calls_write_is_undecided)
{
	static const char *const calls[] = {"splice", "fallocate", "fallocate64"};
	char sentence[64];

	for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
		snprintf(sentence, sizeof sentence, "odd changes pool by %.*s() at ",
			(int)strcspn(calls[i], "6"), calls[i]);
		for (unsigned reads = 0; reads < 2; reads++) {
			if (crash_of_written(reads ? "read" : "written", calls[i]) != 2 ||
				!printed("UNDECIDED") || !printed(sentence) || !printed("odd.c:")) {
				fail_msg("%s: %.500s", calls[i], output);
			}
		}
	}
	assert_int_equal(crash_of_written("written", "ftruncate"), 2);
	assert_true(printed("UNDECIDED") && printed("odd changes pool by ftruncate() at "));
	clean();
	assert_int_equal(record("written", "splice"), 2);
	assert_true(printed("UNDECIDED"));
}

/* Behind a flush by libpmem the file is on persistent memory, else on a disk. */
TEST(what_system_calls_write_is_recorded)
{
	static const char *const calls[] = {"write", "pwrite", "pwrite64", "writev", "pwritev", "pwritev64",
		"pwritev2", "pwritev64v2", "sendfile", "sendfile64", "copy_file_range", "ftruncate",
		"ftruncate64"};

	for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
		const bool cuts = calls[i][0] == 'f';

		if (crash_of_written("read", calls[i]) != 0 || !printed(" under files:") ||
			(!cuts && (crash_of_written("written", calls[i]) != 0 || !printed(" under x86:")))) {
			fail_msg("%s: %.500s", calls[i], output);
		}
	}
	clean();
	assert_int_equal(record("written", "pwrite"), 0);
	assert_replays(0);
}

TEST(what_is_written_while_nothing_is_mapped_is_no_matter)
{
	assert_int_equal(crash_of_written("written", "nothing"), 0);
	assert_int_equal(crash_of_written("between", "pwrite"), 0);
	clean();
	assert_int_equal(record("between", "pwrite"), 0);
	assert_replays(0);
}

TEST(a_mapping_that_cannot_be_stored_to_is_not_recorded)
{
	clean();
	assert_int_equal(record("read", "nothing"), 2);
	assert_true(printed("mapped no file"));
	assert_int_equal(run("%s crash --exec='true {}' --image=pool --check=true", nvwave), 2);
	assert_true(printed("did not map or write the image's copy"));
}

TEST(a_mapping_survives_calls_that_fail)
{
	clean();
	assert_int_equal(record("misaligned", ""), 0);
	assert_replays(0);
}

TEST(the_kernel_may_write_into_a_mapping)
{
	clean();
	assert_int_equal(record("reads", ""), 0);
	assert_replays(0);
}

TEST(the_programs_own_use_of_faults_stays)
{
	clean();
	assert_int_equal(record("segv", ""), 0);
	assert_replays(0);
}

/* ---- What is written -------------------------------------------------------------------------- */

TEST(a_file_of_the_program_is_never_replaced)
{
	clean();
	assert_int_equal(run("%s exec --record=pool -- %s pool 2", nvwave, append_log), 2);
	assert_true(printed("is a file of the program"));
	assert_int_equal(run("%s exec --record=log -- %s log.image 2", nvwave, append_log), 2);
	assert_int_equal(run("%s pool && %s log.image", append_log, append_log), 0);
}

TEST(what_cannot_be_written_is_refused_before_the_run)
{
	clean();
	assert_int_equal(run("%s exec --record=no/log -- touch ran", nvwave), 2);
	assert_int_equal(run("%s exec --report=no/report -- touch ran", nvwave), 2);
	assert_int_equal(run("ls ran"), 2);
	assert_int_equal(run("%s exec -- true 2>/dev/full", nvwave), 2);
}

TEST(messages_do_not_go_into_the_log)
{
	clean();
	assert_int_equal(
		run("%s exec --record=log -- %s pool 1 <&- >&- 2>&-", nvwave, append_log), 2); /* no report */
	assert_int_equal(run("%s log dump log", nvwave), 0);
}

/* ---- Crash tests ------------------------------------------------------------------------------ */

TEST(images_may_have_any_name)
{
	static const char *const names[] = {"a b", "a'b", "a;b", "-a", "a(b"};
	char command[256];

	clean();
	snprintf(command, sizeof command, "%s {} 1", append_log);
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		assert_int_equal(crash(names[i], command, ""), 0);
	}
}

TEST(images_that_are_no_files_are_refused)
{
	static const char *const names[] = {"", ".", "/dev/zero", "pipe", "loop"};
	char command[256];

	clean();
	assert_int_equal(run("mkfifo pipe && ln -s loop loop"), 0);
	snprintf(command, sizeof command, "%s {} 1", append_log);
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		assert_int_equal(crash(names[i], command, ""), 2);
		assert_false(printed("Success"));
	}
}

TEST(an_image_that_is_longer_than_the_log_s_file_is_refused)
{
	assert_int_equal(run("%s exec --delays=off --record=log -- %s pool 2", nvwave, append_log), 0);
	assert_int_equal(run("cp log.image longer; truncate -s 65536 longer"), 0);
	assert_int_equal(run("%s crash --store-log=log --image=longer --check=%s", nvwave, append_log), 2);
	assert_true(printed(
		"nvwave: longer: has 65536 bytes, and log is the log of a file of 64064: expected that file "
		"as it was"));
	assert_int_equal(
		run("%s crash --store-log=log --image=log.image --check=%s --states=20", nvwave, append_log),
		0);
	assert_int_equal(run("rm log log.image longer pool"), 0);
}

TEST(an_image_that_is_replaced_is_told)
{
	char command[512];

	clean();
	snprintf(command, sizeof command, "%s {} 1; cp {} {}.2; mv {}.2 {}; %s {} 1; touch {}.more",
		append_log, append_log);
	assert_int_equal(crash("pool", command, ""), 0);
	assert_true(printed("only the first is explored"));
	setenv("TMPDIR", "tmp", 1);
	assert_int_equal(crash("pool", command, ""), 0);
	unsetenv("TMPDIR");
	assert_int_equal(run("test -z \"$(ls tmp)\""), 0);
}

TEST(an_interrupt_ends_a_crash_test_by_kills)
{
	clean();
	assert_int_equal(
		run("mkfifo ready; %s crash --mode=kill --exec='%s waits {}' --image=pool --check=true >out "
		    "2>ready & n=$!; "
		    "head -c 1 ready; kill -INT $n; wait $n; s=$?; cat out; exit $s",
			nvwave, odd),
		2);
	assert_true(printed("UNDECIDED"));
}

/* ---- Checkers --------------------------------------------------------------------------------- */

static int check_by(const char *checker)
{
	return run("%s crash --exec='%s {} 2' --image=pool --check='%s' --timeout=5s --states=4", nvwave,
		append_log, checker);
}

TEST(a_checker_that_is_not_there_is_refused)
{
	clean();
	assert_int_equal(run(": >plain"), 0);
	assert_int_equal(check_by("no-such-checker"), 2);
	assert_true(printed("--check: no-such-checker: expected an executable program"));
	assert_int_equal(check_by("./plain"), 2);
	assert_int_equal(check_by("true"), 0);
}

TEST(a_checker_may_print_much_but_has_to_end)
{
	clean();
	assert_int_equal(run("printf '#!/bin/sh\nset -e\nseq 3000000\n' >talks && chmod +x talks"), 0);
	assert_int_equal(check_by("./talks"), 0);
	assert_int_equal(run("printf '#!/bin/sh\nyes\nexit 0\n' >talks"), 0);
	assert_int_equal(
		run("%s crash --exec='%s {} 2' --image=pool --check=./talks --timeout=300ms --states=4",
			nvwave, append_log),
		1);
	assert_true(printed("does not terminate")); /* its own limit, or that of the check around it */
}

TEST(a_checker_reads_nothing_and_leaves_nothing)
{
	clean();
	assert_int_equal(
		run("printf '#!/bin/sh\\nsleep 77 &\\nif read line; then exit 1; fi\\n' >leaves && chmod +x "
		    "leaves"),
		0);
	assert_int_equal(run("echo line | %s crash --exec='%s {} 2' --image=pool --check=./leaves --states=4",
				 nvwave, append_log),
		0);
	assert_int_equal(check_by("./leaves; true"), 0); /* executed, not served */
	assert_int_equal(run("ps -eo stat,args | grep -v '^Z' | grep '[s]leep 77.%d$'", getpid()), 1);
}

/* ---- Beginning and end ------------------------------------------------------------------------ */

static int begin(void **state)
{
	nvwave = getenv("NVWAVE");
	odd = getenv("HOST_ODD");
	append_log = getenv("HOST_APPEND_LOG");
	setenv("PMEM_IS_PMEM_FORCE", "0", 1);
	snprintf(dir, sizeof dir, "/tmp/nvwave-host-input-XXXXXX");
	begun = nvwave && odd && append_log && mkdtemp(dir) && chdir(dir) == 0;
	return begun ? 0 : -1;
}

/* In a folder of its own, or not at all: without its environment the test stands in somebody else's. */
static int end(void **state)
{
	if (!begun) {
		return 0;
	}
	clean();
	return chdir("/") || rmdir(strcat(strcpy(output, dir), "/tmp")) || rmdir(dir);
}

GROUP(begin, end);
