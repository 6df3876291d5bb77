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
	struct litmus_thread *thread;
};

void litmus_skip(struct litmus_reader *reader); /* skips white space and comments */
/* NVW_E_INPUT at the reader's place: the function returns it. The text is a literal. */
#define LITMUS_FAIL(reader, text, ...) \
	nvw_fail(NVW_E_INPUT, "%s:%u: " text, (reader)->file, (reader)->line, ##__VA_ARGS__)
#define LITMUS_FAIL_IF(reader, condition, ...)                   \
	do {                                                     \
		if (condition) {                                 \
			return LITMUS_FAIL(reader, __VA_ARGS__); \
		}                                                \
	} while (0)

NVW_CHECKED int litmus_take_threads(struct litmus_reader *reader);
NVW_CHECKED int litmus_take_outcome(struct litmus_reader *reader);
NVW_CHECKED int litmus_take_init(struct litmus_reader *reader);
NVW_CHECKED int litmus_take_verdict(struct litmus_reader *reader);
/* Checks that the test's model is known; the message names the nearest. */
NVW_CHECKED int litmus_check_model(const struct litmus_reader *reader);
/* Checks for missing or inconsistent parts of the test; marks the variables that are in NVRAM. */
NVW_CHECKED int litmus_complete(struct litmus_reader *reader);

/* Adds an empty test of this file after the last one of the list, not counted yet. */
NVW_CHECKED int litmus_list_add(struct litmus_list *list, const char *file, struct litmus_test **ret);

#endif
