/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of this process that a command judges. It is made equal to the state before each run, whatever the
 * run before did to it. Only pages that may differ are compared: those in which the image changed since then,
 * and those that the file has by now, which the command may have written. A page that the file lacks is 0,
 * and stays a hole if that of the image is.
 */
#ifndef CRASHTEST_STATE_FILE_H
#define CRASHTEST_STATE_FILE_H

#include <sys/types.h>

#include "core/folder.h"

#include "../states/image.h"

/* Zero-initialise. */
struct ct_state_file {
	pid_t pid; /* a forked process has none yet */
	int fd;
	char path[NVW__FOLDER_PATH + 32];
	uint8_t *map;
	uint64_t bytes;
	uint64_t size; /* that it was given, at most bytes */
	dev_t device;
	ino_t inode;
	uint64_t serial; /* of the image that it was last equal to; 0: none */
	uint8_t *page;   /* per page, what is known of it */
};

/* Fills the file in the folder with the image's first bytes or, of an image of files (core/disk_image.h),
 * with the content of its file. Errors: no space, no memory. */
NVW_CHECKED int ct_state_file_fill(
	struct ct_state_file *file, const char *folder, const struct ct_image *image, uint64_t bytes);

#endif
