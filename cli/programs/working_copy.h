/* SPDX-License-Identifier: BSD-3-Clause */
/* The copy of an image that a program works on, and the command in which it stands for the image. */
#ifndef CLI_WORKING_COPY_H
#define CLI_WORKING_COPY_H

#include <stdbool.h>

#include <nvw/pool.h>

#include "core/folder.h"

enum { WORDS_MAX = 256 };

struct working_copy {
	struct nvw_folder folder;
	char path[640];   /* has the image's name, but for characters that a command would have to quote */
	char input[640];  /* the copy of an input of a corpus */
	bool names_input; /* the command does */
	bool is_folder;   /* the image is one, of several files */
	char *text;       /* the command, with the copy's path in it */
	char *words[WORDS_MAX + 1];
};

/* Copies the image, if it exists: the program may create it. Ends with working_copy_end(), also after an
 * error. */
NVW_CHECKED int working_copy_make(const char *image, struct working_copy *w);
/* The copy is again what the image is. */
NVW_CHECKED int working_copy_renew(const struct working_copy *w, const char *image);
void working_copy_end(struct working_copy *w);

/* The command's words, with the copy in place of the image, and of an input in place of @@; run by a shell
 * if it needs one. NVW_E_USAGE if the command does not name the image. */
NVW_CHECKED int working_copy_command(
	const char *command, const char *image, bool has_input, struct working_copy *w);

#endif
