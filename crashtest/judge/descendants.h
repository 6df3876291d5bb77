/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ending the processes that a program leaves running, also those in other sessions and groups. The calling
 * process must have become a subreaper (PR_SET_CHILD_SUBREAPER) before the program began, so that orphans
 * become its children. Uses only the C library.
 */
#ifndef CRASHTEST_DESCENDANTS_H
#define CRASHTEST_DESCENDANTS_H

#include <signal.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "core/each.h"

enum { CT_CHILDREN_MAX = 64, CT_ROUNDS_MAX = 10000 };

/* The first children of a thread, whose file of /proc is at path: at most max. */
static inline unsigned ct_children(const char *path, pid_t *pid, unsigned max)
{
	FILE *const f = fopen(path, "re");
	unsigned n = 0;

	while (f && n < max && fscanf(f, "%d", &pid[n]) == 1) {
		n++;
	}
	if (f) {
		fclose(f);
	}
	return n;
}

/* Ends the children except kept; returns how many. */
static inline unsigned ct_end_children(pid_t kept)
{
	pid_t child[CT_CHILDREN_MAX];
	const unsigned n = ct_children("/proc/thread-self/children", child, CT_CHILDREN_MAX);
	unsigned ended = 0;

	NVW_EACH(one, child, n) {
		if (*one != kept) {
			kill(*one, SIGKILL);
			waitpid(*one, NULL, 0);
			ended++;
		}
	}
	return ended;
}

/* Ends all children except kept (0: none), and their remaining children in turn. */
static inline void ct_end_descendants(pid_t kept)
{
	unsigned met = 1;

	for (unsigned round = 0; met > 0 && round < CT_ROUNDS_MAX; round++) {
		met = ct_end_children(kept);
	}
}

#endif
