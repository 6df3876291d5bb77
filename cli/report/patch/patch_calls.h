/* SPDX-License-Identifier: BSD-3-Clause */
/* A source with its own headers, and the functions that flush and fence in it. */
#ifndef CLI_PATCH_CALLS_H
#define CLI_PATCH_CALLS_H

#include "patch_flush.h"
#include "patch_text.h"

enum { PATCH_CALLS_MAX = 32, PATCH_HEADERS_MAX = 16 };

/* A function that flushes, or only fences. */
struct patch_call {
	char name[64], before[80]; /* before: arguments before the address */
	char cast[48];
	bool flushes, fences, sized; /* not sized: of one line */
	unsigned far;                /* lines to the nearest call of it, or of one of its library */
};

struct patch_reader {
	struct text text[1 + PATCH_HEADERS_MAX]; /* the source, and the headers that stand beside it */
	unsigned texts;
	struct text_span statement;
	size_t function; /* where the function of the statement begins */
	struct patch_call call[PATCH_CALLS_MAX];
	unsigned calls;
};

/* Reads the source, and its headers, as far as they are found. False: there is no memory for the source. */
bool patch_read(struct patch_reader *r, const struct patch_lines *source);
void patch_read_headers(struct patch_reader *r, const struct patch_lines *source);
void patch_reader_free(struct patch_reader *r);

/* Finds the calls: libpmem's, libpmemobj's, single instructions, functions of the source and its headers. */
void patch_find_calls(struct patch_reader *r);

/*
 * The nearest one that fits; of those that are equally near, one that does just what is asked for; NULL:
 * there is none. in_line: what is flushed lies within a line.
 */
const struct patch_call *patch_choose(const struct patch_reader *r, enum patch_flush what, bool in_line);

#endif
