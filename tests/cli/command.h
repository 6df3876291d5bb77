/* SPDX-License-Identifier: BSD-3-Clause */
/* The command run as a process, in the test's own folder (common/shell.h), which is also its TMPDIR. */
#ifndef TESTS_CLI_COMMAND_H
#define TESTS_CLI_COMMAND_H

#include "common/shell.h"

#include <sys/types.h>

struct command_outcome {
	int status; /* of the exit; -1: it died of a signal */
	double seconds;
	char out[1 << 20], err[8192];
};

/* Makes the folder; -1: there is none, or one of these is not in the environment; NULL ends. */
int command_begin(const char *const *variables);
int command_end(void **state);

/* Its tests have the folder, the command and what else they name. */
#define GROUP_OF_COMMANDS(...)                                                              \
	static int begin_commands(void **state)                                             \
	{                                                                                   \
		return command_begin((const char *const[]){"NVWAVE", ##__VA_ARGS__, NULL}); \
	}                                                                                   \
	GROUP(begin_commands, command_end)

/*
 * All of these take the words of a command line, split at blanks; in them %D is the folder, $NAME a variable
 * of the environment, which has it, ~ a blank within a word.
 */
pid_t command_start(const char *words);
const struct command_outcome *command_wait(pid_t pid);
const struct command_outcome *command_run(const char *words);

/* Fails the test unless the status is this one and both texts are found in what the command says. */
void command_expect(const char *words, int status, const char *out, const char *err);
void command_prints(const char *words, const char *out);  /* and succeeds */
void command_finds(const char *words, const char *out);   /* with exit status 1 */
void command_refuses(const char *words, const char *err); /* with exit status 2 */

/* These are for a file in the folder. */
void command_write(const char *name, const void *bytes, size_t n);
void command_remove(const char *name);
void command_patch(const char *name, long at, int byte);
void command_read(const char *name, char *to,
	size_t room);               /* as a string, as far as it fits; "" if it cannot be read */
void command_remove_findings(void); /* the folder findings, with the states that are saved there */

/* Entries of the folder; those that begin with a dot do not count. */
unsigned command_files(void);

#endif
