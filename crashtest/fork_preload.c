/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the checker: the server. See fork_server.h. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descendants.h"
#include "fork_server.h"

extern char **environ;

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

/* The place of a variable in the environment; NULL if it is not set. */
static char **find(const char *name)
{
	const size_t n = strlen(name);
	char **entry = environ;

	while (*entry != NULL && (strncmp(*entry, name, n) != 0 || (*entry)[n] != '=')) {
		entry++;
	}
	return *entry ? entry : NULL;
}

static void drop(char **entry)
{
	do {
		entry[0] = entry[1];
	} while (*entry++ != NULL);
}

/*
 * What the checker executes is none of ours. In place: shells have a setenv() and an unsetenv() of their own, which come
 * before those of the C library and change something else at this time.
 */
static void restore_environment(void)
{
	char **const ours = find(CT_FORK_VARIABLE), **const preload = find("LD_PRELOAD");
	char *const others = preload ? strchr(*preload, ':') : NULL;

	if (others != NULL) {
		char *const value = strchr(*preload, '=') + 1;

		memmove(value, others + 1, strlen(others + 1) + 1);
	} else if (preload != NULL) {
		drop(preload);
	}
	if (ours != NULL) {
		drop(find(CT_FORK_VARIABLE));
	}
}

static void tell(int out, const void *what, size_t n)
{
	if (write(out, what, n) != (ssize_t)n) {
		_exit(127); /* nobody listens any more */
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

/* A child goes on into main(); it is the only one to return. */
static void serve(int in, int out)
{
	char byte;

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
		ct_end_descendants(0); /* also those that have left the group */
		tell(out, &status, sizeof(int32_t));
	}
	_exit(127);
}

__attribute__((constructor)) static void begin(void)
{
	char **const entry = find(CT_FORK_VARIABLE);
	int in, out, parent;

	if (entry == NULL || sscanf(*entry + sizeof CT_FORK_VARIABLE, "%d,%d,%d", &in, &out, &parent) != 3) {
		return;
	}
	restore_environment();
	if (parent != getppid()) {
		return; /* this is something that the checker executes */
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	tell(out, has_one_thread() ? "K" : "N", 1);
	serve(in, out);
}
