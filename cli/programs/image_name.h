/* SPDX-License-Identifier: BSD-3-Clause */
/* The image's name in the commands of a user, which the name of another file is to replace. */
#ifndef CLI_IMAGE_NAME_H
#define CLI_IMAGE_NAME_H

#include <stddef.h>

#include <nvw/pool.h>

/* How many characters at an offset of the command name the image: a path of it as a word, or a part of one
 * after '=' or ':'; or {}. */
size_t cli_names_image(const char *command, size_t at, const char *image);

/* The command with {} in place of the image; to be freed, also after an error. NVW_E_USAGE if it has both: it
 * may need the image as it was. */
NVW_CHECKED int cli_image_as_braces(
	const char *command, const char *image, const char *option, char **ret_command);

#endif
