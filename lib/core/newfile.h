/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that are whole or not there: written under a temporary name in the same folder, which becomes the real one when
 * every byte is written. What is no regular file (/dev/stdout, a pipe) is written as it is.
 */
#ifndef CORE_NEWFILE_H
#define CORE_NEWFILE_H

#include <stdbool.h>
#include <stdio.h>

#include <nvw/pool.h>

struct nvw_new_file {
	FILE *file; /* to write to */
	char *path, *temporary;
	bool keep; /* a file that has the name already */
};

/* keep: a file of this name is never replaced. An error names the path; then there is nothing to end. */
NVW_CHECKED int nvw_new_file_begin(const char *path, bool keep, struct nvw_new_file *ret_file);

/*
 * Closes the file and gives it its name if error is 0 and all of it was written; else removes it. Returns error, or its
 * own, with a message: NVW_E_FULL, -EEXIST (keep), NVW_E_SYSTEM.
 */
NVW_CHECKED int nvw_new_file_end(struct nvw_new_file *file, int error);

#endif
