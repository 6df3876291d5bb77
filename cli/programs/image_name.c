/* SPDX-License-Identifier: BSD-3-Clause */
/* The image's name in the commands of a user. See image_name.h. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "image_name.h"
#include "core/invariant.h"

/* Also by another spelling of its path, or a link. */
static bool is_file(const char *word, size_t n, const char *image)
{
	char path[4096];
	struct stat a, b;

	if (n == 0 || n >= sizeof path) {
		return false;
	}
	memcpy(path, word, n);
	path[n] = '\0';
	return stat(path, &a) == 0 && stat(image, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

size_t cli_names_image(const char *command, size_t at, const char *image)
{
	NVW_INVARIANT(command[at] != '\0');

	static const char before[] = " \t\n='\":,;&|()<>", after[] = " \t\n'\":,;&|()<>";
	const size_t n = strlen(image), word = strcspn(command + at, after);

	if (strncmp(command + at, "{}", 2) == 0) {
		return 2;
	}
	if (at > 0 && !strchr(before, command[at - 1])) {
		return 0;
	}
	if (strncmp(command + at, image, n) == 0 &&
		(command[at + n] == '\0' || strchr(after, command[at + n]))) {
		return n;
	}
	if (is_file(command + at, word, image)) {
		return word;
	}
	return 0;
}

int cli_image_as_braces(const char *command, const char *image, const char *option, char **ret_command)
{
	size_t bytes;
	unsigned braces = 0, named = 0;
	FILE *const f = open_memstream(ret_command, &bytes);

	for (size_t at = 0; f && command[at] != '\0';) {
		const size_t length = cli_names_image(command, at, image);

		if (length == 0) {
			fputc(command[at++], f);
			continue;
		}
		braces += command[at] == '{';
		named += command[at] != '{';
		fputs("{}", f);
		at += length;
	}
	NVW_FAIL_IF(!f || fclose(f), NVW_E_MEMORY, "no memory for a command");
	NVW_FAIL_IF(braces > 0 && named > 0, NVW_E_USAGE,
		"%s: expected {} or %s, found both in \"%s\": both stand for the file that is "
		"judged; if the command needs the image as it was, give it a copy",
		option, image, command);
	return 0;
}
