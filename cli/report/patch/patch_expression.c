/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects, names and effects of expressions. See patch_expression.h. */
#include <ctype.h>
#include <string.h>

#include "patch_expression.h"
#include "core/invariant.h"

bool text_is_pure(const char *name, size_t n)
{
	static const char *const names[] = {
		"sizeof", "strlen", "offsetof", "D_RW", "D_RO", "pmemobj_direct", NULL};

	return text_is_one_of(name, n, names);
}

/* Is the '=' that of a comparison, and not of "=", "+=" or "<<="? */
static bool compares(const char *text, size_t at, struct text_span in)
{
	const char before = at > in.from ? text[at - 1] : ' ';

	if (strchr("<>", before)) {
		return at < in.from + 2 || text[at - 2] != before;
	}
	return strchr("=!", before) != NULL;
}

/* Does the character assign, step, or begin another statement? That depends on those beside it. */
static bool has_effect(const char *text, size_t at, struct text_span in)
{
	NVW_INVARIANT(in.from <= at && at < in.to);

	const char next = at + 1 < in.to ? text[at + 1] : ' ';

	switch (text[at]) {
	case '+':
	case '-':
		return next == text[at];
	case '=':
		return next != '=' && !compares(text, at, in);
	default:
		return strchr(";{}\"'?", text[at]) != NULL;
	}
}

/* Does a call of what may have an effect begin here? */
static bool is_impure_call(const char *text, size_t at, size_t begin)
{
	NVW_INVARIANT(begin <= at);
	if (!text_is_word(text[at]) || (at > begin && text_is_word(text[at - 1]))) {
		return false;
	}
	const size_t end = text_behind_word(text, at);

	return text[text_skip_space(text, end)] == '(' && !text_is_pure(text + at, end - at);
}

bool text_is_harmless(const char *text, struct text_span in)
{
	NVW_INVARIANT(in.from <= in.to);
	for (size_t i = in.from; i < in.to; i++) {
		if (has_effect(text, i, in) || is_impure_call(text, i, in.from)) {
			return false;
		}
	}
	return true;
}

size_t text_behind_name(const char *text, size_t at)
{
	if (isdigit((unsigned char)text[at])) {
		return at;
	}
	size_t end = text_behind_word(text, at);

	while (end > at && strncmp(text + end, "::", 2) == 0 && text_is_word(text[end + 2])) {
		end = text_behind_word(text, end + 2);
	}
	return end;
}

/* Behind the member or the element at next, which has been skipped to from at; at itself if there is none. */
static size_t behind_part(const char *text, size_t at, size_t next, size_t *ret_member)
{
	NVW_INVARIANT(at <= next);

	const bool arrow = strncmp(text + next, "->", 2) == 0;

	if (text[next] == '[') {
		const size_t end = text_behind_bracket(text, next);

		if (end == 0 || !text_is_harmless(text, (struct text_span){next, end})) {
			return at;
		}
		return end;
	}
	if (text[next] != '.' && !arrow) {
		return at;
	}
	const size_t name = text_skip_space(text, next + 1 + arrow), end = text_behind_name(text, name);

	if (end == name) {
		return at;
	}
	*ret_member = next;
	return end;
}

/* Behind the members and elements that come after a name or a bracket. */
static size_t behind_members(const char *text, size_t at, size_t *ret_member)
{
	for (;;) {
		const size_t end = behind_part(text, at, text_skip_space(text, at), ret_member);

		if (end == at) {
			return at;
		}
		at = end;
	}
}

/* Behind a variable or a call without an effect; at itself if neither is there. */
static size_t behind_variable(const char *text, size_t at)
{
	const size_t end = text_behind_name(text, at);

	if (end == at || text[end] != '(') {
		return end;
	}
	const size_t behind = text_behind_bracket(text, end);

	if (behind == 0 || !text_is_pure(text + at, end - at)) {
		return at;
	}
	return behind;
}

/* Behind casts, and then what they are of or, without that, the last bracket; 0: an effect is in one. */
static size_t behind_casts(const char *text, size_t at)
{
	while (text[at] == '(') {
		const size_t end = text_behind_bracket(text, at);

		if (end == 0 || !text_is_harmless(text, (struct text_span){at, end})) {
			return 0;
		}
		const size_t next = text_skip_space(text, end);

		if (!text_is_word(text[next]) && text[next] != '(') {
			return end;
		}
		at = next;
	}
	const size_t end = behind_variable(text, at);

	return end > at ? end : 0;
}

size_t text_behind_object(const char *text, size_t at, size_t *ret_member)
{
	const size_t begin = at;

	*ret_member = 0;
	while (text[at] == '*') {
		at = text_skip_space(text, at + 1);
	}
	at = behind_casts(text, at);
	return at ? behind_members(text, at, ret_member) : begin;
}

bool text_is_object(const char *text)
{
	size_t member;

	return text[text_behind_object(text, 0, &member)] == '\0';
}
