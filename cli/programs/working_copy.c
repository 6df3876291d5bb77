/* SPDX-License-Identifier: BSD-3-Clause */
/* See working_copy.h. */
#include "working_copy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/copy.h"
#include "core/folder.h"
#include "core/print.h"
#include "../../host/folder.h"
#include "image_name.h"

/* ---- The copy ------------------------------------------------------------------------------------ */

/* The program may create the image. */
static int copy_image(const char *from, const char *to)
{
	if (nvw_is_folder(from)) {
		return host_folder_copy(from, to);
	}
	const int error = nvw_copy_file(from, to);

	if (error == -ENOENT) {
		return 0;
	}
	return error;
}

int working_copy_make(const char *image, struct working_copy *w)
{
	const char *const name = basename(image);

	NVW_FAIL_IF(*name == '\0', NVW_E_USAGE, "--image: expected a file, found \"%s\"", image);
	NVW_TRY(nvw_folder_make("pool", true, &w->folder));
	const int n = NVW_PRINT(w->path, "%s/", w->folder.path);

	NVW_PRINT(w->input, "%s/.input", w->folder.path);

	snprintf(w->path + n, sizeof w->path - (size_t)n, "%.255s", name);
	for (char *c = w->path + n; *c != '\0'; c++) {
		if (strchr(" \t\n|&;<>()$`\\\"'*?[]#~%!{}", *c)) {
			*c = '_';
		}
	}
	w->is_folder = nvw_is_folder(image);
	return copy_image(image, w->path);
}

void working_copy_end(struct working_copy *w)
{
	nvw_folder_remove(&w->folder);
	free(w->text);
}

int working_copy_renew(const struct working_copy *w, const char *image)
{
	if (w->is_folder) {
		host_folder_remove(w->path);
	} else {
		unlink(w->path);
	}
	return copy_image(image, w->path);
}

/* ---- The command --------------------------------------------------------------------------------- */

/* The command with the copy instead of the image. */
static int name_copy(const char *command, const char *image, bool has_input, struct working_copy *w)
{
	size_t bytes;
	FILE *const f = open_memstream(&w->text, &bytes);
	unsigned named = 0;

	for (size_t at = 0; f && command[at] != '\0';) {
		const size_t length = cli_names_image(command, at, image);

		if (length > 0) {
			named++;
			fputs(w->path, f);
			at += length;
		} else if (has_input && strncmp(command + at, "@@", 2) == 0) {
			w->names_input = true;
			fputs(w->input, f);
			at += 2;
		} else {
			fputc(command[at++], f);
		}
	}
	NVW_FAIL_IF(!f || fclose(f), NVW_E_MEMORY, "no memory for a command");
	NVW_FAIL_IF(named == 0, NVW_E_USAGE,
		"--exec: expected %s, or {}, in \"%s\": the program must work on a copy of the image", image,
		command);
	return 0;
}

int working_copy_command(const char *command, const char *image, bool has_input, struct working_copy *w)
{
	static char shell[] = "/bin/sh", option[] = "-c"; /* not const, as argv is not */
	unsigned n = 0;

	NVW_TRY(name_copy(command, image, has_input, w));
	if (strpbrk(w->text, "|&;<>()$`\\\"'*?[]#~%!\n")) {
		w->words[0] = shell;
		w->words[1] = option;
		w->words[2] = w->text;
		return 0;
	}
	for (char *rest = w->text, *word; (word = strtok_r(rest, " \t", &rest));) {
		NVW_FAIL_IF(n == WORDS_MAX, NVW_E_USAGE, "--exec: more than %d words", WORDS_MAX);
		w->words[n++] = word;
	}
	return 0;
}
