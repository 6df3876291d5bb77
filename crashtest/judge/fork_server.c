/* SPDX-License-Identifier: BSD-3-Clause */
/* The parent's side of checkers' fork servers. See fork_server.h. */
#include "core/folder.h"
#include "core/invariant.h"
#include "fork_server.h"

#include <errno.h>
#include <stddef.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descendants.h"
#include "environment.h"
#include "hang.h"
#include "output.h"
#include "process.h"
#include "variable.h"

#ifndef CT_FORK_LIBRARY
#define CT_FORK_LIBRARY ""
#endif

/* Faults that are worth larger pages: a libpmemobj pool that is opened has 3000, most of them for its locks
 * in memory. */
enum { START_MS = 2000, DEATH_MS = 100, ENVIRONMENT_MAX = 4096, FAULTS_MANY = 1000 };

static char huge_pages[] = CT_FORK_TUNABLES "=" CT_FORK_HUGE_PAGES; /* not const, as environ is not */

/* The server of this process; a fork does not inherit it. */
static struct {
	pid_t owner, pid;
	int to, from;
	bool refused;
	bool huge; /* its memory comes in large pages */
} server;

bool ct_fork_server_library(char path[4096])
{
	char self[3000];

	nvw_own_folder(self, sizeof self);
	snprintf(path, 4096, "%s/../crashtest/libnvwave-fork.so", self);
	if (access(path, R_OK) != 0) {
		snprintf(path, 4096, "%s", CT_FORK_LIBRARY);
	}
	return access(path, R_OK) == 0;
}

/* The command's with the variables that are set anew; these are in text. False if it has no room for them. */
static bool make_environment(
	const struct ct_start *how, char *to[ENVIRONMENT_MAX], char text[2][8192], int in, int out)
{
	char *const *const from = how->environment;
	char *const *const preload = ct_find_variable(from, "LD_PRELOAD");
	const char *const before = preload ? strchr(*preload, '=') + 1 : "";
	char library[4096];
	unsigned n = 0;

	if (!ct_fork_server_library(library) || strpbrk(library, " :")) {
		return false;
	}
	const int length = snprintf(text[0], 8192, "LD_PRELOAD=%s%s%s", library, *before ? ":" : "", before);

	snprintf(text[1], 8192, "%s=%d,%d,%d,%d", CT_FORK_VARIABLE, in, out, (int)getpid(), how->reads);
	for (char *const *entry = from; *entry && n < ENVIRONMENT_MAX - 4; entry++) {
		if (!ct_is_variable(*entry, "LD_PRELOAD")) {
			to[n++] = *entry;
		}
	}
	if (server.huge) {
		to[n++] = huge_pages;
	}
	to[n++] = text[0];
	to[n++] = text[1];
	to[n] = NULL;
	return length < 8192 && n < ENVIRONMENT_MAX - 1;
}

/* Reads n bytes: returns 1, 0 if they did not come in time, -1 if there is no writer. */
static int hear(void *to, size_t n, int timeout_ms)
{
	if (!ct_output_wait(server.from, timeout_ms)) {
		return 0;
	}
	return read(server.from, to, n) == (ssize_t)n ? 1 : -1;
}

/* What it has started ends with it, and before another one has the same file. */
static void stop_server(void)
{
	if (server.pid > 0) {
		kill(server.pid, SIGKILL);
		while (waitpid(server.pid, NULL, 0) < 0 && errno == EINTR) {
		}
		close(server.to);
		close(server.from);
		ct_end_descendants(0);
	}
	server.pid = 0;
}

/* Whether somebody else has ended it: it did not refuse, and can be started again. A process closes its pipes
 * a moment before it can be waited for. */
static bool wait_for_death(siginfo_t *info)
{
	for (unsigned i = 0; i < DEATH_MS && info->si_pid == 0; i++) {
		usleep(i > 0 ? 1000 : 0);
		if (waitid(P_PID, (id_t)server.pid, info, WEXITED | WNOHANG | WNOWAIT)) {
			return false;
		}
	}
	return info->si_pid != 0;
}

static bool was_killed(void)
{
	siginfo_t info = {0};

	return wait_for_death(&info) && info.si_code == CLD_KILLED && ct_is_from_outside(info.si_status);
}

/* There is no answer: never again, if that was its own doing. */
static void fail(void)
{
	server.refused = !was_killed();
	stop_server();
}

