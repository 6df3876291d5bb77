/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that a command writes are different files. See options.h. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/invariant.h"
#include "core/print.h"

#include "options.h"

static const enum cli_option_id outputs[] = {CLI_pool, CLI_log, CLI_timeline, CLI_series, CLI_memory_trace,
	CLI_dump_machine, CLI_patch, CLI_html, CLI_coverage, CLI_resume, CLI_save, CLI_record, CLI_report};

enum { OUTPUTS = NVW_COUNT(outputs) };

/* The folder of a path, without links; false if there is none. */
static bool folder_of(const char *path, char ret_folder[PATH_MAX])
{
	char folder[PATH_MAX];
	const char *const slash = strrchr(path, '/');

	if (!slash) {
		return realpath(".", ret_folder);
	}
	NVW_PRINT(folder, "%.*s", (int)(slash - path) + 1, path);
	return realpath(folder, ret_folder);
}

/* Whether two paths name one file, which need not be there yet. Devices and pipes take what is written. */
static bool are_same(const char *a, const char *b)
{
	struct stat of_a, of_b;
	char folder_a[PATH_MAX], folder_b[PATH_MAX];
	const bool has_a = stat(a, &of_a) == 0, has_b = stat(b, &of_b) == 0;

	if (has_a && has_b) {
		return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino &&
		       (S_ISREG(of_a.st_mode) || S_ISDIR(of_a.st_mode));
	}
	return !has_a && !has_b && !strcmp(basename(a), basename(b)) && folder_of(a, folder_a) &&
	       folder_of(b, folder_b) && !strcmp(folder_a, folder_b);
}

static bool is_twice(const struct cli_options *o, enum cli_option_id a, enum cli_option_id b)
{
	NVW_INVARIANT(a != b);
	return cli_given(o, a) && cli_given(o, b) && strcmp(cli_text(o, a), "-") != 0 &&
	       are_same(cli_text(o, a), cli_text(o, b));
}

bool cli_writes_twice(const struct cli_options *o, enum cli_option_id *ret_a, enum cli_option_id *ret_b)
{
	NVW_FOR(b, OUTPUTS) {
		NVW_FOR(a, b) {
			if (is_twice(o, outputs[a], outputs[b])) {
				*ret_a = outputs[a];
				*ret_b = outputs[b];
				return true;
			}
		}
	}
	return false;
}
