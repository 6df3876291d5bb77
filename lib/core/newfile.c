/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are complete or absent. See newfile.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "newfile.h"

#include "core/each.h"
#include "core/invariant.h"

enum { UNFINISHED_MAX = 32, NAME_BYTES = 4096 };

/* This process has so many unfinished files, for an end that does not come back. More than these stay behind
 * then. */
static struct {
	char name[NAME_BYTES];
	pid_t owner;
	volatile bool taken;
} unfinished[UNFINISHED_MAX];

static void remember_unfinished(const char *name)
{
	NVW_EACH(one, unfinished, UNFINISHED_MAX) {
		if (!one->taken || one->owner != getpid()) {
			one->taken = false;
			snprintf(one->name, NAME_BYTES, "%s", name);
			one->owner = getpid();
			one->taken = strlen(name) < NAME_BYTES;
			return;
		}
	}
}

static void forget(const char *name)
{
	NVW_EACH(one, unfinished, UNFINISHED_MAX) {
		if (one->taken && one->owner == getpid() && strcmp(one->name, name) == 0) {
			one->taken = false;
		}
	}
}

void nvw__new_files_remove_all(void)
{
	NVW_EACH(one, unfinished, UNFINISHED_MAX) {
		if (one->taken && one->owner == getpid()) {
			unlink(one->name);
		}
	}
}

static void release(struct nvw_new_file *f)
{
	free(f->path);
	free(f->temporary);
	*f = (struct nvw_new_file){.file = NULL};
}

static int cannot_write(const char *path)
{
	NVW_FAIL_IF(errno == ENOSPC || errno == EDQUOT || errno == EFBIG, NVW_E_FULL, "%s: no space is left",
		path);
	return nvw_fail_errno("%s", path);
}

/* Opens a temporary file with the permissions that fopen() would give. */
static FILE *open_temporary(char *name)
{
	const mode_t mask = umask(0);
	const int fd = mkstemp(name);
	FILE *file = NULL;

	umask(mask);
	if (fd < 0) {
		return NULL;
	}
	if (fchmod(fd, 0666 & ~mask) == 0) {
		file = fdopen(fd, "w");
	}
	if (!file) {
		close(fd);
		unlink(name);
	}
	return file;
}

int nvw_new_file_begin(const char *path, bool keep, struct nvw_new_file *ret_file)
{
	struct nvw_new_file f = {.path = strdup(path), .keep = keep};
	struct stat s;
	const bool plain = stat(path, &s) != 0 || S_ISREG(s.st_mode);

	if (!f.path || (plain && asprintf(&f.temporary, "%s.XXXXXX", path) < 0)) {
		f.temporary = NULL;
		release(&f);
		return nvw_fail(NVW_E_MEMORY, "no memory for a file name");
	}
	f.file = plain ? open_temporary(f.temporary) : fopen(path, "we");
	if (!f.file) {
		const int error = cannot_write(path);

		release(&f);
		return error;
	}
	if (f.temporary) {
		remember_unfinished(f.temporary);
	}
	*ret_file = f;
	return 0;
}

static int give_name(const struct nvw_new_file *f)
{
	const unsigned how = f->keep * RENAME_NOREPLACE;

	NVW_INVARIANT(f->temporary != NULL);
	if (renameat2(AT_FDCWD, f->temporary, AT_FDCWD, f->path, how) == 0) {
		return 0;
	}
	if (errno == EINVAL && f->keep && link(f->temporary, f->path) == 0) { /* unsupported here */
		return 0;
	}
	NVW_FAIL_IF(errno == EEXIST, -EEXIST, "%s already exists", f->path);
	return cannot_write(f->path);
}

int nvw_new_file_end(struct nvw_new_file *f, int error)
{
	NVW_INVARIANT(f->file && f->path); /* it has begun, and has not ended yet */
	const bool bad = ferror(f->file) != 0;
	const int before = errno;
	const bool closed = fclose(f->file) == 0;

	if (!error && (bad || !closed)) {
		if (closed) {
			errno = before;
		}
		error = cannot_write(f->path);
	}
	if (f->temporary) {
		if (error == 0) {
			error = give_name(f);
		}
		unlink(f->temporary); /* no effect after a rename */
		forget(f->temporary);
	}
	release(f);
	return error;
}
