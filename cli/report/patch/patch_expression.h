/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions of C that a patch may write once more, read as text without comments and literals. */
#ifndef CLI_PATCH_EXPRESSION_H
#define CLI_PATCH_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "patch_text.h"

/* Is it a function or an operator without an effect? */
bool text_is_pure(const char *name, size_t n);

/* May be evaluated once more: no assignment, no call of what may have an effect, no second statement. */
bool text_is_harmless(const char *text, struct text_span in);

/* Behind a name, also of a namespace: "std::memcpy"; at itself if none is there. */
size_t text_behind_name(const char *text, size_t at);

/*
 * Behind what can be stored to: "p->a[i].b", "*p", "(*p)->a", "*(uint64_t *)p", "D_RW(p)->a"; at itself if
 * nothing like it is there. *ret_member: the last "." or "->"; 0: none.
 */
size_t text_behind_object(const char *text, size_t at, size_t *ret_member);

/* Is the whole text such an object? */
bool text_is_object(const char *text);

#endif
