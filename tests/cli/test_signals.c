/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Being told to stop. The commands here would take minutes; every bound of time is so wide that only a
 * command that does not stop reaches it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "common/skip.h"

enum { BEGINS_MS = 200, STOPS_WITHIN_S = 15 };

static const char *const long_commands[] = {
	"run kv --count=100000000",
	"crash kv --count=2000 --model=buffered-epoch --states=100000000 --nested",
	"crash kv --count=2000 --mode=kill --states=1000000",
	("crash kv --count=2000 --mode=permitted --model=buffered-epoch --states=100000000 --nested "
	 "--output-format=json"),
	"crash kv --matrix --count=2000 --states=100000000",
	"crash kv --self-test --states=100000000",
	"crash kv --count=1000000 --states=1000000",
	"torture --programs=100000000",
	"torture --protocol=each --programs=100000000 --output-format=json",
	"litmus $LITMUS_TESTS --schedules=100000000",
	"exec -- sleep 1000",
	"crash --mode=kill --exec=sleep~1000 --image=%D/image --check=true",
};

enum { COMMANDS = sizeof long_commands / sizeof *long_commands };

static pid_t started; /* the newest one */

static pid_t start(const char *words)
{
	return started = command_start(words);
}

/* A test that has failed leaves its command running. */
static int end_what_was_started(void **state)
{
	if (started > 0) {
		kill(-started, SIGKILL);
		started = 0;
	}
	return 0;
}

/* Whether the process has installed its handlers: SigCgt of proc(5). */
static bool catches(pid_t pid, int signal)
{
	char path[64], line[256];
	unsigned long long caught = 0;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	FILE *const f = fopen(path, "r");

	while (f && fgets(line, sizeof line, f)) {
		sscanf(line, "SigCgt: %llx", &caught);
	}
	if (f) {
		fclose(f);
	}
	return caught >> (signal - 1) & 1;
}

/* A sanitized command on a busy machine takes its time to begin. */
static void wait_until_begun(pid_t pid)
{
	for (unsigned i = 0; i < 3000 && !catches(pid, SIGTERM); i++) {
		usleep(20000);
	}
	assert_true(catches(pid, SIGTERM));
}

static void wait_for_files(unsigned count)
{
	for (unsigned i = 0; i < 3000 && command_files() != count; i++) {
		usleep(20000);
	}
	assert_int_equal(command_files(), count);
}

/* Children die with their parent, a moment later. False if they do not. */
static bool wait_for_group(pid_t pid)
{
	for (unsigned i = 0; i < 100 && kill(-pid, 0) == 0; i++) {
		usleep(20000);
	}
	return kill(-pid, 0) != 0;
}

static void stops(const char *words, int signal, bool group)
{
	const pid_t pid = start(words);
	const struct command_outcome *o;

	wait_until_begun(pid);
	usleep(BEGINS_MS * 1000);
	assert_int_equal(kill(group ? -pid : pid, signal), 0);
	o = command_wait(pid);
	if (o->status != 2 || o->seconds > STOPS_WITHIN_S ||
		(!strstr(o->out, "UNDECIDED") && !strstr(o->out, "undecided") &&
			!strstr(o->err, "UNDECIDED") && !strstr(words, "exec") &&
			!strstr(o->out, "interrupted"))) {
		fail_msg("nvwave %s: signal %d: status %d after %.1f s\nstdout: %.500s\nstderr: %.500s",
			words, signal, o->status, o->seconds, o->out, o->err);
	}
	if (!wait_for_group(pid)) {
		fail_msg("nvwave %s: signal %d: a child is left", words, signal);
	}
	if (command_files() != 1) {
		fail_msg("nvwave %s: signal %d: a temporary file is left", words, signal);
	}
}

TEST(every_command_stops_when_its_process_is_told_to, NULL, end_what_was_started)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	NVW_FOR(i, COMMANDS) {
		stops(long_commands[i], signals[i % 3], false);
	}
}

TEST(every_command_stops_when_its_process_group_is_told_to, NULL, end_what_was_started)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	NVW_FOR(i, COMMANDS) {
		stops(long_commands[i], signals[(i + 1) % 3], true);
	}
}

