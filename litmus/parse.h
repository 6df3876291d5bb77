/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the parts of a test: what the file form and tables share. Each returns 0, or NVW_E_INPUT with file:line. */
#ifndef LITMUS_PARSE_H
#define LITMUS_PARSE_H

#include "litmus.h"

/* Where the reader is in a text that ends with 0. */
struct litmus_reader {
	const char *file, *at;
	unsigned line;
	struct litmus_test *test; /* that is being read */
};

void litmus_skip(struct litmus_reader *reader); /* white space and comments */
NVW_CHECKED int litmus_take_threads(struct litmus_reader *reader);
NVW_CHECKED int litmus_take_outcome(struct litmus_reader *reader);
NVW_CHECKED int litmus_take_init(struct litmus_reader *reader);
NVW_CHECKED int litmus_take_verdict(struct litmus_reader *reader);
/* Whether the test's model is a known one; the message names the nearest. */
NVW_CHECKED int litmus_check_model(const struct litmus_reader *reader);
/* What is missing of the test, or does not fit together; marks the variables that are in NVRAM. */
NVW_CHECKED int litmus_complete(struct litmus_reader *reader);

/* A zeroed test behind the last one of the list, not counted yet; NULL without memory. */
struct litmus_test *litmus_list_add(struct litmus_list *list);

#endif
