/* SPDX-License-Identifier: BSD-3-Clause */
/* Source files of the code that a report names. */
#ifndef CLI_SOURCE_LINES_H
#define CLI_SOURCE_LINES_H

#include <stdio.h>

/*
 * Opens a source file by the name that a report has for it ("workloads/kv/kernel.c"): where the debug information of the
 * code in this process says that it was compiled, workloads from elsewhere included; else as seen from the working
 * directory, and from where this program was built. NULL if it is nowhere: *ret_searched then says where it was looked
 * for (valid until the next call). The caller closes the file.
 */
FILE *cli_open_source(const char *file, const char **ret_searched);

#endif
