/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of a C source, as far as a patch reads it: words, brackets and arguments. Offsets count from its
 * first character. */
#ifndef CLI_PATCH_TEXT_H
#define CLI_PATCH_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "../words.h"

enum { TEXT_EXPRESSION = 200, TEXT_ARGUMENTS = 4 };

/* A source as it is, and with spaces for comments and literals. Both have the same offsets. */
struct text {
	char *whole, *code;
	size_t bytes;
};

/* A part of a text: it begins at from, and to is the offset behind its last character. */
struct text_span {
	size_t from, to;
};

/*
 * The arguments of a call; if there are too many, the last one has the rest. behind is the closing bracket.
 */
struct text_arguments {
	struct text_span span[TEXT_ARGUMENTS];
	unsigned count;
	size_t behind;
};

/* Takes the whole, which the C library has allocated; NULL, or no memory: false. */
bool text_make(char *whole, size_t bytes, struct text *ret);
void text_free(struct text *t);

bool text_is_word(char c);
size_t text_skip_space(const char *text, size_t at);

/* Behind the word that begins at an offset, and where the word begins that ends before an offset. */
size_t text_behind_word(const char *text, size_t at);
size_t text_word_before(const char *text, size_t at);

/* The next place of a word from an offset on; SIZE_MAX: there is none. */
size_t text_find_word(const char *text, size_t from, const char *word);

/* Does a text have one of the parts in a list that ends with NULL? */
bool text_has_any(const char *text, struct text_span in, const char *const *parts);

/* Behind the bracket that closes the one at this offset; 0: none does. */
size_t text_behind_bracket(const char *text, size_t at);

/* Those between the brackets of a call; count is 0 if its bracket is not closed. */
struct text_arguments text_arguments(const char *text, size_t open);

/* Ends of lines between two offsets, in either order. */
unsigned text_lines_between(const char *text, size_t a, size_t b);

/* A copy without the spaces around it; false if it is empty, too long, or of several lines. */
bool text_copy(char ret[TEXT_EXPRESSION], const char *text, struct text_span from);

#endif
