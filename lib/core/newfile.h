/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that are complete or absent: written under a temporary name in the same folder, and renamed when
 * every byte is written. Anything but a regular file (/dev/stdout, a pipe) is written directly.
 */
#ifndef CORE_NEWFILE_H
#define CORE_NEWFILE_H

#include <stdbool.h>
#include <stdio.h>

#include <nvw/pool.h>

struct nvw_new_file {
	FILE *file; /* to write to */
	char *path, *temporary;
	bool keep; /* do not replace an existing file of this name */
};

/* keep: an existing file of this name is not replaced. On an error, whose message names the path,
 * nvw_new_file_end() is not needed. */
NVW_CHECKED int nvw_new_file_begin(const char *path, bool keep, struct nvw_new_file *ret_file);

/*
 * Closes the file. Gives it its name if error is 0 and all of it was written, else removes it. Returns error,
 * or its own error with a message: NVW_E_FULL, -EEXIST (keep), NVW_E_SYSTEM.
 */
NVW_CHECKED int nvw_new_file_end(struct nvw_new_file *file, int error);

/* Removes the unfinished files of this process; safe in a signal handler that does not return. */
void nvw__new_files_remove_all(void);

#endif
