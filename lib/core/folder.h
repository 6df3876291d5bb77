/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Temporary folders in $TMPDIR. They may hold copies of large files, so none stays: not that of a killed run. The name
 * says whose it is, nvwave-WHAT-PID-START-XXXXXX, with the time at which the process began; a lock in it is held as long as
 * the owner lives. The first folder of a process removes what others have left whose owner is dead.
 */
#ifndef CORE_FOLDER_H
#define CORE_FOLDER_H

#include <stdbool.h>

#include <nvw/pool.h>

enum { NVW__FOLDER_PATH = 256 };

struct nvw_folder {
	char path[NVW__FOLDER_PATH]; /* absolute; "": none */
	int lock;
};

/*
 * Makes a folder. Without $TMPDIR it is in /dev/shm (in_memory) or /tmp. NVW_E_USAGE or NVW_E_SYSTEM, with a message, if
 * that does not serve. Not from several threads at a time.
 */
NVW_CHECKED int nvw_folder_make(const char *what, bool in_memory, struct nvw_folder *ret_folder);

/* With all that is in it. Safe for one that was never made. A forked child's call removes nothing. */
void nvw_folder_remove(struct nvw_folder *folder);

/* A pool in a file that has no name any more when this returns: nothing can leave it behind. */
NVW_CHECKED int nvw__pool_create_unnamed(
	const char *what, const struct nvw_pool_params *params, struct nvw_pool **ret_pool);

/* All of this process; safe in a signal handler that does not return. */
void nvw__folders_remove_all(void);

#endif
