/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An image of files behind a page cache, as the logs of the model "files" change it (docs/files.md):
 *
 *	slots	what the files hold, each in whole pages; a file that is cut to nothing begins another slot
 *	names	a page: word i is the number of the file that has name i, plus one; 0: none has it; others:
 *		it is a folder's or a link's. Under a file system that does not order them, a page for each,
 *		whose first word it is
 *	files	a page for each, whose first word has its slot and its size
 *	struct nvw__disk, which is constant
 *
 * So the size of a file, and who has a name, are words like others: stores change them, and a crash may lose
 * these stores.
 */
#ifndef CORE_DISK_IMAGE_H
#define CORE_DISK_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	NVW__DISK_PAGE = 4096,
	NVW__DISK_FILES = 256,
	NVW__DISK_SLOTS = 512,
	NVW__DISK_NAMES = 128,
	NVW__DISK_NAME = 96,
	NVW__DISK_BYTES = 1 << 15, /* of the description */
};
#define NVW__DISK_MAGIC "nvwave: files of a disk\n"
/* Words of names. That of a symbolic link has the number of the name that is its text. */
#define NVW__DISK_FOLDER     UINT64_C(0x10000)
#define NVW__DISK_LINK       UINT64_C(0x20000)
#define NVW__DISK_SIZE(word) ((word) & ((UINT64_C(1) << 48) - 1))
#define NVW__DISK_SLOT(word) ((unsigned)((word) >> 48))

/* What the file system orders (crashtest/states/models/files.c). */
enum nvw__disk_fs {
	NVW__FS_EXT4,    /* data=ordered: names in one journal, sizes after what they uncover */
	NVW__FS_JOURNAL, /* data=journal: everything in one journal */
	NVW__FS_POSIX,   /* what POSIX promises: names in no order */
};

struct nvw__disk {
	char magic[24];
	uint32_t names, files, slots, is_folder; /* not a folder: file 0 is the image */
	uint32_t fs, unused;                     /* fs: enum nvw__disk_fs */
	uint64_t at;                             /* of the names */
	struct nvw__disk_slot {
		uint64_t off, bytes;
		uint32_t file, unused;
	} slot[NVW__DISK_SLOTS];
	uint32_t first_name[NVW__DISK_FILES]; /* that the file has had, from 1; 0: none */
	char name[NVW__DISK_NAMES][NVW__DISK_NAME];
};

static inline uint64_t nvw__disk_name_at(const struct nvw__disk *d, uint32_t name)
{
	return d->at + (d->fs == NVW__FS_POSIX ? NVW__DISK_PAGE : sizeof(uint64_t)) * (uint64_t)name;
}

static inline uint64_t nvw__disk_file_at(const struct nvw__disk *d, uint32_t file)
{
	const uint64_t pages = d->fs == NVW__FS_POSIX && d->names > 0 ? d->names : 1;

	return d->at + NVW__DISK_PAGE * (pages + file);
}

static inline bool nvw__disk_is_whole(const struct nvw__disk *d, uint64_t bytes)
{
	const uint64_t end = bytes - NVW__DISK_BYTES;

	if (d->names > NVW__DISK_NAMES || d->files > NVW__DISK_FILES || d->slots > NVW__DISK_SLOTS ||
		d->at > end || nvw__disk_file_at(d, d->files) != end) {
		return false;
	}
	for (uint32_t i = 0; i < d->slots; i++) {
		if (d->slot[i].off > d->at || d->slot[i].bytes > d->at - d->slot[i].off) {
			return false;
		}
	}
	return true;
}

/* The description of an image; NULL if the image is none of files. */
static inline const struct nvw__disk *nvw__disk_of(const uint8_t *image, uint64_t bytes)
{
	const struct nvw__disk *d;

	if (bytes < NVW__DISK_BYTES || bytes % NVW__DISK_PAGE != 0) {
		return NULL;
	}
	d = (const struct nvw__disk *)(const void *)(image + bytes - NVW__DISK_BYTES);
	return memcmp(d->magic, NVW__DISK_MAGIC, sizeof d->magic) == 0 && nvw__disk_is_whole(d, bytes) ? d :
													 NULL;
}

#endif
