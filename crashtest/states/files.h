/* SPDX-License-Identifier: BSD-3-Clause */
/* The model "files" (models/files.c): sizes of files in crash states. */
#ifndef CRASHTEST_FILES_H
#define CRASHTEST_FILES_H

#include "medium.h"

/* The description of the medium's image. */
const struct nvw__disk *ct_files_disk(const struct ct_medium *medium);

/* The model is "files", and the image is none, or the other way round: an error. Else sets where metadata
 * begins. */
NVW_CHECKED int ct_files_begin(struct ct_medium *medium);

/* The level that a cell of metadata has in a state of these levels: the last up to its own whose size does not
 * end in bytes that are lost. No state is applied to the cells of content yet, whose image is the durable one. */
unsigned ct_files_level(const struct ct_medium *medium, const struct ct_cell *cell, const unsigned *levels);

/* Forgets the growth of files whose sizes are durable. True: of one of them, what was written to
 * uncover it is not. */
bool ct_files_forget(struct ct_medium *medium);

#endif
