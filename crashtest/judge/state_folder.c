/* SPDX-License-Identifier: BSD-3-Clause */
/* The folder that a command judges. See state_folder.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/each.h"
#include "core/filled.h"
#include "core/folder.h"
#include "core/invariant.h"
#include "core/print.h"

#include "state_folder.h"

enum { PATH = 1024, NAME = 512 };

struct filling {
	const struct ct_state_folder *state;
	const struct nvw__disk *disk;
	const struct ct_image *image;
};

static uint64_t word_at(const struct filling *f, uint64_t off)
{
	uint64_t word;

	memcpy(&word, f->image->rw + off, sizeof word);
	return word;
}

/* What has a name: the word in the image. */
static uint64_t named_by(const struct filling *f, uint32_t name)
{
	return word_at(f, nvw__disk_name_at(f->disk, name));
}

/* A name that is not on the disk in its folder leads nowhere, whatever is below it. A folder without a name
 * in the image was left out of it (--except), and is there. */
static bool has_folders(const struct filling *f, const char *name)
{
	NVW_FOR(i, f->disk->names) {
		const char *const folder = f->disk->name[i];
		const size_t n = strlen(folder);

		if (!strncmp(name, folder, n) && name[n] == '/' && named_by(f, i) != NVW__DISK_FOLDER) {
			return false;
		}
	}
	return true;
}

/* The same; 0: nothing has the name. */
static uint64_t thing_of(const struct filling *f, uint32_t name)
{
	const uint64_t word = named_by(f, name);

	NVW_INVARIANT(name < f->disk->names);
	return word != 0 && has_folders(f, f->disk->name[name]) ? word : 0;
}

static bool is_file(const struct filling *f, uint64_t word)
{
	return word > 0 && word <= f->disk->files;
}

static void path_of(const struct filling *f, const char *name, char ret[PATH])
{
	snprintf(ret, PATH, "%s/%.*s", f->state->path, NAME, name);
}

/* ---- What the run before has left -------------------------------------------------------------------- */

static bool is_wanted(const struct filling *f, const char *name)
{
	NVW_FOR(i, f->disk->names) {
		if (!strcmp(f->disk->name[i], name)) {
			return is_file(f, thing_of(f, i));
		}
	}
	return false;
}

static void sweep(const struct filling *f, const char *folder);

static void sweep_entry(const struct filling *f, const char *name)
{
	char path[PATH];
	struct stat s;

	path_of(f, name, path);
	if (lstat(path, &s)) {
		return;
	}
	if (S_ISDIR(s.st_mode)) {
		sweep(f, name);
		rmdir(path); /* if it is empty: folders of names are made again */
		return;
	}
	if (!S_ISREG(s.st_mode) || s.st_nlink > 1 || !is_wanted(f, name)) {
		unlink(path);
	}
}

/* Removes all but regular files with names of the state. folder: below the state's, "" is that. */
static void sweep(const struct filling *f, const char *folder)
{
	char path[PATH], name[NAME];
	const struct dirent *e;

	path_of(f, folder, path);
	DIR *const d = opendir(path);

	while (d && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) {
			continue;
		}
		NVW_PRINT(name, "%.200s%s%.255s", folder, *folder ? "/" : "", e->d_name);
		sweep_entry(f, name);
	}
	if (d) {
		closedir(d);
	}
}

/* ---- What the state has ------------------------------------------------------------------------------ */

static int make_folders_of(const struct filling *f, const char *name)
{
	char path[PATH];

	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
		const int n = NVW_PRINT(path, "%s/", f->state->path);

		snprintf(path + n, sizeof path - (size_t)n, "%.*s", (int)(slash - name), name);
		NVW_FAIL_ERRNO_IF(mkdir(path, 0777) && errno != EEXIST, "%s", path);
	}
	return 0;
}

/* Where the file's data begins, from a page on; its end if there is none. */
static uint64_t next_data(int fd, uint64_t at, uint64_t size)
{
	const off_t data = lseek(fd, (off_t)at, SEEK_DATA);

	if (data < 0) {
		return errno == ENXIO ? size : at;
	}
	return MIN((uint64_t)data & ~(uint64_t)(CT_PAGE - 1), size);
}

/* An image that ct_image_create() has not made does not tell. */
static bool is_filled(const struct ct_image *image, uint64_t off)
{
	return !image->filled || image->filled[off / CT_PAGE];
}

