/* SPDX-License-Identifier: BSD-3-Clause */
/* What a statement of C or C++ stores to, as its source says: the text of an expression. */
#ifndef LIB_SOURCE_ACCESS_H
#define LIB_SOURCE_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

enum { NVW__ACCESS_TEXT = 160 };

enum nvw__access_kind {
	NVW__ACCESS_OBJECT, /* x in "x = v", "x++", "x += v" */
	NVW__ACCESS_COPIED, /* in "x = y" too, but the compiler places the store at y: x is a structure */
	NVW__ACCESS_ATOMIC, /* x in "x.store(v)" and, where a library's code stores, in "x = v" */
	NVW__ACCESS_POINTED /* p in "memcpy(p, from, n)": what it points to, and what is behind that */
};

struct nvw__access {
	enum nvw__access_kind kind;
	char text[NVW__ACCESS_TEXT]; /* without blanks that say nothing */
};

/* The source without comments, literals of text and lines of the preprocessor, in whose place are blanks. The
 * caller frees it; NULL: it cannot be read. */
char *nvw__source_read(const char *path);

/*
 * The store that compilers place at a line and a column, from 1: at the operator, or at the function's name.
 * False: no store is there that is known by its words.
 */
bool nvw__access_at(const char *source, int line, int column, struct nvw__access *ret_access);

#endif
