/* SPDX-License-Identifier: BSD-3-Clause */
/* A text that is written as a file is. */
#ifndef CORE_TEXT_STREAM_H
#define CORE_TEXT_STREAM_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct text_stream {
	FILE *to;
	char *text; /* what was written, at the end */
	size_t bytes;
};

/* False without memory: then there is nothing to end. */
static inline bool text_begin(struct text_stream *t)
{
	t->text = NULL;
	t->to = open_memstream(&t->text, &t->bytes);
	return t->to;
}

/* The text, which the caller frees; NULL without memory. */
static inline char *text_end(struct text_stream *t)
{
	if (fclose(t->to)) {
		free(t->text);
		t->text = NULL;
	}
	return t->text;
}

#endif