/* In the child. */
__attribute__((noreturn)) static void become_server(
	const struct ct_start *how, char *const *environment, int in, int out)
{
	setpgid(0, 0); /* what the terminal tells nvwave is not meant for it */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fcntl(in, F_SETFD, 0);
	fcntl(out, F_SETFD, 0);
	if (how->reads >= 0) {
		fcntl(how->reads, F_SETFD, 0);
	}
	ct_output_redirect(how->output);
	execvpe(how->words[0], how->words, environment);
	_exit(127);
}

static void start_server(const struct ct_start *how)
{
	char text[2][8192], *environment[ENVIRONMENT_MAX];
	int to[2], from[2];
	char ready = 0;

	server.refused = true;
	if (pipe2(to, O_CLOEXEC)) {
		return;
	}
	if (pipe2(from, O_CLOEXEC) || !make_environment(how, environment, text, to[0], from[1])) {
		close(to[0]);
		close(to[1]);
		return;
	}
	server.pid = vfork();
	if (server.pid == 0) {
		become_server(how, environment, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	server.to = to[1];
	server.from = from[0];
	server.refused = false;
	/* A checker that cannot be served is now running main() on a state that was not requested. */
	if (hear(&ready, 1, START_MS) != 1 || ready != 'K') {
		fail();
	}
}

pid_t ct_fork_server_pid(void)
{
	return server.owner == getpid() ? server.pid : 0;
}

static bool send_all(const char *from, size_t n)
{
	while (n > 0) {
		const ssize_t done = write(server.to, from, n);

		if (done < 0 && errno != EINTR) {
			return false;
		}
		from += MAX(done, 0);
		n -= done > 0 ? (size_t)done : 0;
	}
	return true;
}

/* Requests a run. */
static bool request(const struct ct_start *how)
{
	const struct ct_told_state *const told = how->told;
	static char message[CT_FORK_MESSAGE_MAX]; /* too large for a stack */
	char *to = message + 1 + sizeof(uint32_t);

	message[0] = how->observed ? 'o' : 'r';
	if (told) {
		to = stpcpy(to, told->acknowledged) + 1;
		to = stpcpy(to, told->in_flight) + 1;
	}
	const uint32_t n = (uint32_t)(to - message - 1 - (ptrdiff_t)sizeof(uint32_t));

	memcpy(message + 1, &n, sizeof n);
	return send_all(message, (size_t)(to - message));
}

/* The first runs show how a checker uses its memory: from the next one on it has large pages. */
static void enlarge_pages(const struct ct_start *how, long faults)
{
	if (!server.huge && faults > FAULTS_MANY && !ct_find_variable(how->environment, CT_FORK_TUNABLES)) {
		stop_server();
		server.huge = true;
	}
}

/* True if it answers. */
static bool run_on_server(
	const struct ct_start *how, unsigned timeout_ms, struct ct_hangs *hangs, struct ct_ending *ret)
{
	struct ct_fork_answer answer;
	int32_t pid;

	NVW_INVARIANT(server.pid > 0);
	if (!request(how) || hear(&pid, sizeof pid, START_MS) != 1 || pid <= 0) {
		return false;
	}
	ret->in_time = ct_hang_wait(server.from, pid, timeout_ms, hangs, ret->where);
	if (!ret->in_time) {
		kill(-pid, SIGKILL);
	}
	if (hear(&answer, sizeof answer, START_MS) != 1) {
		return false;
	}
	if (ret->in_time) {
		ct_hang_ended(&answer.usage);
	}
	ret->status = answer.status;
	enlarge_pages(how, answer.usage.ru_minflt);
	return true;
}

void ct_fork_server_end(void)
{
	if (server.owner == getpid()) {
		stop_server();
		server.owner = 0;
	}
}

enum ct_fork ct_fork_server_run(
	const struct ct_start *how, unsigned timeout_ms, struct ct_hangs *hangs, struct ct_ending *ret)
{
	if (server.owner != getpid()) {
		server.owner = getpid();
		server.pid = 0;
		server.refused = false;
	}
	if (server.pid == 0 && !server.refused) {
		start_server(how);
	}
	if (server.pid > 0 && run_on_server(how, timeout_ms, hangs, ret)) {
		return CT_FORK_ANSWERED;
	}
	if (server.pid > 0) {
		fail();
	}
	return server.refused ? CT_FORK_REFUSED : CT_FORK_KILLED;
}
