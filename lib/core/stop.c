/* SPDX-License-Identifier: BSD-3-Clause */
/* Stopping on a signal. See stop.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/each.h"

#include "folder.h"
#include "invariant.h"
#include "newfile.h"
#include "stop.h"

enum { UNWIND_MS = 900, REPORT_MS = 20000, PATIENCE = 3, WAIT_MS = 50, CHILDREN_BYTES = 4096 };

static const int caught[] = {SIGINT, SIGTERM, SIGHUP};

enum { CAUGHT = NVW_COUNT(caught) };

volatile int nvw__stop_signal;

/* A handler of signals has no context. */
static volatile int signals;
static volatile pid_t owner; /* the process that stops */
static struct timespec since;

/* ---- The end, which is safe in a handler ----------------------------------------------------- */

static const char *name_of(int signal)
{
	if (signal == SIGINT) {
		return "SIGINT";
	}
	if (signal == SIGTERM) {
		return "SIGTERM";
	}
	if (signal == SIGHUP) {
		return "SIGHUP";
	}
	return "a signal";
}

static void say(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0) {
		return; /* standard error is closed */
	}
}

/* Their own children die with them. */
static void kill_children(void)
{
	const int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	char text[CHILDREN_BYTES];
	const ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	pid_t pid = 0;

	for (ssize_t i = 0; i < n; i++) {
		if (text[i] >= '0' && text[i] <= '9') {
			pid = 10 * pid + (text[i] - '0');
		} else if (pid > 0) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			pid = 0;
		}
	}
	if (fd >= 0) {
		close(fd);
	}
}

static void end(void)
{
	say("\nnvwave: UNDECIDED: stopped by ");
	say(name_of(nvw__stop_signal));
	say("\n");
	kill_children();
	nvw__folders_remove_all();
	nvw__new_files_remove_all();
	_exit(2);
}

static void out_of_time(int number)
{
	if (getpid() == owner) {
		end();
	}
}

static void set_deadline(unsigned ms)
{
	const struct sigaction action = {.sa_handler = out_of_time, .sa_flags = SA_RESTART};
	const struct itimerval timer = {
		.it_value = {.tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000}};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* ---- The flag -------------------------------------------------------------------------------- */

void nvw_stop_note(int signal)
{
	const int before = errno;

	if (getpid() == owner && ++signals >= PATIENCE) {
		end();
	}
	if (!nvw__stop_signal) {
		clock_gettime(CLOCK_MONOTONIC, &since);
		nvw__stop_signal = signal;
	}
	if (getpid() == owner &&
		signals == 1) { /* a child that is about to execute may have been told first */
		set_deadline(UNWIND_MS);
	}
	errno = before;
}

void nvw_stop_catch(void)
{
	const struct sigaction action = {.sa_handler = nvw_stop_note, .sa_flags = SA_RESTART};
	struct sigaction before;

	owner = getpid();
	NVW_EACH(one, caught, CAUGHT) {
		if (*one != SIGHUP ||
			(sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)) {
			sigaction(*one, &action, NULL);
		}
	}
}

static void leave(int signal)
{
	signals++;
}

void nvw_stop_leave_to_parent(void)
{
	const struct sigaction action = {.sa_handler = leave, .sa_flags = SA_RESTART};

	NVW_EACH(one, caught, CAUGHT) {
		sigaction(*one, &action, NULL);
	}
	signal(SIGALRM, SIG_DFL);
	nvw__stop_signal = 0;
}

int nvw_stop_signals(void)
{
	return signals;
}

void nvw_stop_reporting(void)
{
	if (nvw_stopping() && getpid() == owner) {
		set_deadline(REPORT_MS);
	}
}

double nvw_stop_seconds(void)
{
	struct timespec now;

	if (!nvw_stopping()) {
		return 0;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - since.tv_sec) + 1e-9 * (double)(now.tv_nsec - since.tv_nsec);
}

int nvw_stop_error(void)
{
	return nvw_fail(NVW_E_STOPPED, "UNDECIDED: stopped by %s", name_of(nvw__stop_signal));
}

/* ---- Waiting --------------------------------------------------------------------------------- */

int nvw_stop_wait(pid_t pid, int *ret_status)
{
	return nvw_stop_wait_showing(pid, ret_status, NULL, NULL);
}

int nvw_stop_wait_showing(pid_t pid, int *ret_status, void (*show)(void *context), void *context)
{
	NVW_INVARIANT(pid > 0); /* -1 would be any child */
	struct pollfd p = {.fd = pidfd_open(pid, 0), .events = POLLIN};
	pid_t ended;

	while ((ended = waitpid(pid, ret_status, WNOHANG)) == 0 && !nvw_stopping()) {
		if (p.fd >= 0) {
			poll(&p, 1, WAIT_MS);
		} else {
			usleep(500);
		}
		if (show) {
			show(context);
		}
	}
	if (p.fd >= 0) {
		close(p.fd);
	}
	if (ended == 0) {
		kill(pid, SIGKILL);
		waitpid(pid, ret_status, 0);
		return nvw_stop_error();
	}
	NVW_FAIL_ERRNO_IF(ended < 0, "a child process was lost");
	return 0;
}
