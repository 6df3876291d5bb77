/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements, and the objects that they store to. See patch_target.h. */
#include <stdint.h>
#include <string.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/print.h"

#include "patch_expression.h"
#include "patch_target.h"

/* ---- The statement ------------------------------------------------------------------------------- */

static bool ends_another(const char *code, size_t at)
{
	return strchr(";{}", code[at]) != NULL ||
	       (code[at] == ':' && code[at + 1] != ':' && (at == 0 || code[at - 1] != ':'));
}

static size_t begin_of_line(const char *code, uint32_t line)
{
	size_t at = 0;

	for (; line > 1 && code[at] != '\0'; at++) {
		line -= code[at] == '\n';
	}
	return at;
}

static size_t begin_of_statement(const char *code, size_t at)
{
	while (at > 0 && !ends_another(code, at - 1)) {
		at--;
	}
	return text_skip_space(code, at);
}

/* The next end of a statement or block that is in no bracket. */
static size_t end_of_statement(const char *code, size_t at)
{
	while (code[at] && !strchr(";{}#", code[at])) {
		const size_t behind = strchr("([", code[at]) ? text_behind_bracket(code, at) : 0;

		at = NVW_OR(behind, at + 1);
	}
	return at;
}

/* With nothing but blanks before it on its line. */
static bool begins_line(const char *code, size_t at)
{
	while (at > 0 && strchr(" \t", code[at - 1])) {
		at--;
	}
	return at == 0 || code[at - 1] == '\n';
}

static bool ends_line(const char *code, size_t at)
{
	return code[at + strspn(code + at, " \t")] == '\n';
}

/* What begins so does not go on behind itself, or is a part of something. */
static bool begins_with_keyword(const char *text, size_t at)
{
	static const char *const words[] = {"return", "break", "continue", "goto", "if", "else", "for",
		"while", "do", "switch", "case", "default", "throw", "co_return", NULL};

	return text_is_one_of(text + at, text_behind_name(text, at) - at, words);
}

bool patch_find_statement(const char *code, uint32_t line, struct text_span *ret)
{
	NVW_INVARIANT(line >= 1);

	const size_t at = text_skip_space(code, begin_of_line(code, line));

	ret->from = begin_of_statement(code, at);
	ret->to = end_of_statement(code, ret->from);
	return begins_line(code, ret->from) && code[ret->to] == ';' && ends_line(code, ret->to + 1) &&
	       !begins_with_keyword(code, ret->from);
}

/* ---- What it stores to --------------------------------------------------------------------------- */

/* Takes an object's address, and its size. */
static bool take_object(const char *text, size_t from, size_t to, struct patch_target *ret)
{
	char object[TEXT_EXPRESSION];

	if (!text_copy(object, text, (struct text_span){from, to})) {
		return false;
	}
	if (object[0] == '*') {
		NVW_PRINT(ret->address, "%s", object + 1 + strspn(object + 1, " \t"));
	} else {
		NVW_PRINT(ret->address, "&%.190s", object);
	}
	NVW_PRINT(ret->size, "sizeof %.190s", object);
	ret->in_line = true;
	return true;
}

/* Takes what a pointer points to: "&x" or "p". */
static bool take_pointed(const char *text, struct text_span pointer, struct patch_target *ret)
{
	NVW_INVARIANT(pointer.from <= pointer.to);

	const size_t from = text_skip_space(text, pointer.from);
	size_t member;

	if (text[from] == '&') {
		const size_t object = text_skip_space(text, from + 1);
		const size_t behind = text_behind_object(text, object, &member);

		return text_skip_space(text, behind) == text_skip_space(text, pointer.to) &&
		       take_object(text, object, pointer.to, ret);
	}
	if (!text_copy(ret->address, text, pointer) || !text_is_object(ret->address)) {
		return false;
	}
	NVW_PRINT(ret->size, "sizeof *%.180s", ret->address);
	ret->in_line = true;
	return true;
}

enum { SIZE_OF_POINTED = 0, SIZE_OF_TEXT = -1 };

static const struct stores {
	const char *name;
	int size; /* the argument with the size, or that of what the first one points to, or of its text */
} functions[] = {
	{"memcpy", 2},
	{"memmove", 2},
	{"memset", 2},
	{"strncpy", 2},
	{"strcpy", SIZE_OF_TEXT},
	{"strcat", SIZE_OF_TEXT},
	{"sprintf", SIZE_OF_TEXT},
	{"snprintf", 1},
	{"atomic_store", SIZE_OF_POINTED},
	{"atomic_store_explicit", SIZE_OF_POINTED},
	{"atomic_fetch_add", SIZE_OF_POINTED},
	{"atomic_fetch_add_explicit", SIZE_OF_POINTED},
	{"atomic_fetch_sub", SIZE_OF_POINTED},
	{"atomic_fetch_or", SIZE_OF_POINTED},
	{"atomic_exchange", SIZE_OF_POINTED},
	{"__atomic_store_n", SIZE_OF_POINTED},
	{"__atomic_fetch_add", SIZE_OF_POINTED},
	{"__atomic_add_fetch", SIZE_OF_POINTED},
	{"__sync_fetch_and_add", SIZE_OF_POINTED},
	{"__sync_add_and_fetch", SIZE_OF_POINTED},
};

static const struct stores *find_function(const char *text, size_t at, size_t end)
{
	if (strncmp(text + at, "std::", 5) == 0) {
		at += 5;
	}
	return NVW_FIND(
		function, functions, NVW_COUNT(functions), text_is(text + at, end - at, function->name));
}

static bool take_argument(const char *text, struct text_span argument, char ret[TEXT_EXPRESSION])
{
	return text_is_harmless(text, argument) && text_copy(ret, text, argument);
}

