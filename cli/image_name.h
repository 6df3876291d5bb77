/* SPDX-License-Identifier: BSD-3-Clause */
/* The image's name in the commands of a user, which the name of another file is to replace. */
#ifndef CLI_IMAGE_NAME_H
#define CLI_IMAGE_NAME_H

#include <stddef.h>

/* How many characters at an offset of the command name the image: its path as a word, or after '=' or ':'; or {}. */
size_t cli_names_image(const char *command, size_t at, const char *image);

/* The command with {} in place of the image; to be freed. NULL without memory. */
char *cli_image_as_braces(const char *command, const char *image);

#endif
