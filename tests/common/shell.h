/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands of the shell in a test's own folder. Each test has its own folder and output: all of it is in this
 * header.
 */
#ifndef TESTS_COMMON_SHELL_H
#define TESTS_COMMON_SHELL_H

#include "common/test.h"

#include <stdio.h>
#include <sys/wait.h>

static char dir[64];         /* where commands run; the test makes and removes it */
static char output[1 << 16]; /* of the last command, also its standard error, as far as it fits */

/* Runs a command line: its exit status, or 1000 and the signal that ended the shell. */
static int run(const char *format, ...)
{
	char command[8192], line[8400];
	va_list list;

	va_start(list, format);
	vsnprintf(command, sizeof command, format, list);
	va_end(list);
	snprintf(line, sizeof line, "cd %s && { %s ; } 2>&1", dir, command);
	FILE *const f = popen(line, "r");

	assert_non_null(f);
	const size_t n = fread(output, 1, sizeof output - 1, f);

	output[n] = '\0';
	const int status = pclose(f);

	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

#endif
