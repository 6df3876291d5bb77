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
 * That of a line, from its first character to its semicolon. False unless it shares its lines with nothing
 * else, and something behind it is executed after it.
 */
bool patch_find_statement(const char *code, uint32_t line, struct text_span *ret);

/* What the statement stores to, if that can be read from it. */
bool patch_find_target(const char *code, struct text_span statement, struct patch_target *ret);

/* A member of this name is a bit-field in the text: it has no address. */
bool patch_is_bit_field(const char *code, const char *name);

#endif
