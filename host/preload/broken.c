/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Invariants of the preloaded libraries (core/invariant.h), of which each has this file: nothing is called
 * here that one of them interposes but what passes other calls on, and nothing is allocated.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/invariant.h"

void nvw__broken(const char *condition, const char *file, int line, const char *function)
{
	char text[512];
	const int n =
		snprintf(text, sizeof text, "nvwave: %s:%d (%s): a mistake in nvwave: %.200s does not hold\n",
			file, line, function, condition);

	if (syscall(SYS_write, STDERR_FILENO, text, (size_t)n) < 0) {
		_exit(1);
	}
	abort();
}
