/* SPDX-License-Identifier: BSD-3-Clause */
/* See shell.h. */
#include "common/shell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

char dir[64], output[1 << 16];

static char command[8192];

static int run_line(const char *format, va_list list)
{
	char line[8400];

	vsnprintf(command, sizeof command, format, list);
	snprintf(line, sizeof line, "cd %s && { %s ; } 2>&1", dir, command);
	FILE *const f = popen(line, "r");

	assert_non_null(f);
	const size_t n = fread(output, 1, sizeof output - 1, f);

	output[n] = '\0';
	const int status = pclose(f);

	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

int run(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	const int status = run_line(format, list);

	va_end(list);
	return status;
}

void shell_exits(int status, const char *file, int line, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	const int found = run_line(format, list);

	va_end(list);
	if (found != status) {
		print_error("%s\nexit status %d, expected %d:\n%s\n", command, found, status, output);
		_fail(file, line);
	}
}

bool printed(const char *text)
{
	return strstr(output, text) != NULL;
}

const char *in_dir(const char *name)
{
	return formatted("%s/%s", dir, name);
}

void write_bytes(const char *name, const void *content, size_t bytes)
{
	FILE *const f = fopen(in_dir(name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(content, 1, bytes, f), bytes);
	assert_int_equal(fclose(f), 0);
}

void write_text(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text));
}

void clean(void)
{
	run("rm -rf -- *");
}

int clean_folder(void **state)
{
	clean();
	return 0;
}

int shell_begin(const char *const *variables)
{
	return shell_begin_in("/tmp", variables);
}

int shell_begin_in(const char *folder, const char *const *variables)
{
	for (; *variables; variables++) {
		if (!getenv(*variables)) {
			return -1;
		}
	}
	snprintf(dir, sizeof dir, "%s/nvwave-test-XXXXXX", folder);
	if (!mkdtemp(dir)) {
		dir[0] = '\0';
		return -1;
	}
	return 0;
}

int folder_begin(void **state)
{
	return shell_begin((const char *const[]){NULL});
}

int shell_end(void **state)
{
	if (!dir[0]) {
		return 0;
	}
	clean();
	return rmdir(dir);
}
