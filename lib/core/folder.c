/* SPDX-License-Identifier: BSD-3-Clause */
/* Temporary folders. See folder.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "folder.h"

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/print.h"

enum {
	FOLDERS_MAX = 16,
	DEPTH_MAX = 8,
	LISTING_BYTES = 2048,
	GRACE_SECONDS = 60,
	RETRIES = 20,
	WHERE_MAX = 200
};

/* Those of this process: a handler of signals removes them. */
static struct {
	char path[NVW__FOLDER_PATH];
	pid_t owner;
	volatile bool taken;
} mine[FOLDERS_MAX];

/* ---- The program's own ----------------------------------------------------------------------- */

void nvw_own_path(char *ret_path, size_t n)
{
	NVW_INVARIANT(n > 1);
	const ssize_t length = readlink("/proc/self/exe", ret_path, n - 1);

	ret_path[length > 0 ? length : 0] = '\0';
}

void nvw_own_folder(char *ret_folder, size_t n)
{
	nvw_own_path(ret_folder, n);
	char *const slash = strrchr(ret_folder, '/');

	if (slash) {
		*slash = '\0';
	}
}

/* ---- Removal, with system calls only --------------------------------------------------------- */

struct entry {
	uint64_t inode;
	int64_t next;
	unsigned short bytes;
	unsigned char type;
	char name[];
};

static void remove_at(int parent, const char *name, unsigned depth);

static void empty(int fd, unsigned depth)
{
	NVW_DEEP_INVARIANT(depth <= DEPTH_MAX);

	_Alignas(struct entry) char listing[LISTING_BYTES];
	long n;

	while ((n = syscall(SYS_getdents64, fd, listing, sizeof listing)) > 0) {
		for (long at = 0; at < n;) {
			const struct entry *const e = (const void *)(listing + at);

			if (strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0) {
				remove_at(fd, e->name, depth);
			}
			at += e->bytes;
		}
	}
}

/* A dying process may still create files in it, so removal is repeated. */
static void remove_at(int parent, const char *name, unsigned depth)
{
	if (unlinkat(parent, name, 0) == 0 || (errno != EISDIR && errno != EPERM)) {
		return;
	}
	for (unsigned i = 0; i < RETRIES && unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno == ENOTEMPTY;
		i++) {
		const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0) {
			return;
		}
		if (depth < DEPTH_MAX) {
			empty(fd, depth + 1);
		}
		close(fd);
	}
}

void nvw__folders_remove_all(void)
{
	NVW_EACH(one, mine, FOLDERS_MAX) {
		if (one->taken && one->owner == getpid()) {
			remove_at(AT_FDCWD, one->path, 0);
		}
	}
}

/* ---- Ownership ------------------------------------------------------------------------------- */

/* The time at which a process began, in clock ticks since boot; 0 if there is no such process. */
static unsigned long long start_of(pid_t pid)
{
	unsigned long long start = 0;
	char path[64], text[1024];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	f = fopen(path, "re");
	if (!f) {
		return 0;
	}
	text[fread(text, 1, sizeof text - 1, f)] = '\0';
	fclose(f);

	/* The name may contain any character; the fields after it begin with the third, and the start time is
	 * the 22nd. */
	char *at = strrchr(text, ')');

	for (unsigned i = 2; at && i < 22; i++) {
		at = strchr(at + 1, ' ');
	}
	if (at) {
		(void)sscanf(at, "%llu", &start);
	}
	return start;
}

static int open_lock(const char *folder, int flags)
{
	char path[NVW__FOLDER_PATH + 16];

	snprintf(path, sizeof path, "%.*s/.lock", NVW__FOLDER_PATH - 1, folder);
	return open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
}

/* A folder of this user and program whose process no longer exists. */
static bool is_of_the_dead(const char *path, const char *name)
{
	unsigned long long start;
	struct stat s;
	long pid;

	return sscanf(name, "nvwave-%*[a-z]-%ld-%llu-", &pid, &start) == 2 && pid > 0 &&
	       start_of((pid_t)pid) != start && lstat(path, &s) == 0 && S_ISDIR(s.st_mode) &&
	       s.st_uid == geteuid();
}

/* A process that is invisible from here (in another container) still holds its lock. */
static bool take_lock(const char *path, int *ret_lock)
{
	struct stat s;

	*ret_lock = open_lock(path, 0);
	if (*ret_lock < 0) { /* not made yet, or removed already */
		return lstat(path, &s) == 0 && s.st_mtime + GRACE_SECONDS < time(NULL);
	}
	return flock(*ret_lock, LOCK_EX | LOCK_NB) == 0;
}

static void sweep(const char *where)
{
	DIR *const dir = opendir(where);
	const struct dirent *entry;
	char path[2 * NVW__FOLDER_PATH + 16];

	while (dir && (entry = readdir(dir))) {
		int lock = -1;

		snprintf(path, sizeof path, "%.*s/%s", NVW__FOLDER_PATH, where, entry->d_name);
		if (is_of_the_dead(path, entry->d_name) && take_lock(path, &lock)) {
			remove_at(AT_FDCWD, path, 0);
		}
		if (lock >= 0) {
			close(lock);
		}
	}
	if (dir) {
		closedir(dir);
	}
}

/* Sweeps once per process and place. */
static void sweep_once(const char *where)
{
	static char swept[2][NVW__FOLDER_PATH];
	unsigned i = 0;

	while (i < 2 && swept[i][0] && strcmp(swept[i], where) != 0) {
		i++;
	}
	if (i < 2 && !swept[i][0]) {
		snprintf(swept[i], sizeof swept[i], "%s", where);
		sweep(where);
	}
}

/* ---- Creation -------------------------------------------------------------------------------- */

static void nothing(int number)
{
}