TEST(a_run_that_is_stopped_says_what_it_has_measured, NULL, end_what_was_started)
{
	const pid_t pid = start("run kv --count=1000000 --output-format=json");
	const struct command_outcome *o;

	wait_until_begun(pid);
	usleep(1000 * BEGINS_MS);
	kill(pid, SIGTERM);
	o = command_wait(pid);
	assert_int_equal(o->status, 2);
	assert_true(strstr(o->out, "\"verdict\": \"UNDECIDED\"") || strstr(o->err, "UNDECIDED"));
}

TEST(a_program_that_ignores_the_signal_is_killed, NULL, end_what_was_started)
{
	write_text("script", "trap '' INT TERM HUP\nsleep 1000 & wait\nsleep 1000\n");
	const pid_t pid = start("exec -- sh %D/script");
	const struct command_outcome *o;

	wait_until_begun(pid);
	usleep(1000 * BEGINS_MS);
	kill(-pid, SIGINT);
	o = command_wait(pid);
	assert_int_equal(o->status, 2);
	assert_true(o->seconds < STOPS_WITHIN_S);
	assert_true(wait_for_group(pid));
	command_remove("script");
}

/* One that is not of every run of this program. */
static bool has_odd_note(const char *text)
{
	static const char of_each_run[] = "note: of its transactions";

	for (const char *at = text; (at = strstr(at, "note")) != NULL; at++) {
		if (strncmp(at, of_each_run, sizeof of_each_run - 1) != 0) {
			return true;
		}
	}
	return false;
}

/*
 * libpmemobj locks its file, and a check that has been ended may still have it. So the moments vary: in the
 * run that is recorded, between two states, within one. Without libpmemobj there is nothing to try.
 */
TEST(an_interrupt_makes_neither_a_finding_nor_a_note, NULL, end_what_was_started)
{
	enum { INTERRUPTS = 24, STEP_MS = 45 };
	const unsigned interrupts = INTERRUPTS / one_in(2);
	const char *const list = getenv("HOST_LIST");

	if (list == NULL || access(list, X_OK) != 0) {
		skip();
	}
	succeeds("$HOST_LIST create list");
	NVW_FOR(i, interrupts) {
		const pid_t pid = start("crash --exec=$HOST_LIST~append~%D/list~4 --image=%D/list "
					"--check=$HOST_LIST~check --states=100000 --jobs=2");
		const struct command_outcome *o;

		wait_until_begun(pid);
		usleep(1000 * i * STEP_MS);
		kill(-pid, i % 2 ? SIGTERM : SIGINT);
		o = command_wait(pid);
		if (o->status != 2 || strstr(o->out, "INCONSISTENT") || strstr(o->out, "forked") ||
			has_odd_note(o->err)) {
			fail_msg("interrupt %u: status %d\nstdout: %.500s\nstderr: %.500s", i, o->status,
				o->out, o->err);
		}
		assert_true(wait_for_group(pid));
	}
	command_remove("list");
}

/* Its folder is still there, and goes with the next command. */
TEST(what_a_killed_command_left_is_removed_by_the_next_one, NULL, end_what_was_started)
{
	const pid_t pid = start("crash kv --count=2000 --mode=kill --states=1000000");

	wait_for_files(2);
	usleep(1000 * BEGINS_MS); /* a folder without its lock, which is made next, is kept for a while */
	kill(pid, SIGKILL);
	command_wait(pid);
	wait_for_group(pid);
	assert_int_equal(command_files(), 2);
	command_prints("run kv --count=10", "consistent");
	assert_int_equal(command_files(), 1);
}

TEST(what_a_living_command_uses_is_not_removed, NULL, end_what_was_started)
{
	const pid_t pid = start("crash kv --count=2000 --mode=kill --states=1000000");
	int status;

	wait_for_files(2);
	succeeds("$NVWAVE run kv --count=10");
	assert_int_equal(command_files(), 2);
	kill(pid, SIGTERM);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(command_files(), 1);
}

static int begin(void **state)
{
	signal(SIGHUP, SIG_DFL); /* ignored under nohup, and then by the command as well */
	if (command_begin((const char *const[]){"NVWAVE", "LITMUS_TESTS", NULL})) {
		return -1;
	}
	command_write("image", "", 1); /* the one file that is always there */
	return 0;
}

GROUP(begin, command_end);
