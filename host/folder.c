/* SPDX-License-Identifier: BSD-3-Clause */
/* Temporary folders. See folder.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "folder.h"

enum { PATH_BYTES = 256, GRACE_SECONDS = 60 }; /* between making a folder and locking it */

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
	(void)s;
	(void)kind;
	(void)at;
	remove(path);
	return 0;
}

void host_folder_remove(const char *path, int lock)
{
	if (path[0] != '\0') {
		nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
		close(lock);
	}
}

static int open_lock(const char *folder, int flags)
{
	char path[PATH_BYTES + 16];

	snprintf(path, sizeof path, "%.*s/.lock", PATH_BYTES - 1, folder);
	return open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
}

/* Ours, and whoever made it is gone: its lock went with it. */
static bool is_left(const char *folder, int *ret_lock)
{
	struct stat s;

	if (lstat(folder, &s) || !S_ISDIR(s.st_mode) || s.st_uid != geteuid()) {
		return false;
	}
	*ret_lock = open_lock(folder, 0);
	if (*ret_lock >= 0 && fstat(*ret_lock, &s) == 0 && s.st_mtime + GRACE_SECONDS < time(NULL) &&
		flock(*ret_lock, LOCK_EX | LOCK_NB) == 0) {
		return true;
	}
	if (*ret_lock >= 0) {
		close(*ret_lock);
	}
	return false;
}

static void sweep(const char *where, const char *prefix)
{
	DIR *const dir = opendir(where);
	const struct dirent *entry;
	char path[2 * PATH_BYTES];
	int lock;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0) {
			continue;
		}
		if (snprintf(path, sizeof path, "%s/%s", where, entry->d_name) < PATH_BYTES &&
			is_left(path, &lock)) {
			host_folder_remove(path, lock);
		}
	}
	if (dir != NULL) {
		closedir(dir);
	}
}

static void nothing(int number)
{
	(void)number;
}

/* Whoever has a folder to remove does not die of a pipe's end or a limit to a file's size; programs that it executes do. */
static void outlive_errors(void)
{
	static const int numbers[] = {SIGPIPE, SIGXFSZ};
	const struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_RESTART};
	struct sigaction before;

	for (unsigned i = 0; i < 2; i++) {
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL) {
			sigaction(numbers[i], &action, NULL);
		}
	}
}

int host_folder_make(const char *prefix, char path[256], int *ret_lock)
{
	const char *const tmp = getenv("TMPDIR");
	const char *const name = tmp && *tmp ? tmp : access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	char *const where = realpath(name, NULL);
	int error = 0;

	path[0] = '\0';
	if (where == NULL || strlen(where) > 200) {
		error = where ? nvw_fail(NVW_E_USAGE, "TMPDIR: %s: expected a path of at most 200 bytes",
					name) :
				nvw_fail_errno("TMPDIR: %s", name);
		free(where);
		return error;
	}
	outlive_errors();
	sweep(where, prefix);
	snprintf(path, PATH_BYTES, "%.200s/%.32s-XXXXXX", where, prefix);
	free(where);
	if (mkdtemp(path) == NULL) {
		error = nvw_fail_errno("%s", path);
		path[0] = '\0';
		return error;
	}
	*ret_lock = open_lock(path, O_CREAT | O_EXCL);
	if (*ret_lock < 0 || flock(*ret_lock, LOCK_EX | LOCK_NB)) {
		error = nvw_fail_errno("%s", path);
		host_folder_remove(path, *ret_lock);
		path[0] = '\0';
	}
	return error;
}
