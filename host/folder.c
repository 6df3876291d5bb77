/* SPDX-License-Identifier: BSD-3-Clause */
/* The files below a folder, before and after a run. See folder.h. */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/bounds.h"
#include "core/copy.h"
#include "core/each.h"
#include "core/invariant.h"
#include "folder.h"

enum { DEPTH_MAX = 16 };

/* What a walk does with each file and each folder, with a folder first. */
typedef int meet(void *context, const char *path, const struct stat *s);

static int walk(const char *folder, unsigned depth, meet *call, void *context);

static int visit(const char *path, unsigned depth, meet *call, void *context)
{
	struct stat s;

	NVW_FAIL_ERRNO_IF(lstat(path, &s), "%s", path);
	NVW_TRY(call(context, path, &s));
	if (!S_ISDIR(s.st_mode)) {
		return 0;
	}
	return walk(path, depth + 1, call, context);
}

/* In the order of names, so that equal folders give equal logs. */
static int walk(const char *folder, unsigned depth, meet *call, void *context)
{
	NVW_INVARIANT(depth <= DEPTH_MAX);

	struct dirent **entry;
	const int n = depth < DEPTH_MAX ? scandir(folder, &entry, NULL, alphasort) : -1;
	int error = 0;

	NVW_FAIL_ERRNO_IF(n < 0, "%s", folder);
	NVW_EACH(one, entry, n) {
		const char *const name = (*one)->d_name;
		char path[1024];

		snprintf(path, sizeof path, "%s/%s", folder, name);
		if (!error && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
			error = visit(path, depth, call, context);
		}
		free(*one);
	}
	free(entry);
	return error;
}

/* ---- Copies ----------------------------------------------------------------------------------------- */

struct copying {
	const char *to;
	size_t from; /* length of the path that is copied */
};

static int copy_below(void *context, const char *path, const struct stat *s)
{
	const struct copying *const c = context;
	char to[1024];

	snprintf(to, sizeof to, "%s%s", c->to, path + c->from);
	if (S_ISDIR(s->st_mode)) {
		NVW_FAIL_ERRNO_IF(mkdir(to, 0777), "%s", to);
		return 0;
	}
	NVW_FAIL_IF(!S_ISREG(s->st_mode), NVW_E_INPUT,
		"%s: expected regular files and folders below the folder that is the image, found a link, a "
		"device or a pipe",
		path);
	return nvw_copy_file(path, to);
}

int host_folder_copy(const char *from, const char *to)
{
	struct copying c = {.to = to, .from = strlen(from)};

	NVW_FAIL_ERRNO_IF(mkdir(to, 0777), "%s", to);
	return walk(from, 0, copy_below, &c);
}

static int remove_below(const char *path, const struct stat *s, int kind, struct FTW *at)
{
	return remove(path);
}

void host_folder_remove(const char *folder)
{
	if (nftw(folder, remove_below, DEPTH_MAX, FTW_DEPTH | FTW_PHYS)) {
		(void)nvw_fail_errno("%s", folder);
	}
}

/* ---- Before the run -------------------------------------------------------------------------------- */

static int copy_as(const struct host_session *s, const char *from, const char *as, unsigned number)
{
	char path[300];

	snprintf(path, sizeof path, "%s/%s-%u", s->folder.path, as, number);
	NVW_TRY(nvw_copy_file(from, path));
	NVW_FAIL_ERRNO_IF(chmod(path, 0600), "%s", path);
	return 0;
}

