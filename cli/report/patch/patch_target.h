/* SPDX-License-Identifier: BSD-3-Clause */
/* The statement at a line of a source, and what it stores to. */
#ifndef CLI_PATCH_TARGET_H
#define CLI_PATCH_TARGET_H

#include <stdint.h>

#include "patch_text.h"

struct patch_target {
	char address[TEXT_EXPRESSION], size[TEXT_EXPRESSION];
	bool in_line; /* a value of the machine, which lies within a line */
};

/*
 * Finds the statement at a line, from its first character to its semicolon. False if it shares its lines with
 * something else, or if nothing behind it is executed after it.
 */
bool patch_find_statement(const char *code, uint32_t line, struct text_span *ret);

/* Finds what the statement stores to; false if that cannot be read from it. */
bool patch_find_target(const char *code, struct text_span statement, struct patch_target *ret);

/* Does the text have a bit-field of this name? It would have no address. */
bool patch_is_bit_field(const char *code, const char *name);

#endif
