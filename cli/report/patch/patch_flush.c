/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushes and fences in the program's own words. See patch_flush.h. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/each.h"
#include "core/invariant.h"

#include "patch_calls.h"
#include "patch_expression.h"
#include "patch_flush.h"
#include "patch_target.h"
#include "../words.h"

/* ---- Writing ------------------------------------------------------------------------------------- */

static const char *write_fence(const struct patch_reader *r, char *text, size_t bytes)
{
	const struct patch_call *const fence = patch_choose(r, PATCH_FENCE, false);

	if (!fence) {
		return "no function that fences was found in its source";
	}
	snprintf(text, bytes, "%s(%s);", fence->name, fence->before);
	return NULL;
}

/* Has the source a volatile object? "volatile(" is inline assembly. */
static bool has_volatile(const char *code)
{
	for (size_t at = 0; (at = text_find_word(code, at, "volatile")) != SIZE_MAX; at++) {
		if (code[text_skip_space(code, at + strlen("volatile"))] != '(') {
			return true;
		}
	}
	return false;
}

static const char *cast_of(const struct patch_reader *r, const struct patch_call *c)
{
	return c->cast[0] == '\0' && has_volatile(r->text[0].code) ? "(const void *)" : c->cast;
}

/* A cast binds more closely than "p + 8". */
static bool is_sum(const char *address)
{
	return address[0] != '&' && !text_is_object(address);
}

/* address: room for an expression and a cast. */
static void write_address(const char *cast, const struct patch_target *t, char *address, size_t bytes)
{
	const bool encloses = *cast != '\0' && is_sum(t->address);

	snprintf(address, bytes, encloses ? "%s(%s)" : "%s%s", cast, t->address);
}

static const char *write_range(
	const struct patch_reader *r, const struct patch_target *t, char *text, size_t bytes)
{
	char address[TEXT_EXPRESSION + 64];

	write_address(words_if(has_volatile(r->text[0].code), "(const void *)"), t, address, sizeof address);
	const int n = snprintf(text, bytes, "pmemobj_tx_add_range_direct(%s, %s);", address, t->size);

	return n < 0 || (size_t)n >= bytes ? "its statement is too long" : NULL;
}

static const char *write_flush(const struct patch_reader *r, const struct patch_target *t,
	enum patch_flush what, char *text, size_t bytes)
{
	const struct patch_call *const c = patch_choose(r, what, t->in_line);
	char address[TEXT_EXPRESSION + 64];

	NVW_INVARIANT(what != PATCH_RANGE && what != PATCH_FENCE);
	if (!c) {
		return "no function that flushes such a store was found in its source";
	}
	write_address(cast_of(r, c), t, address, sizeof address);
	const int n = snprintf(
		text, bytes, c->sized ? "%s(%s%s, %s);" : "%s(%s%s);", c->name, c->before, address, t->size);

	if (n < 0 || (size_t)n + 2 >= bytes) {
		return "its statement is too long";
	}
	if ((what & PATCH_FENCE) == 0 || c->fences) {
		return NULL;
	}
	text[n] = ' ';
	return write_fence(r, text + n + 1, bytes - (size_t)n - 1);
}

/* ---- The whole ----------------------------------------------------------------------------------- */

/* Behind the last line before the statement that is a closing brace: there its function begins. */
static size_t function_of(const char *code, size_t statement)
{
	size_t begin = 0;

	for (const char *at = code; (at = strstr(at, "\n}")) && at + 1 < code + statement; at += 2) {
		begin = (size_t)(at + 2 - code);
	}
	return begin;
}

static bool is_in_kernel(const struct patch_reader *r)
{
	const char *const code = r->text[0].code;
	const size_t end = r->statement.from;

	return text_find_word(code, r->function, "__global__") < end ||
	       text_find_word(code, r->function, "__device__") < end;
}

/* Does it store to a bit-field that the source or one of its headers defines? */
static bool is_bit_field(const struct patch_reader *r, const struct patch_target *t)
{
	const char *const name = t->address + text_word_before(t->address, strlen(t->address));

	if (t->address[0] != '&' || *name == '\0') {
		return false;
	}
	return NVW_ANY(text, r->text, r->texts, patch_is_bit_field(text->code, name));
}

static const char *read_and_write(struct patch_reader *r, const struct patch_lines *s, uint32_t line,
	enum patch_flush what, char *text, size_t bytes, uint32_t *ret_after)
{
	NVW_INVARIANT(r->texts > 0);

	const char *const code = r->text[0].code;
	struct patch_target target;

	if (!patch_find_statement(code, line, &r->statement)) {
		return "the statement at its line is not on a line of its own";
	}
	*ret_after = 1 + text_lines_between(code, 0, r->statement.to);
	r->function = function_of(code, r->statement.from);
	if (is_in_kernel(r)) {
		return "it is a kernel's line, where no processor's flush can stand";
	}
	patch_read_headers(r, s);
	if (what == PATCH_RANGE) {
		*ret_after = text_lines_between(code, 0, r->statement.from);
	} else {
		patch_find_calls(r);
	}
	if (what == PATCH_FENCE) {
		return write_fence(r, text, bytes);
	}
	if (!patch_find_target(code, r->statement, &target)) {
		return "its line is no plain store, and what to flush cannot be read from it (nvwave-cc "
		       "tells the lines of stores)";
	}
	if (is_bit_field(r, &target)) {
		return "it stores to a bit-field, which has no address";
	}
	if (what == PATCH_RANGE) {
		return write_range(r, &target, text, bytes);
	}
	return write_flush(r, &target, what, text, bytes);
}

const char *patch_flush_statement(const struct patch_lines *s, uint32_t line, enum patch_flush what,
	char *ret_text, size_t bytes, uint32_t *ret_after)
{
	struct patch_reader *const r = calloc(1, sizeof *r);
	const char *why = "there is no memory to read its source";

	NVW_INVARIANT(line >= 1 && line <= s->count);
	if (!r) {
		return why;
	}
	if (patch_read(r, s)) {
		why = read_and_write(r, s, line, what, ret_text, bytes, ret_after);
	}
	patch_reader_free(r);
	free(r);
	return why;
}