/* As the program's library would begin it (preload/mappings.c). */
static int begin_file(const struct host_session *s, const char *path, const struct stat *is, unsigned number)
{
	NVW_INVARIANT(number < HOST_FILES_MAX);

	struct host_file *const f = &s->control->file[number];
	char lines[300];

	NVW_TRY(copy_as(s, path, "base", number));
	NVW_TRY(copy_as(s, path, "shadow", number));
	snprintf(lines, sizeof lines, "%s/lines-%u", s->folder.path, number);
	const int fd = open(lines, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	NVW_FAIL_ERRNO_IF(fd < 0, "%s", lines);
	close(fd);
	f->device = is->st_dev;
	f->inode = is->st_ino;
	f->bytes = (uint64_t)is->st_size;
	f->of_folder = true;
	HOST_COPY_TEXT(f->path, path);
	return 0;
}

static int number_of(const struct host_control *c, const struct stat *is)
{
	NVW_FOR(i, c->file_count) {
		if (c->file[i].device == is->st_dev && c->file[i].inode == is->st_ino) {
			return (int)i;
		}
	}
	return -1;
}

static int take(void *context, const char *path, const struct stat *is)
{
	struct host_session *const s = context;
	struct host_control *const c = s->control;
	int number = S_ISDIR(is->st_mode) ? HOST_NO_FILE : number_of(c, is);

	if (host_is_excepted(c->except, path + strlen(c->folder) + 1)) {
		return 0;
	}
	NVW_FAIL_IF(number < 0 && c->file_count == HOST_FILES_MAX, NVW_E_INPUT,
		"%s: expected at most %d files", c->folder, HOST_FILES_MAX);
	if (number < 0) {
		number = (int)c->file_count;
		NVW_TRY(begin_file(s, path, is, c->file_count));
		c->file_count++;
	}
	NVW_FAIL_IF(s->names == NVW__DISK_NAMES, NVW_E_INPUT, "%s: expected at most %d names", c->folder,
		NVW__DISK_NAMES);
	snprintf(s->name_at_first[s->names], sizeof *s->name_at_first, "%s", path);
	s->file_at_first[s->names++] = (unsigned)number;
	return 0;
}

int host_folder_take(struct host_session *s, const char *folder, const char *except)
{
	NVW_INVARIANT(s->names == 0 && s->name_at_first == NULL);

	char *const path = realpath(folder, NULL);

	NVW_FAIL_ERRNO_IF(path == NULL, "%s", folder);
	snprintf(s->control->folder, sizeof s->control->folder, "%.1023s", path);
	free(path);
	HOST_COPY_TEXT(s->control->except, NVW_OR(except, ""));
	s->name_at_first = calloc(NVW__DISK_NAMES, sizeof *s->name_at_first);
	s->file_at_first = calloc(NVW__DISK_NAMES, sizeof *s->file_at_first);
	NVW_ALLOCATED(s->name_at_first && s->file_at_first, "no memory for the files of a folder");
	return walk(s->control->folder, 0, take, s);
}

void host_folder_free(struct host_session *s)
{
	free(s->name_at_first);
	free(s->file_at_first);
	s->name_at_first = NULL;
	s->file_at_first = NULL;
	s->names = 0;
}

/* ---- After the run --------------------------------------------------------------------------------- */

struct known {
	const struct nvw__disk *disk;
	const uint64_t *named;
	const char *except;
	size_t folder; /* length of its path */
	uint64_t met;
};

static int check_name(void *context, const char *path, const struct stat *is)
{
	struct known *const k = context;
	const char *const name = path + k->folder + 1;

	if (host_is_excepted(k->except, name)) {
		return 0;
	}
	NVW_FOR(i, k->disk->names) {
		if (k->named[i] != 0 && strcmp(k->disk->name[i], name) == 0) {
			k->met++;
			return 0;
		}
	}
	return nvw_fail(NVW_E_INPUT,
		"UNDECIDED: %s: no recorded call has created it (fopen(), mkstemp(), another process), so it "
		"is not known what a crash may leave",
		name);
}

int host_folder_check(const struct host_session *s, const struct nvw__disk *disk, const uint64_t *named)
{
	struct known k = {.disk = disk,
		.named = named,
		.except = s->control->except,
		.folder = strlen(s->control->folder)};
	uint64_t names = 0;

	NVW_TRY(walk(s->control->folder, 0, check_name, &k));
	NVW_EACH(one, named, disk->names) {
		names += *one != 0;
	}
	NVW_FAIL_IF(k.met != names, NVW_E_INPUT,
		"UNDECIDED: a file below the folder is gone, and no recorded call has removed it");
	return 0;
}
