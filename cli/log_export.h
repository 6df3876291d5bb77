/* SPDX-License-Identifier: BSD-3-Clause */
/* A persist log of a host program in the text format of pmemcheck's store logs. */
#ifndef CLI_LOG_EXPORT_H
#define CLI_LOG_EXPORT_H

#include <stdbool.h>

#include <nvw/errors.h>

/*
 * Writes the log to standard output. Adjacent words that persist together (changes found by one event) are
 * one STORE; with words, each word is one. The registered file is the recorded one, unless file names
 * another. NVW_E_INPUT for the log of a kernel, or a path that the format cannot express.
 */
NVW_CHECKED int log_export(const char *path, const char *file, bool words);

#endif
