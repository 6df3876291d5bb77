/* SPDX-License-Identifier: BSD-3-Clause */
/* The file that a command judges. See state_file.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/bounds.h"
#include "core/disk_image.h"
#include "core/each.h"
#include "core/filled.h"
#include "core/folder.h"
#include "core/invariant.h"
#include "core/print.h"

#include "state_file.h"

enum { HAS_DATA = 1, HAD_DATA = 2 }; /* of struct ct_state_file.page: now; when it was last filled */

static void forget(struct ct_state_file *f)
{
	if (f->map) {
		munmap(f->map, f->bytes);
		close(f->fd);
	}
	free(f->page);
	f->map = NULL;
	f->page = NULL;
	f->serial = 0;
}

static int make(struct ct_state_file *f, const char *folder, uint64_t bytes)
{
	struct stat s;

	forget(f);
	f->pid = getpid();
	f->bytes = bytes;
	NVW_PRINT(f->path, "%.*s/state-%d", NVW__FOLDER_PATH, folder, (int)f->pid);
	unlink(f->path);
	f->fd = open(f->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (f->fd < 0 || ftruncate(f->fd, (off_t)bytes) || fstat(f->fd, &s)) {
		const int error = nvw_fail_errno("%s", f->path);

		if (f->fd >= 0) {
			close(f->fd);
		}
		return error;
	}
	void *const map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);

	f->page = calloc(bytes / CT_PAGE + 1, 1);
	if (map == MAP_FAILED || !f->page) {
		const int error = nvw_fail_errno("%s", f->path);

		close(f->fd);
		return error;
	}
	f->map = map;
	f->size = bytes;
	f->device = s.st_dev;
	f->inode = s.st_ino;
	return 0;
}

/* True if the command has left the file in its place, and as long as it was. */
static bool is_in_place(const struct ct_state_file *f)
{
	struct stat s;

	return lstat(f->path, &s) == 0 && s.st_dev == f->device && s.st_ino == f->inode &&
	       (uint64_t)s.st_size == f->size;
}

/* Finds which pages the file has: all, if the file system does not tell. */
static void find_data(struct ct_state_file *f)
{
	const uint64_t pages = (f->bytes + CT_PAGE - 1) / CT_PAGE;
	off_t data = 0, end = 0;

	for (uint64_t i = nvw__filled_next(f->page, 0, pages); i < pages;
		i = nvw__filled_next(f->page, i + 1, pages)) {
		f->page[i] &= (uint8_t)~HAS_DATA;
	}
	while ((data = lseek(f->fd, end, SEEK_DATA)) >= 0 && (uint64_t)data < f->bytes &&
		(end = lseek(f->fd, data, SEEK_HOLE)) > data) {
		for (uint64_t i = (uint64_t)data / CT_PAGE; i < pages && i * CT_PAGE < (uint64_t)end; i++) {
			f->page[i] |= HAS_DATA;
		}
	}
}

/* A page of the image, which may be in need of copying; reading a page that the file lacks would give it
 * one. Space comes first: a store without it would end the process. content NULL: zeros. */
static int fill_page(struct ct_state_file *f, const uint8_t *content, uint64_t i)
{
	static const uint8_t zeros[CT_PAGE];
	const uint64_t at = i * CT_PAGE, n = MIN(f->bytes - at, CT_PAGE);
	const bool has_data = f->page[i] & HAS_DATA;
	const uint8_t *const wanted = NVW_OR(content, zeros);

	NVW_INVARIANT(i * CT_PAGE < f->bytes);
	if (!memcmp(has_data ? f->map + at : zeros, wanted, n)) {
		return 0;
	}
	errno = has_data ? 0 : posix_fallocate(f->fd, (off_t)at, (off_t)n);
	if (errno != 0) {
		return nvw_folder_fail(f->path, f->bytes);
	}
	memcpy(f->map + at, wanted, n);
	f->page[i] |= HAS_DATA;
	return 0;
}

/* A page of the image from page on that may have other bytes than 0. filled NULL: each. */
static uint64_t next_filled(const uint8_t *filled, uint64_t page, uint64_t pages)
{
	return !filled ? page : nvw__filled_next(filled, page, pages);
}

/* The next page that is filled there, or that the file has, or had. */
static uint64_t next_page(const struct ct_state_file *f, const uint8_t *filled, uint64_t page, uint64_t pages)
{
	return MIN(next_filled(filled, page, pages), nvw__filled_next(f->page, page, pages));
}

/* What the image holds there; NULL: a hole. */
static const uint8_t *content_of(const struct ct_image *image, uint64_t off, uint64_t page)
{
	const uint64_t at = off + page * CT_PAGE;

	return image->filled && image->filled[at / CT_PAGE] == 0 ? NULL : image->rw + at;
}

/* The file has all its bytes while it is filled. */
static int set_size(struct ct_state_file *f, uint64_t size)
{
	NVW_FAIL_ERRNO_IF(f->size != size && ftruncate(f->fd, (off_t)size), "%s", f->path);
	f->size = size;
	return 0;
}

static int prepare(struct ct_state_file *f, const char *folder, uint64_t bytes)
{
	if (!f->map || f->pid != getpid() || f->bytes != bytes || !is_in_place(f)) {
		NVW_TRY(make(f, folder, bytes));
	}
	return set_size(f, bytes);
}

/* The file of an image of files: its slot, as long as it is in this state. */
static int fill_from_slot(
	struct ct_state_file *f, const char *folder, const struct ct_image *image, const struct nvw__disk *d)
{
	uint64_t word, bytes = NVW__DISK_PAGE;

	NVW_EACH(slot, d->slot, d->slots) {
		bytes = MAX(bytes, slot->bytes);
	}
	memcpy(&word, image->rw + nvw__disk_file_at(d, 0), sizeof word);
	const struct nvw__disk_slot *const slot = &d->slot[MIN(NVW__DISK_SLOT(word), d->slots - 1)];

	NVW_TRY(prepare(f, folder, bytes));
	find_data(f);
	const uint8_t *const filled = image->filled ? image->filled + slot->off / CT_PAGE : NULL;
	const uint64_t pages = slot->bytes / CT_PAGE;

	for (uint64_t i = next_page(f, filled, 0, pages); i < pages; i = next_page(f, filled, i + 1, pages)) {
		NVW_TRY(fill_page(f, content_of(image, slot->off, i), i));
	}
	f->serial = 0;
	return set_size(f, MIN(NVW__DISK_SIZE(word), slot->bytes));
}

int ct_state_file_fill(
	struct ct_state_file *f, const char *folder, const struct ct_image *image, uint64_t bytes)
{
	const struct nvw__disk *const disk = nvw__disk_of(image->rw, bytes);

	if (disk) {
		return fill_from_slot(f, folder, image, disk);
	}
	NVW_TRY(prepare(f, folder, bytes));
	const bool follows = image->touched && f->serial == image->serial;

	const uint8_t *const changed = follows ? image->touched : image->filled;
	const uint64_t pages = nvw__filled_pages(bytes);

	find_data(f);
	f->serial = 0; /* until it is filled */
	for (uint64_t i = next_page(f, changed, 0, pages); i < pages;
		i = next_page(f, changed, i + 1, pages)) {
		NVW_TRY(fill_page(f, content_of(image, 0, i), i));
		f->page[i] = f->page[i] & HAS_DATA ? HAD_DATA : 0;
		if (image->touched) {
			image->touched[i] = 0;
		}
	}
	f->serial = image->touched ? image->serial : 0;
	return 0;
}
