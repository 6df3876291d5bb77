/* SPDX-License-Identifier: BSD-3-Clause */
/* See command.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command.h"

extern char **environ;

static char dir[64];

bool command_begin(void)
{
	if (!getenv("NVWAVE")) {
		fputs("NVWAVE must name the command (meson test does)\n", stderr);
		return false;
	}
	snprintf(dir, sizeof dir, "/tmp/nvwave-test-XXXXXX");
	if (!mkdtemp(dir)) {
		perror(dir);
		return false;
	}
	setenv("TMPDIR", dir, 1);
	return true;
}

void command_end(void)
{
	command_remove(".out");
	command_remove(".err");
	rmdir(dir);
}

int command_set_up(void **state)
{
	return command_begin() ? 0 : -1;
}

int command_tear_down(void **state)
{
	command_end();
	return 0;
}

const char *command_dir(void)
{
	return dir;
}

static void path_of(const char *name, char path[256])
{
	snprintf(path, 256, "%s/%s", dir, name);
}

static void expand(const char *words, char *text, size_t room)
{
	size_t n = 0;

	for (; *words && n + sizeof dir < room; words++) {
		if (words[0] == '%' && words[1] == 'D') {
			n += (size_t)snprintf(text + n, room - n, "%s", dir);
			words++;
		} else {
			text[n++] = *words;
		}
	}
	text[n] = 0;
}

/* In a process group of its own, so that a signal can be sent to it and its children. */
pid_t command_start(const char *words)
{
	char text[1024], *argv[32] = {getenv("NVWAVE")}, out[256], err[256];
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
	path_of(".out", out);
	path_of(".err", err);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_addopen(&actions, 2, err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	assert_int_equal(posix_spawn(&pid, argv[0], &actions, &attributes, argv, environ), 0);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

void command_read(const char *name, char *to, size_t room)
{
	char path[256];
	FILE *f;

	path_of(name, path);
	f = fopen(path, "r");
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

void command_refuses(const char *words, const char *err)
{
	command_expect(words, 2, "", err);
}

void command_write(const char *name, const void *bytes, size_t n)
{
	char path[256];
	FILE *f;

	path_of(name, path);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

void command_text(const char *name, const char *text)
{
	command_write(name, text, strlen(text));
}

void command_remove(const char *name)
{
	char path[256];

	path_of(name, path);
	remove(path);
}

void command_remove_findings(void)
{
	for (unsigned i = 1; i < 60; i++) {
		char name[32];

		snprintf(name, sizeof name, "findings/finding-%u", i);
		command_remove(name);
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
