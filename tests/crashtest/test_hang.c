/* SPDX-License-Identifier: BSD-3-Clause */
/* When a state that hangs as one before is cut: a child that loops, and times as the test states them. */
#include "common/test.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <crashtest/judge/hang.h>
#include <crashtest/judge/process.h>

#include "source/frames.h"

enum { TIMEOUT_MS = 10000 };

static __attribute__((noinline)) void goes_round(void)
{
	for (volatile unsigned i = 0;; i++) {
	}
}

static pid_t child;
static struct ct_hangs hangs;

static int begin(void **state)
{
	char where[CT_TEXT_BYTES] = "";

	child = fork();
	if (child == 0) {
		goes_round();
	}
	for (unsigned i = 0; i < 1000 && strstr(where, "goes_round") == NULL; i++) {
		usleep(1000);
		nvw__process_place(child, where, sizeof where);
	}
	ct_hang_remember(&hangs, where);
	return child < 0;
}

static int end(void **state)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}

/* At which look it is cut, if it has used so much time at each; 0: it is not cut in ten looks. */
static unsigned cut_at(double first, double step, double slowest)
{
	struct ct_hang_look look = {0};

	NVW_FOR(i, 10) {
		const struct ct_hang_state s = {
			.pid = child, .cpu = first + i * step, .slowest = slowest, .timeout_ms = TIMEOUT_MS};

		if (ct_hang_is_alike(&hangs, &s, &look)) {
			return i + 1;
		}
	}
	return 0;
}

/* The child may not be looked into: nothing is known of any function. */
static void need_place(void)
{
	if (hangs.count == 0) {
		skip();
	}
}

TEST(a_state_is_cut_at_the_second_look_in_a_known_function)
{
	need_place();
	assert_int_equal(cut_at(2, 2, 0.1), 2);
}

/* 1 s is ten times the slowest one. */
TEST(a_state_is_cut_only_when_it_takes_ten_times_the_slowest_that_ended)
{
	need_place();
	assert_int_equal(cut_at(0.05, 0.1, 0.1), 0);
	assert_int_equal(cut_at(1.01, 1, 0.1), 2);
}

TEST(a_state_is_cut_only_when_it_takes_a_twentieth_of_the_timeout)
{
	need_place();
	assert_int_equal(cut_at(0.04, 0.05, 0.0001), 0);
	assert_int_equal(cut_at(0.51, 1, 0.0001), 2);
}

TEST(a_function_in_which_none_has_hung_is_not_cut)
{
	struct ct_hangs others = {0};
	struct ct_hang_look look = {0};
	const struct ct_hang_state s = {.pid = child, .cpu = 5, .slowest = 0.1, .timeout_ms = TIMEOUT_MS};

	assert_false(ct_hang_is_alike(&others, &s, &look));
	ct_hang_remember(&others, "check.c:3 (elsewhere)");
	assert_false(ct_hang_is_alike(&others, &s, &look));
	assert_int_equal(look.alike, 0);
}

/* ---- Commands --------------------------------------------------------------------------------- */

/* A command that goes round, for good or until it has used some time, in ms; then it answers. */
static pid_t start(unsigned ms, int *ret_fd)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		struct timespec used = {0};

		close(ends[0]);
		if (ms == 0) {
			goes_round();
		}
		while (1000 * used.tv_sec + used.tv_nsec / 1000000 < ms) {
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
		}
		_exit(write(ends[1], "!", 1) != 1);
	}
	close(ends[1]);
	*ret_fd = ends[0];
	return pid;
}

/* Whether it answered, and the CPU time that it had used. */
static bool answers(unsigned ms, unsigned timeout_ms, struct ct_hangs *h, double *ret_cpu)
{
	char where[CT_TEXT_BYTES];
	int fd;
	const pid_t pid = start(ms, &fd);
	const bool in_time = ct_hang_wait(fd, pid, timeout_ms, h, where);
	struct rusage usage;

	kill(pid, SIGKILL);
	wait4(pid, NULL, 0, &usage);
	*ret_cpu = ct_cpu_of_usage(&usage);
	if (in_time) {
		ct_hang_ended(&usage);
	}
	close(fd);
	return in_time;
}

TEST(a_command_that_hangs_is_remembered_and_the_next_one_is_cut_early)
{
	struct ct_hangs h = {0};
	double cpu;

	need_place();
	assert_false(answers(0, 60, &h, &cpu));
	assert_int_equal(h.count, 1);
	assert_int_equal(h.alike, 0);
	assert_false(answers(0, 3000, &h, &cpu));
	assert_int_equal(h.count, 1);
	assert_int_equal(h.alike, 1);
}

/* After 40 ms the slowest one answers: none is cut before 80. */
TEST(a_command_is_cut_only_when_it_takes_twice_the_slowest_that_answered)
{
	struct ct_hangs h = {0};
	double cpu;

	need_place();
	assert_true(answers(40, TIMEOUT_MS, &h, &cpu));
	ct_hang_remember(&h, hangs.place[0]);
	assert_false(answers(0, TIMEOUT_MS, &h, &cpu));
	assert_int_equal(h.alike, 1);
	assert_true(cpu >= 0.08);
}

GROUP(begin, end);