/* What a call of a known function stores to. */
static bool take_call(const char *text, size_t at, size_t open, struct patch_target *ret)
{
	const struct text_arguments a = text_arguments(text, open);
	const struct stores *const f = find_function(text, at, open);

	if (!f || a.count == 0 || text[text_skip_space(text, a.behind)] != ';') {
		return false;
	}
	if (f->size == SIZE_OF_POINTED) {
		return take_pointed(text, a.span[0], ret);
	}
	if (a.count < 2 || !take_argument(text, a.span[0], ret->address)) {
		return false;
	}
	if (f->size == SIZE_OF_TEXT) {
		NVW_PRINT(ret->size, "strlen(%.180s) + 1", ret->address);
		return true;
	}
	return f->size < (int)a.count && take_argument(text, a.span[f->size], ret->size);
}

/* "x.store(v)", "x->fetch_add(v)": std::atomic. */
static bool take_method(const char *text, size_t begin, size_t member, size_t open, struct patch_target *ret)
{
	NVW_INVARIANT(begin < member && member < open);

	static const char *const names[] = {
		"store", "exchange", "fetch_add", "fetch_sub", "fetch_or", "fetch_and", NULL};
	const bool arrow = text[member] == '-';
	const size_t name = text_skip_space(text, member + 1 + arrow);
	const size_t behind = text_behind_bracket(text, open);

	if (!text_is_one_of(text + name, open - name, names) || behind == 0 ||
		text[text_skip_space(text, behind)] != ';') {
		return false;
	}
	if (arrow) {
		return take_pointed(text, (struct text_span){begin, member}, ret);
	}
	return take_object(text, begin, member, ret);
}

/* The right side: one value, whose computation changes nothing that the left side depends on. */
static bool is_one_value(const char *text, size_t at, size_t end)
{
	int depth = 0;

	NVW_INVARIANT(at >= 2);
	for (; at < end; at++) {
		const char before = text[at - 1], c = text[at], next = text[at + 1];
		const bool doubled = c == next, compares = strchr("=!<>", before) != NULL;

		depth += c == '(' || c == '[';
		depth -= c == ')' || c == ']';
		if (c == '{' || (c == ',' && depth == 0) || (strchr("+-", c) && doubled)) {
			return false;
		}
		if (c == '=' && !doubled && (!compares || (before != '=' && text[at - 2] == before))) {
			return false;
		}
	}
	return true;
}

/* Behind an assignment's operator; 0: there is none. */
static size_t behind_operator(const char *text, size_t at)
{
	static const char *const operators[] = {
		"<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "=", NULL};

	for (unsigned i = 0; operators[i]; i++) {
		const size_t n = strlen(operators[i]);

		if (strncmp(text + at, operators[i], n) == 0 && text[at + n] != '=') {
			return at + n;
		}
	}
	return 0;
}

static bool is_step(const char *text, size_t at)
{
	return strncmp(text + at, "++", 2) == 0 || strncmp(text + at, "--", 2) == 0;
}

/* "++x;" or "x++;", where nothing is behind the object but perhaps the step. */
static bool is_stepped(const char *text, bool before, size_t behind)
{
	if (!before && is_step(text, behind)) {
		behind = text_skip_space(text, behind + 2);
		before = true;
	}
	return before && text[behind] == ';';
}

/* "x = value;", whose value begins at an offset. */
static bool take_assignment(
	const char *text, struct text_span object, size_t value, size_t end, struct patch_target *ret)
{
	NVW_INVARIANT(value <= end);
	if (!is_one_value(text, value, end) || !take_object(text, object.from, object.to, ret)) {
		return false;
	}
	ret->in_line = text[text_skip_space(text, value)] != '*'; /* which may be a whole structure */
	return true;
}

bool patch_find_target(const char *text, struct text_span statement, struct patch_target *ret)
{
	const bool steps = is_step(text, statement.from);
	const size_t first = steps ? text_skip_space(text, statement.from + 2) : statement.from;
	const size_t name = text_behind_name(text, first);
	size_t member;

	NVW_INVARIANT(statement.from <= statement.to);
	*ret = (struct patch_target){0};
	if (name > first && text[name] == '(' && !text_is_pure(text + first, name - first)) {
		return take_call(text, first, name, ret);
	}
	const struct text_span object = {first, text_behind_object(text, first, &member)};
	const size_t at = text_skip_space(text, object.to), value = behind_operator(text, at);

	if (object.to == first) {
		return false;
	}
	if (text[at] == '(' && member > 0) {
		return take_method(text, first, member, at, ret);
	}
	if (value > 0) {
		return take_assignment(text, object, value, statement.to, ret);
	}
	return is_stepped(text, steps, at) && take_object(text, first, object.to, ret);
}

/* ---- Bit-fields ---------------------------------------------------------------------------------- */

/* Behind a type, as in "unsigned valid : 1;", and not as in "p ? p->valid : 1;". */
static bool follows_word(const char *text, size_t at)
{
	while (at > 0 && strchr(" \t", text[at - 1])) {
		at--;
	}
	return at > 0 && text_is_word(text[at - 1]);
}

bool patch_is_bit_field(const char *code, const char *name)
{
	for (size_t at = 0; (at = text_find_word(code, at, name)) != SIZE_MAX; at++) {
		const size_t colon = text_skip_space(code, at + strlen(name));

		if (code[colon] != ':' || !follows_word(code, at)) {
			continue;
		}
		const size_t width = text_skip_space(code, colon + 1), end = text_behind_word(code, width);

		if (end > width && strchr(";,", code[text_skip_space(code, end)])) {
			return true;
		}
	}
	return false;
}
