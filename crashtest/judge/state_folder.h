/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The folder of this process that a command judges, where the image is a folder (core/disk_image.h). Before
 * each run it gets the names and the contents of the state, whatever the run before did to it: a file that is
 * there is compared, and written where it differs.
 */
#ifndef CRASHTEST_STATE_FOLDER_H
#define CRASHTEST_STATE_FOLDER_H

#include "core/disk_image.h"
#include "core/folder.h"

#include "../states/image.h"

/* Zero-initialise. */
struct ct_state_folder {
	char path[NVW__FOLDER_PATH + 32];
};

/* Makes it below a folder. Errors: no space, no memory. */
NVW_CHECKED int ct_state_folder_fill(struct ct_state_folder *state, const char *folder,
	const struct ct_image *image, const struct nvw__disk *disk);

#endif
