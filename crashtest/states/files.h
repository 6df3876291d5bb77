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

/* The bytes of a unit of metadata, which begins at a page, that are in use. */
unsigned ct_files_unit(const struct ct_medium *medium, nvw_off off);

/* A change of metadata has been stored: notes what it uncovers, and what has to be durable before it. */
NVW_CHECKED int ct_files_stored(struct ct_medium *medium, nvw_off off, uint64_t word);

/* A sync of the file whose size is there begins: notes for the thread's fence which names of it, and what
 * else, will be durable. */
NVW_CHECKED int ct_files_sync(struct ct_medium *medium, nvw_off size, uint64_t thread);

/* The levels that the cells of metadata have in a state of these levels: the highest up to their own so that
 * no size ends in bytes that are lost, and nothing is there without what it needs. NULL: their own. Valid
 * until the next call. No state is applied to the cells of content, whose image is the durable one. */
const unsigned *ct_files_settle(struct ct_medium *medium, const unsigned *levels);

/* Metadata has become durable: so is all that it needs. True: what was written to uncover a size that is
 * durable is not. */
bool ct_files_complete(struct ct_medium *medium);

/* Is a store to the cell that begins there durable for certain? */
bool ct_files_is_durable(const struct ct_medium *medium, nvw_off at, uint64_t write);
/* Is all of it durable that was written there before the size was made? levels NULL: for certain. */
bool ct_files_is_written(
	const struct ct_medium *medium, const struct ct_growth *growth, const unsigned *levels);

#endif
