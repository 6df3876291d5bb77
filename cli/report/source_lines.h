/* SPDX-License-Identifier: BSD-3-Clause */
/* Source files of the code that a report names. */
#ifndef CLI_SOURCE_LINES_H
#define CLI_SOURCE_LINES_H

#include <stdio.h>

/*
 * Opens a source file by its name in a report ("workloads/kv/kernel.c"): where it was compiled according to
 * the debug information of code in this process, including external workloads; otherwise relative to the
 * working directory, or to the place where this program was built. NULL if it is not found: *ret_searched
 * then lists the searched places (valid until the next call). The caller closes the file.
 */
FILE *cli_open_source(const char *file, const char **ret_searched);

/* Its whole path, for other programs; the name itself if it is not found. Valid until the next call. */
const char *cli_source_path(const char *file);

#endif
