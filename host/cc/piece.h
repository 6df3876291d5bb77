/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A piece of an assembler's text, which stays where it is: no piece ends with a 0, and none is freed. Case
 * does not matter to comparisons, as it does not to mnemonics, registers and keywords.
 */
#ifndef HOST_CC_PIECE_H
#define HOST_CC_PIECE_H

#include <stdbool.h>
#include <stddef.h>

struct piece {
	const char *at;
	size_t n;
};

/* Without white space at both ends. */
struct piece piece_trim(struct piece p);
/* What follows the first n characters, trimmed. */
struct piece piece_rest(struct piece p, size_t n);
bool piece_begins(struct piece p, const char *with);
bool piece_is(struct piece p, const char *text);
/* The same, of any of the texts; NULL follows the last. */
bool piece_begins_any(struct piece p, const char *const *texts);
bool piece_is_any(struct piece p, const char *const *texts);
/* The first place of a text; NULL: there is none. */
const char *piece_find(struct piece p, const char *text);
/* What stands before that, or behind it, trimmed; the whole piece where there is none. */
struct piece piece_before(struct piece p, const char *text);
struct piece piece_behind(struct piece p, const char *text);
/* Characters of the word at the beginning: a mnemonic, a directive, a label without its colon. */
size_t piece_word(struct piece p);

#endif
