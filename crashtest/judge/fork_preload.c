/* SPDX-License-Identifier: BSD-3-Clause */
/* The server inside the checker. See fork_server.h. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descendants.h"
#include "fork_server.h"
#include "read_set.h"
#include "variable.h"

extern char **environ;

/* A fork has only one thread, so no other may have begun. */
static bool has_one_thread(void)
{
	DIR *const dir = opendir("/proc/self/task");
	const struct dirent *entry;
	unsigned n = 0;

	while (dir && (entry = readdir(dir))) {
		n += entry->d_name[0] != '.';
	}
	if (dir) {
		closedir(dir);
	}
	return n == 1;
}

static void drop(char **entry)
{
	do {
		entry[0] = entry[1];
	} while (*entry++ != NULL);
}

/*
 * Programs that the checker executes must not be affected. The environment is changed in place: shells have
 * their own setenv() and unsetenv(), which override those of the C library and change something else at this
 * time.
 */
static void restore_environment(void)
{
	char **const ours = ct_find_variable(environ, CT_FORK_VARIABLE),
		     **const preload = ct_find_variable(environ, "LD_PRELOAD");
	char *const others = preload ? strchr(*preload, ':') : NULL;

	if (others) {
		char *const value = strchr(*preload, '=') + 1;

		memmove(value, others + 1, strlen(others + 1) + 1);
	} else if (preload) {
		drop(preload);
	}
	if (ours) {
		drop(ct_find_variable(environ, CT_FORK_VARIABLE));
	}
	char **const tunables = ct_find_variable(environ, CT_FORK_TUNABLES);

	if (tunables && !strcmp(strchr(*tunables, '=') + 1, CT_FORK_HUGE_PAGES)) {
		drop(tunables);
	}
}

/* The message for the next child, and its size. The environment points into it. */
static char told[CT_FORK_MESSAGE_MAX];
static uint32_t told_bytes;

static bool read_all(int in, char *to, size_t n)
{
	while (n > 0) {
		const ssize_t done = read(in, to, n);

		if (done == 0 || (done < 0 && errno != EINTR)) {
			return false;
		}
		to += MAX(done, 0);
		n -= done > 0 ? (size_t)done : 0;
	}
	return true;
}

/* Shared with the parent; NULL: reads are never observed. */
static struct ct_read_set *reads;

static void share_reads(int fd)
{
	struct stat s;

	if (fd >= 0 && fstat(fd, &s) == 0) {
		void *const map = mmap(NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		reads = map == MAP_FAILED ? NULL : map;
		close(fd);
	}
}

/* Waits for the next run; its reads are observed if byte is 'o'. */
static bool hear(int in, char *ret_byte)
{
	return read_all(in, ret_byte, 1) && read_all(in, (char *)&told_bytes, sizeof told_bytes) &&
	       told_bytes <= sizeof told && read_all(in, told, told_bytes);
}

/* Changes the environment in place, as above. */
static void set_variable(char *text)
{
	char **const entry = ct_find_variable(environ, text);

	if (entry) {
		*entry = text;
	}
}

static void set_environment(void)
{
	for (uint32_t at = 0; at < told_bytes; at += (uint32_t)strlen(told + at) + 1) {
		set_variable(told + at);
	}
}

static void tell(int out, const void *what, size_t n)
{
	if (write(out, what, n) != (ssize_t)n) {
		_exit(127); /* no reader left */
	}
}

/* Waits for the group's leader, which keeps its pid until then, and ends the remaining processes before the
 * next state. */
static void end_group(pid_t pid)
{
	siginfo_t info;

	while (pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
	}
	if (pid > 0) {
		kill(-pid, SIGKILL);
	}
}

/* A child continues into main(); only children return. */
static void serve(int in, int out)
{
	char byte;

	while (hear(in, &byte)) {
		const pid_t pid = fork();
		const int32_t number = pid;
		struct ct_fork_answer answer = {0};

		if (pid == 0) {
			setpgid(0, 0); /* so that its children can be ended with it */
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(in);
			close(out);
			set_environment();
			if (byte == 'o' && reads) {
				ct_observe(reads);
			}
			return;
		}
		setpgid(pid, pid);
		tell(out, &number, sizeof number);
		end_group(pid);
		while (pid > 0 && wait4(pid, &answer.status, 0, &answer.usage) < 0 && errno == EINTR) {
		}
		ct_end_descendants(0); /* also descendants that left the group */
		tell(out, &answer, sizeof answer);
	}
	_exit(127);
}

__attribute__((constructor)) static void begin(void)
{
	char **const entry = ct_find_variable(environ, CT_FORK_VARIABLE);
	int in, out, parent, fd;

	if (!entry || sscanf(*entry + sizeof CT_FORK_VARIABLE, "%d,%d,%d,%d", &in, &out, &parent, &fd) != 4) {
		return;
	}
	restore_environment();
	if (parent != getppid()) {
		return; /* the checker executed this program */
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	share_reads(fd);
	tell(out, has_one_thread() ? "K" : "N", 1);
	serve(in, out);
}
