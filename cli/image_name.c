/* SPDX-License-Identifier: BSD-3-Clause */
/* The image's name in the commands of a user. See image_name.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image_name.h"

size_t cli_names_image(const char *command, size_t at, const char *image)
{
	static const char before[] = " \t='\":,", after[] = " \t'\":,;&|)";
	const size_t n = strlen(image);

	if (strncmp(command + at, "{}", 2) == 0) {
		return 2;
	}
	return strncmp(command + at, image, n) == 0 && (at == 0 || strchr(before, command[at - 1])) &&
			       (command[at + n] == '\0' || strchr(after, command[at + n])) ?
		       n :
		       0;
}

char *cli_image_as_braces(const char *command, const char *image)
{
	char *text = NULL;
	size_t bytes, length;
	FILE *const f = open_memstream(&text, &bytes);

	for (size_t at = 0; f != NULL && command[at] != '\0'; at += length) {
		const size_t image_length = cli_names_image(command, at, image);

		length = image_length ? image_length : 1;
		fprintf(f, "%.*s", image_length ? 2 : 1, image_length ? "{}" : command + at);
	}
	if (f == NULL || fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}