/* A process with folders to remove must not die of a closed pipe or a file size limit; programs that it
 * executes may. */
static void outlive_errors(void)
{
	static const int numbers[] = {SIGPIPE, SIGXFSZ};
	const struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_RESTART};
	struct sigaction before;

	NVW_EACH(number, numbers, 2) {
		if (sigaction(*number, NULL, &before) == 0 && before.sa_handler == SIG_DFL) {
			sigaction(*number, &action, NULL);
		}
	}
}

static int choose_place(bool in_memory, char ret_where[NVW__FOLDER_PATH])
{
	const char *name = getenv("TMPDIR");
	char *where;
	size_t bytes;

	if (!name || !*name) {
		name = in_memory && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	}
	where = realpath(name, NULL);
	NVW_FAIL_ERRNO_IF(!where, "TMPDIR: %s", name);
	bytes = strlen(where);
	snprintf(ret_where, NVW__FOLDER_PATH, "%s", where);
	free(where);
	NVW_FAIL_IF(bytes > WHERE_MAX, NVW_E_USAGE, "TMPDIR: %s: expected a path of at most %d bytes", name,
		WHERE_MAX);
	return 0;
}

static bool remember_folder(const char *path)
{
	NVW_EACH(one, mine, FOLDERS_MAX) {
		if (!one->taken || one->owner != getpid()) {
			one->taken = false;
			snprintf(one->path, sizeof one->path, "%s", path);
			one->owner = getpid();
			one->taken = true;
			return true;
		}
	}
	return false;
}

/* NULL if the folder is not this process's. */
static volatile bool *taken_for(const char *path)
{
	NVW_EACH(one, mine, FOLDERS_MAX) {
		if (one->taken && one->owner == getpid() && strcmp(one->path, path) == 0) {
			return &one->taken;
		}
	}
	return NULL;
}

static int make(const char *where, const char *what, struct nvw_folder *ret)
{
	NVW_INVARIANT(strlen(where) <= WHERE_MAX);
	snprintf(ret->path, sizeof ret->path, "%.*s/nvwave-%.8s-%ld-%llu-XXXXXX", WHERE_MAX, where, what,
		(long)getpid(), start_of(getpid()));
	if (!mkdtemp(ret->path)) {
		const int error = nvw_fail_errno("%s", ret->path);

		ret->path[0] = '\0';
		return error;
	}
	if (!remember_folder(ret->path)) {
		rmdir(ret->path);
		ret->path[0] = '\0';
		return nvw_fail(NVW_E_SYSTEM, "more than %d temporary folders at a time", FOLDERS_MAX);
	}
	ret->lock = open_lock(ret->path, O_CREAT | O_EXCL);
	if (ret->lock < 0 || flock(ret->lock, LOCK_EX | LOCK_NB)) {
		const int error = nvw_fail_errno("%s", ret->path);

		nvw_folder_remove(ret);
		return error;
	}
	return 0;
}

int nvw_folder_make(const char *what, bool in_memory, struct nvw_folder *ret_folder)
{
	char where[NVW__FOLDER_PATH];
	const int error = choose_place(in_memory, where);

	NVW_INVARIANT(!strchr(what, '/'));
	*ret_folder = (struct nvw_folder){.lock = -1};
	if (error) {
		return error;
	}
	outlive_errors();
	sweep_once(where);
	return make(where, what, ret_folder);
}

int nvw_folder_fail(const char *path, uint64_t bytes)
{
	NVW_FAIL_ERRNO_IF(errno != ENOSPC && errno != EDQUOT && errno != EFBIG, "%s", path);
	return nvw_fail(NVW_E_SYSTEM, "%s: %s: %llu bytes are needed; set TMPDIR to a folder with more room",
		path, strerror(errno), (unsigned long long)bytes);
}

void nvw_folder_remove(struct nvw_folder *folder)
{
	if (folder->path[0] == '\0') {
		return;
	}
	volatile bool *const taken = taken_for(folder->path);

	/* In this order: a signal that ends the process in between finds the folder, and removes the rest of
	 * it. */
	if (taken) {
		remove_at(AT_FDCWD, folder->path, 0);
		*taken = false;
	}
	if (folder->lock >= 0) {
		close(folder->lock);
	}
	*folder = (struct nvw_folder){.lock = -1};
}

bool nvw_is_folder(const char *path)
{
	struct stat s;

	return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

int nvw_each_entry(const char *folder, int (*fits)(const struct dirent *entry),
	int (*each)(void *context, const char *name), void *context)
{
	struct dirent **entry;
	const int n = scandir(folder, &entry, fits, alphasort);
	int error = 0;

	NVW_FAIL_ERRNO_IF(n < 0, "%s", folder);
	NVW_EACH(one, entry, n) {
		error = NVW_OR(error, each(context, (*one)->d_name));
		free(*one);
	}
	free(entry);
	return error;
}

int nvw_folder_create(const struct nvw_folder *folder, const char *name, off_t bytes)
{
	char path[NVW__FOLDER_PATH + 32];

	NVW_PRINT(path, "%s/%s", folder->path, name);
	const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0 && ftruncate(fd, bytes)) {
		close(fd);
		return -1;
	}
	return fd;
}

int nvw__pool_create_unnamed(
	const char *what, const struct nvw_pool_params *params, unsigned count, struct nvw_pool **ret_first)
{
	char path[NVW__FOLDER_PATH + 16];
	struct nvw_folder folder;
	int error = nvw_folder_make(what, false, &folder);

	if (error) {
		return error;
	}
	snprintf(path, sizeof path, "%s/pool", folder.path);
	error = nvw_pool_create_several(path, params, count, ret_first);
	nvw_folder_remove(&folder);
	return error;
}
