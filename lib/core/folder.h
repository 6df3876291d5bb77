/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Temporary folders in $TMPDIR. They may hold copies of large files, so every folder is removed, also that of
 * a killed run. The name identifies the owner: nvwave-WHAT-PID-START-XXXXXX, where START is the time at which
 * the process began; a lock in the folder is held as long as the owner lives. The first folder of a process
 * removes the folders of dead owners. And what any folder has, and where this program is.
 */
#ifndef CORE_FOLDER_H
#define CORE_FOLDER_H

#include <dirent.h>
#include <stdbool.h>
#include <sys/types.h>

#include <nvw/pool.h>

enum { NVW__FOLDER_PATH = 256 };

struct nvw_folder {
	char path[NVW__FOLDER_PATH]; /* absolute; "": none */
	int lock;
};

/*
 * Makes a folder. Without $TMPDIR it is in /dev/shm (in_memory) or /tmp. NVW_E_USAGE or NVW_E_SYSTEM, with a
 * message, if that fails. Must not be called from several threads at a time.
 */
NVW_CHECKED int nvw_folder_make(const char *what, bool in_memory, struct nvw_folder *ret_folder);

/* Creates a file in the folder, of so many bytes: its descriptor, or -1 with errno. */
int nvw_folder_create(const struct nvw_folder *folder, const char *name, off_t bytes);

/* Removes the folder with its content. Has no effect on a folder that was never made, or in a forked
 * child. */
void nvw_folder_remove(struct nvw_folder *folder);

/* Fails for what errno says. If that is a lack of room, the message has the bytes that are needed there, and
 * what to do. */
NVW_CHECKED int nvw_folder_fail(const char *path, uint64_t bytes);

bool nvw_is_folder(const char *path);

/* Calls each() with the names of the folder's entries that fit (NULL: all), in their order, until it returns
 * an error; returns that, or why the folder cannot be read. */
int nvw_each_entry(const char *folder, int (*fits)(const struct dirent *entry),
	int (*each)(void *context, const char *name), void *context);

/* The file of this program, and the folder that has it; "" if they cannot be read. */
void nvw_own_path(char *ret_path, size_t n);
void nvw_own_folder(char *ret_folder, size_t n);

/* Creates the pools of a run in files that no longer have names when this returns, so nothing can leave them
 * behind. */
NVW_CHECKED int nvw__pool_create_unnamed(
	const char *what, const struct nvw_pool_params *params, unsigned count, struct nvw_pool **ret_first);

/* Removes all folders of this process; safe in a signal handler that does not return. */
void nvw__folders_remove_all(void);

#endif
