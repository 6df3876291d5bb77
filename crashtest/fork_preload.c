/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the checker: the server. See fork_server.h. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fork_server.h"

/* A fork has but one thread: others must not have begun. */
static bool has_one_thread(void)
{
	DIR *const dir = opendir("/proc/self/task");
	const struct dirent *entry;
	unsigned n = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		n += entry->d_name[0] != '.';
	}
	if (dir != NULL) {
		closedir(dir);
	}
	return n == 1;
}

/* What the checker executes is none of ours. */
static void restore_environment(void)
{
	const char *const preload = getenv(CT_FORK_PRELOAD_VARIABLE);

	if (preload != NULL && *preload != '\0') {
		setenv("LD_PRELOAD", preload, 1);
	} else {
		unsetenv("LD_PRELOAD");
	}
	unsetenv(CT_FORK_PRELOAD_VARIABLE);
	unsetenv(CT_FORK_VARIABLE);
}

static void tell(int out, const void *what, size_t n)
{
	if (write(out, what, n) != (ssize_t)n) {
		_exit(0); /* nobody listens any more */
	}
}

/* Waits for its leader, whose number is still its own then, and ends what that has left: the next state is another's. */
static void end_group(pid_t pid)
{
	siginfo_t info;

	while (pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
	}
	if (pid > 0) {
		kill(-pid, SIGKILL);
	}
}

__attribute__((constructor)) static void serve(void)
{
	const char *const text = getenv(CT_FORK_VARIABLE);
	int in, out;
	char byte;

	if (text == NULL || sscanf(text, "%d,%d", &in, &out) != 2) {
		return;
	}
	restore_environment();
	byte = has_one_thread() ? 'K' : 'N';
	tell(out, &byte, 1);
	while (read(in, &byte, 1) == 1) {
		const pid_t pid = fork();
		const int32_t number = pid;
		int status = 0;

		if (pid == 0) {
			setpgid(0, 0); /* what it starts ends with it */
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(in);
			close(out);
			return;
		}
		setpgid(pid, pid);
		tell(out, &number, sizeof number);
		end_group(pid);
		while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
		}
		tell(out, &status, sizeof(int32_t));
	}
	_exit(0);
}