/* The next page that the image or the file has. */
static uint64_t next_wanted(
	const struct ct_image *image, uint64_t off, uint64_t at, uint64_t data, uint64_t size)
{
	const uint64_t end = nvw__filled_pages(off + size);

	if (!image->filled) {
		return at;
	}
	return MIN(nvw__filled_next(image->filled, (off + at) / CT_PAGE, end) * CT_PAGE - off, MAX(data, at));
}

/* Writes the pages that differ. Those that are holes on both sides are passed over: reading one of the image
 * would give it a page. off: of the content in the image. */
static bool write_content(const struct ct_image *image, int fd, uint64_t off, uint64_t size)
{
	static const uint8_t zeros[CT_PAGE];
	uint64_t data = next_data(fd, 0, size);
	uint8_t now[CT_PAGE];

	for (uint64_t at = next_wanted(image, off, 0, data, size); at < size;
		at = next_wanted(image, off, at + CT_PAGE, data, size)) {
		const uint8_t *const wanted = is_filled(image, off + at) ? image->rw + off + at : zeros;
		const size_t n = MIN(size - at, CT_PAGE);

		errno = ENOSPC; /* of a write that is cut short */
		if (pread(fd, now, n, (off_t)at) != (ssize_t)n) {
			return false;
		}
		if (memcmp(now, wanted, n) != 0 && pwrite(fd, wanted, n, (off_t)at) != (ssize_t)n) {
			return false;
		}
		data = at >= data ? next_data(fd, at + CT_PAGE, size) : data;
	}
	return true;
}

static int fill_file(const struct filling *f, const char *path, uint64_t file)
{
	const uint64_t word = word_at(f, nvw__disk_file_at(f->disk, (uint32_t)file - 1));
	const struct nvw__disk_slot *const slot =
		&f->disk->slot[MIN(NVW__DISK_SLOT(word), f->disk->slots - 1)];
	const uint64_t size = MIN(NVW__DISK_SIZE(word), slot->bytes);
	const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	int error = 0;

	if (fd < 0 || ftruncate(fd, (off_t)size) || !write_content(f->image, fd, slot->off, size)) {
		error = nvw_folder_fail(path, size);
	}
	if (fd >= 0) {
		close(fd);
	}
	return error;
}

/* A second name of a file is a link to the first. */
static int name_file(const struct filling *f, uint32_t name, uint64_t file)
{
	char path[PATH], first[PATH];

	NVW_INVARIANT(name < f->disk->names);
	path_of(f, f->disk->name[name], path);
	NVW_FOR(i, name) {
		if (thing_of(f, i) != file) {
			continue;
		}
		path_of(f, f->disk->name[i], first);
		unlink(path);
		return link(first, path) ? nvw_fail_errno("%s", path) : 0;
	}
	return fill_file(f, path, file);
}

static int make_link(const struct filling *f, uint32_t name, uint64_t text)
{
	char path[PATH];

	NVW_INVARIANT(name < f->disk->names && text < f->disk->names);
	path_of(f, f->disk->name[name], path);
	NVW_FAIL_ERRNO_IF(text >= f->disk->names || symlink(f->disk->name[text], path), "%s", path);
	return 0;
}

static int make_name(const struct filling *f, uint32_t name, uint64_t word)
{
	char folder[NVW__DISK_NAME + 1];

	NVW_INVARIANT(name < f->disk->names);
	NVW_TRY(make_folders_of(f, f->disk->name[name]));
	if (is_file(f, word)) {
		return name_file(f, name, word);
	}
	if (word == NVW__DISK_FOLDER) {
		NVW_PRINT(folder, "%s/", f->disk->name[name]);
		return make_folders_of(f, folder);
	}
	return make_link(f, name, word - NVW__DISK_LINK);
}

int ct_state_folder_fill(struct ct_state_folder *state, const char *folder, const struct ct_image *image,
	const struct nvw__disk *disk)
{
	const struct filling f = {.state = state, .disk = disk, .image = image};

	NVW_PRINT(state->path, "%.*s/state-%d", NVW__FOLDER_PATH, folder, (int)getpid());
	NVW_FAIL_ERRNO_IF(mkdir(state->path, 0777) && errno != EEXIST, "%s", state->path);
	sweep(&f, "");
	NVW_FOR(i, disk->names) {
		const uint64_t word = thing_of(&f, i);

		if (word != 0) {
			NVW_TRY(make_name(&f, i, word));
		}
	}
	return 0;
}
