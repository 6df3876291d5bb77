/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of files that may be large and sparse. */
#ifndef CORE_COPY_H
#define CORE_COPY_H

#include <nvw/pool.h>

/*
 * Copies a regular file to a new one, with its permissions; holes stay holes. -ENOENT if from does not exist,
 * NVW_E_INPUT if it is no regular file, NVW_E_SYSTEM otherwise, each with a message. After an error an
 * incomplete copy may be there.
 */
NVW_CHECKED int nvw_copy_file(const char *from, const char *to);

#endif
