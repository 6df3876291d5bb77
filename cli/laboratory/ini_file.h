/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of [section] and NAME = VALUE. */
#ifndef CLI_INI_FILE_H
#define CLI_INI_FILE_H

#include <nvw/input.h>

/* Called per key, in the file's order; an indented line is another call with the same name. 0, or an error
 * that ends the reading. */
typedef int ini_key(void *context, const char *section, const char *name, const char *value);

/* NVW_E_INPUT, with the file's name and line, for what is no such file, also for lines above 198 bytes. */
NVW_INPUT_CHECKED int ini_file_read(const char *path, ini_key *on_key, void *context);

#endif
