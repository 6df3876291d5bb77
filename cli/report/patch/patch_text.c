/* SPDX-License-Identifier: BSD-3-Clause */
/* Words, brackets and arguments of C's text. See patch_text.h. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../words.h"
#include "core/bounds.h"
#include "core/invariant.h"

#include "patch_text.h"

/* The end of a comment or literal that begins here; at itself if none does. */
static size_t end_of_blank(const char *text, size_t at)
{
	const char quote = text[at];

	if (strncmp(text + at, "//", 2) == 0) {
		return at + strcspn(text + at, "\n");
	}
	if (strncmp(text + at, "/*", 2) == 0) {
		const char *const end = strstr(text + at + 2, "*/");

		return end ? (size_t)(end + 2 - text) : strlen(text);
	}
	if (quote != '"' && quote != '\'') {
		return at;
	}
	for (at++; text[at] != '\0' && text[at] != quote && text[at] != '\n'; at++) {
		at += text[at] == '\\' && text[at + 1] != '\0';
	}
	return at + (text[at] == quote);
}

static void blank_out(char *from, const char *to)
{
	NVW_INVARIANT(from <= to);
	for (; from < to; from++) {
		if (*from != '\n') {
			*from = ' ';
		}
	}
}

static void blank(char *code)
{
	for (size_t at = 0, end; code[at]; at = nvw_max(end, at + 1)) {
		end = end_of_blank(code, at);
		blank_out(code + at, code + end);
	}
}

void text_free(struct text *t)
{
	free(t->whole);
	free(t->code);
	*t = (struct text){0};
}

bool text_make(char *whole, size_t bytes, struct text *ret)
{
	*ret = (struct text){.whole = whole, .bytes = bytes};
	if (!whole || !(ret->code = strdup(whole))) {
		text_free(ret);
		return false;
	}
	blank(ret->code);
	return true;
}

bool text_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

size_t text_skip_space(const char *text, size_t at)
{
	return at + strspn(text + at, " \t\n");
}

size_t text_behind_word(const char *text, size_t at)
{
	while (text_is_word(text[at])) {
		at++;
	}
	return at;
}

size_t text_word_before(const char *text, size_t at)
{
	while (at > 0 && text_is_word(text[at - 1])) {
		at--;
	}
	return at;
}

static bool is_word_at(const char *text, const char *at, size_t n)
{
	return (at == text || !text_is_word(at[-1])) && !text_is_word(at[n]);
}

size_t text_find_word(const char *text, size_t from, const char *word)
{
	const size_t n = strlen(word);

	NVW_INVARIANT(n > 0);
	for (const char *at = text + from; (at = strstr(at, word)); at += n) {
		if (is_word_at(text, at, n)) {
			return (size_t)(at - text);
		}
	}
	return SIZE_MAX;
}

bool text_has_any(const char *text, struct text_span in, const char *const *parts)
{
	NVW_INVARIANT(in.from <= in.to);
	while (*parts && !memmem(text + in.from, in.to - in.from, *parts, strlen(*parts))) {
		parts++;
	}
	return *parts;
}

size_t text_behind_bracket(const char *text, size_t at)
{
	int depth = 0;

	NVW_INVARIANT(text[at] == '\0' || strchr("([{", text[at]));
	for (; text[at] != '\0'; at++) {
		depth += strchr("([{", text[at]) != NULL;
		depth -= strchr(")]}", text[at]) != NULL;
		if (depth == 0) {
			return at + 1;
		}
	}
	return 0;
}

struct text_arguments text_arguments(const char *text, size_t open)
{
	struct text_arguments a = {.behind = text_behind_bracket(text, open)};

	if (a.behind == 0) {
		return a;
	}
	a.span[0].from = open + 1;
	for (size_t at = open + 1; at < a.behind - 1; at++) {
		if (strchr("([{", text[at])) {
			at = text_behind_bracket(text, at) - 1;
		} else if (text[at] == ',' && a.count < TEXT_ARGUMENTS - 1) {
			a.span[a.count++].to = at;
			a.span[a.count].from = at + 1;
		}
	}
	a.span[a.count++].to = a.behind - 1;
	return a;
}

unsigned text_lines_between(const char *text, size_t a, size_t b)
{
	unsigned lines = 0;

	for (; a < b; a++) {
		lines += text[a] == '\n';
	}
	for (; b < a; b++) {
		lines += text[b] == '\n';
	}
	return lines;
}

bool text_copy(char ret[TEXT_EXPRESSION], const char *text, struct text_span from)
{
	NVW_INVARIANT(from.from <= from.to);

	const size_t begin = text_skip_space(text, from.from);
	size_t end = from.to;

	while (end > begin && isspace((unsigned char)text[end - 1])) {
		end--;
	}
	snprintf(ret, TEXT_EXPRESSION, "%.*s", (int)(end - begin), text + begin);
	return end > begin && end - begin < TEXT_EXPRESSION - 16 && !memchr(text + begin, '\n', end - begin);
}
