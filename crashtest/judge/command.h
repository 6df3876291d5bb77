/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of a checker: cut into words here where that is easy, so that it can be forked
 * (fork_server.h), and left to a shell where it is not. Quotes, backslashes, '=' and assignments before the
 * program need no shell; pipes, variables, patterns and lists of commands do. {} stands for the file; without
 * one the file is the last word.
 */
#ifndef CRASHTEST_COMMAND_H
#define CRASHTEST_COMMAND_H

#include <stdbool.h>

enum { CT_WORDS_MAX = 64, CT_ASSIGNED_MAX = 16, CT_COMMAND_BYTES = 4096 };

struct ct_command {
	const char *source; /* as the user typed it */
	const char *option; /* that it was given with, for messages */
	bool by_shell;
	char why[64]; /* it needs a shell */
	char *word[CT_WORDS_MAX + 1],
		*assigned[CT_ASSIGNED_MAX + 1]; /* end with NULL; in text: do not copy */
	char text[CT_COMMAND_BYTES];
};

/* NVW_E_USAGE if the command is too long, or there is no such program. The caller owns source. */
int ct_command_make(const char *source, const char *option, struct ct_command *ret_command);

/* The words to execute for a file; they point into text. */
struct ct_command_line {
	char *word[CT_WORDS_MAX + 2];
	char text[2 * CT_COMMAND_BYTES];
};
void ct_command_fill(const struct ct_command *command, const char *path, struct ct_command_line *ret_line);

#endif
