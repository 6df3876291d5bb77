/* SPDX-License-Identifier: BSD-3-Clause */
/* A persist log of a program on the host, in the text format of pmemcheck's store logs. */
#ifndef CLI_LOG_EXPORT_H
#define CLI_LOG_EXPORT_H

#include <stdbool.h>

#include <nvw/errors.h>

/*
 * Writes the log to standard output. What persists together (words in a row that one event was found to have changed)
 * is one STORE; with words each word is one. The file that is registered is the one that was recorded, unless file names
 * another. NVW_E_INPUT for the log of a kernel, or a path that the format cannot have.
 */
NVW_CHECKED int log_export(const char *path, const char *file, bool words);

#endif
