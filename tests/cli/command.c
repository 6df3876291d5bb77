/* SPDX-License-Identifier: BSD-3-Clause */
/* See command.h. */
#include "command.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

int command_begin(const char *const *variables)
{
	return shell_begin(variables) || setenv("TMPDIR", dir, 1) ? -1 : 0;
}

int command_end(void **state)
{
	command_remove(".out");
	command_remove(".err");
	return shell_end(state);
}

/* What a word stands for, and behind it *words; NULL: it stands for itself. A variable that is not set fails
 * the test. */
static const char *meaning_of(const char **words)
{
	char name[64];
	size_t n = 1;

	if ((*words)[0] == '%' && (*words)[1] == 'D') {
		*words += 2;
		return dir;
	}
	while ((*words)[0] == '$' && (isupper((*words)[n]) || (*words)[n] == '_')) {
		n++;
	}
	if (n == 1) {
		return NULL;
	}
	snprintf(name, sizeof name, "%.*s", (int)n - 1, *words + 1);
	const char *const value = getenv(name);

	if (!value) {
		fail_msg("$%s is not in the environment", name);
	}
	*words += n;
	return value;
}

static void expand(const char *words, char *text, size_t room)
{
	size_t n = 0;

	while (*words) {
		const char *const meaning = meaning_of(&words);

		assert_true(n + 1 < room);
		if (meaning) {
			n += (size_t)snprintf(text + n, room - n, "%s", meaning);
		} else {
			text[n++] = *words++;
		}
	}
	text[n] = 0;
}

/* In a process group of its own, so that a signal can be sent to it and its children. */
pid_t command_start(const char *words)
{
	char text[4096], *argv[32] = {getenv("NVWAVE")};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	unsigned argc = 1;
	pid_t pid;

	expand(words, text, sizeof text);
	for (char *word = strtok(text, " "); word && argc < 31; word = strtok(NULL, " ")) {
		argv[argc++] = word;
		for (char *c = word; (c = strchr(c, '~')); *c = ' ') {
		}
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, in_dir(".out"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_addopen(&actions, 2, in_dir(".err"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	assert_int_equal(posix_spawn(&pid, argv[0], &actions, &attributes, argv, environ), 0);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

void command_read(const char *name, char *to, size_t room)
{
	FILE *const f = fopen(in_dir(name), "r");

	to[f ? fread(to, 1, room - 1, f) : 0] = 0;
	if (f) {
		fclose(f);
	}
}

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const struct command_outcome *command_wait(pid_t pid)
{
	static struct command_outcome o;
	const double began = seconds_now();
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	o.seconds = seconds_now() - began;
	o.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	command_read(".out", o.out, sizeof o.out);
	command_read(".err", o.err, sizeof o.err);
	return &o;
}

const struct command_outcome *command_run(const char *words)
{
	return command_wait(command_start(words));
}

void command_expect(const char *words, int status, const char *out, const char *err)
{
	const struct command_outcome *const o = command_run(words);

	if (o->status != status || !strstr(o->out, out) || !strstr(o->err, err)) {
		fail_msg("nvwave %s: status %d, expected %d\nstdout: %.500s\nstderr: %.500s\n"
			 "expected \"%s\" and "
			 "\"%s\"",
			words, o->status, status, o->out, o->err, out, err);
	}
}

void command_prints(const char *words, const char *out)
{
	command_expect(words, 0, out, "");
}

void command_finds(const char *words, const char *out)
{
	command_expect(words, 1, out, "");
}

void command_refuses(const char *words, const char *err)
{
	command_expect(words, 2, "", err);
}

void command_write(const char *name, const void *bytes, size_t n)
{
	FILE *const f = fopen(in_dir(name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

void command_remove(const char *name)
{
	remove(in_dir(name));
}

void command_patch(const char *name, long at, int byte)
{
	FILE *const f = fopen(in_dir(name), "r+b");

	assert_non_null(f);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	assert_int_equal(putc(byte, f), byte);
	assert_int_equal(fclose(f), 0);
}

void command_remove_findings(void)
{
	for (unsigned i = 1; i < 60; i++) {
		command_remove(formatted("findings/finding-%u", i));
	}
	command_remove("findings");
}

unsigned command_files(void)
{
	DIR *const d = opendir(dir);
	unsigned n = 0;

	assert_non_null(d);
	for (const struct dirent *e; (e = readdir(d)) != NULL;) {
		n += e->d_name[0] != '.';
	}
	closedir(d);
	return n;
}
