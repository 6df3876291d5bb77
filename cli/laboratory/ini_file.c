/* SPDX-License-Identifier: BSD-3-Clause */
/* See ini_file.h. */
#include "ini_file.h"
#include "core/invariant.h"

#include <stdlib.h>
#include <string.h>

#include <ini.h>

enum { FILE_BYTES_MAX = 1 << 20, LINE_BYTES_MAX = 198 };

struct reading {
	ini_key *on_key;
	void *context;
	int error;
};

/* The parser of INI files would cut a longer line in two. */
static int check_lines(const char *path, const char *text)
{
	unsigned line = 1;

	for (const char *at = text; *at; line++) {
		const size_t n = strcspn(at, "\n");

		NVW_FAIL_IF(n > LINE_BYTES_MAX, NVW_E_INPUT,
			"%s: line %u has more than %d bytes: continue it in the next line, indented", path,
			line, LINE_BYTES_MAX);
		at += n + (at[n] == '\n');
	}
	return 0;
}

static int on_line(void *context, const char *section, const char *name, const char *value)
{
	struct reading *const r = context;

	if (r->error == 0) {
		r->error = r->on_key(r->context, section, name, value);
	}
	return r->error == 0;
}

static int read_text(const char *path, const char *text, struct reading *reading)
{
	NVW_TRY(check_lines(path, text));
	const int line = ini_parse_string(text, on_line, reading);

	NVW_TRY(reading->error);
	NVW_FAIL_IF(line, NVW_E_INPUT, "%s: line %d is neither [section] nor NAME = VALUES", path, line);
	return 0;
}

int ini_file_read(const char *path, ini_key *on_key, void *context)
{
	NVW_INVARIANT(on_key);

	struct reading reading = {.on_key = on_key, .context = context};
	char *text = NULL;
	uint64_t bytes;
	int r;

	NVW_TRY(nvw_input_read(path, FILE_BYTES_MAX, &text, &bytes));
	if (strlen(text) != bytes) {
		r = nvw_fail(NVW_E_INPUT, "%s: this is not a text file", path);
	} else {
		r = read_text(path, text, &reading);
	}
	free(text);
	return r;
}
