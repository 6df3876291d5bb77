/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsing the parts of a test, for files and tables. Each function returns 0, or NVW_E_INPUT with
 * file:line. */
#ifndef LITMUS_PARSE_H
#define LITMUS_PARSE_H

#include "litmus.h"

/* The parser's position in a 0-terminated text. */
struct litmus_reader {
	const char *file, *at;
	unsigned line;
	struct litmus_test *test; /* being parsed */
};

void litmus_skip(struct litmus_reader *reader); /* skips white space and comments */
NVW_CHECKED int litmus_take_threads(struct litmus_reader *reader);
NVW_CHECKED int litmus_take_outcome(struct litmus_reader *reader);
NVW_CHECKED int litmus_take_init(struct litmus_reader *reader);
NVW_CHECKED int litmus_take_verdict(struct litmus_reader *reader);
/* Checks that the test's model is known; the message names the nearest. */
NVW_CHECKED int litmus_check_model(const struct litmus_reader *reader);
/* Checks for missing or inconsistent parts of the test; marks the variables that are in NVRAM. */
NVW_CHECKED int litmus_complete(struct litmus_reader *reader);

/* Adds a zeroed test after the last one of the list, not counted yet; NULL without memory. */
struct litmus_test *litmus_list_add(struct litmus_list *list);

#endif
