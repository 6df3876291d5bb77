/* SPDX-License-Identifier: BSD-3-Clause */
/* A session whose image is a folder: all files below it, with their names (docs/files.md). */
#ifndef HOST_FOLDER_H
#define HOST_FOLDER_H

#include "core/disk_image.h"

#include "exec.h"

/* Before the run: every regular file below the folder is recorded from the beginning, and so are files that
 * the program creates there. except: patterns of names that are no part of the image, with commas between;
 * NULL: none. Errors: something else below it (a link, a socket), too many files, names that are too long. */
NVW_CHECKED int host_folder_take(struct host_session *session, const char *folder, const char *except);
void host_folder_free(struct host_session *session);

/* Copies a folder, with the regular files and folders below it. */
NVW_CHECKED int host_folder_copy(const char *from, const char *to);
/* Removes it, with all that is below it. */
void host_folder_remove(const char *folder);

static inline bool host_is_of_folder(const struct host_session *s)
{
	return *s->control->folder != '\0';
}

/* After the run: are the names below the folder those that the record ends with? named: a word for each name
 * (core/disk_image.h). Else what a crash may leave is not known: an error. */
NVW_CHECKED int host_folder_check(
	const struct host_session *session, const struct nvw__disk *disk, const uint64_t *named);

#endif
