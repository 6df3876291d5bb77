/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands of the shell in a test's own folder. They find the programs that the test needs in their
 * environment: $NVWAVE, and what tests/meson.build names beside it.
 */
#ifndef TESTS_COMMON_SHELL_H
#define TESTS_COMMON_SHELL_H

#include "common/test.h"

#include <stdbool.h>

extern char dir[64];         /* where commands run */
extern char output[1 << 16]; /* of the last command, also its standard error, as far as it fits */

/* Runs a command line: its exit status, or 1000 and the signal that ended the shell. */
int run(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Fails the test, with the output, unless the exit status is this one. */
#define exits(status, ...) shell_exits(status, __FILE__, __LINE__, __VA_ARGS__)
#define succeeds(...)      exits(0, __VA_ARGS__)
void shell_exits(int status, const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Is it in the output? */
bool printed(const char *text);
#define assert_output_has(...)    assert_has(output, __VA_ARGS__)
#define assert_output_lacks(text) assert_lacks(output, text)

/* The path of a file there, as formatted() makes it. */
const char *in_dir(const char *name);
void write_text(const char *name, const char *text);
void write_bytes(const char *name, const void *content, size_t bytes);
/* Takes everything out of the folder, but for hidden files. The second is for GROUP(). */
void clean(void);
int clean_folder(void **state);

/* Makes the folder, in /tmp or elsewhere. -1: there is none, or one of these is not in the environment;
 * NULL ends. */
int shell_begin(const char *const *variables);
int shell_begin_in(const char *folder, const char *const *variables);
/* The folder alone, for GROUP(). */
int folder_begin(void **state);
/* Takes the folder away; not 0: something hidden is left there. */
int shell_end(void **state);

/* The tests of a program have the folder, empty for each of them, the command and what else they name. */
#define GROUP_IN_FOLDER(...)                                                              \
	static int begin_in_folder(void **state)                                          \
	{                                                                                 \
		return shell_begin((const char *const[]){"NVWAVE", ##__VA_ARGS__, NULL}); \
	}                                                                                 \
	GROUP(begin_in_folder, shell_end, .each = clean_folder)

#endif
