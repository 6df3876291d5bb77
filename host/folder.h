/* SPDX-License-Identifier: BSD-3-Clause */
/* Temporary folders in $TMPDIR (/dev/shm). They may hold copies of large files, so none stays: not that of a killed run. */
#ifndef HOST_FOLDER_H
#define HOST_FOLDER_H

#include <nvw/pool.h>

/*
 * Makes a folder whose name begins with a prefix, its path absolute, and holds a lock in it; removes older ones with that
 * prefix that nobody holds any more. NVW_E_USAGE, with a message, if $TMPDIR does not serve.
 */
NVW_CHECKED int host_folder_make(const char *prefix, char ret_path[256], int *ret_lock);

/* With all that is in it; a path of "" is none. */
void host_folder_remove(const char *path, int lock);

#endif
