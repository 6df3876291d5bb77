/* SPDX-License-Identifier: BSD-3-Clause */
/* Words, numbers and names of litmus tests. See words.h. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

/* ---- Characters and words --------------------------------------------------------------------------- */

int litmus_expected(const struct litmus_reader *r, const char *what)
{
	const size_t n = strcspn(r->at, " \t\r\n");

	NVW_FAIL_IF(!*r->at, NVW_E_INPUT, "%s:%u: expected %s, found the end of the file", r->file, r->line,
		what);
	return nvw_fail(NVW_E_INPUT, "%s:%u: expected %s, found \"%.*s\"", r->file, r->line, what,
		n < 24 ? (int)n + !n : 24, r->at);
}

void litmus_skip(struct litmus_reader *r)
{
	for (; isspace((unsigned char)*r->at) || *r->at == '#'; r->at++) {
		if (*r->at == '#') {
			r->at += strcspn(r->at, "\n");
			if (!*r->at) {
				return;
			}
		}
		r->line += *r->at == '\n';
	}
}

bool litmus_accept(struct litmus_reader *r, const char *text)
{
	litmus_skip(r);
	if (strncmp(r->at, text, strlen(text))) {
		return false;
	}
	r->at += strlen(text);
	return true;
}

int litmus_expect(struct litmus_reader *r, const char *text)
{
	char what[32];

	snprintf(what, sizeof what, "\"%s\"", text);
	if (!litmus_accept(r, text)) {
		return litmus_expected(r, what);
	}
	return 0;
}

bool litmus_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

int litmus_take_word(struct litmus_reader *r, char word[LITMUS_WORD], const char *what)
{
	size_t n = 0;

	litmus_skip(r);
	if (isdigit((unsigned char)*r->at) || !litmus_is_word(*r->at)) {
		return litmus_expected(r, what);
	}
	while (litmus_is_word(r->at[n])) {
		n++;
	}
	NVW_FAIL_IF(n >= LITMUS_WORD, NVW_E_INPUT, "%s:%u: \"%.20s...\" is longer than %d characters",
		r->file, r->line, r->at, LITMUS_WORD - 1);
	memcpy(word, r->at, n);
	word[n] = 0;
	r->at += n;
	return 0;
}

static bool at_number(struct litmus_reader *r)
{
	litmus_skip(r);
	return isdigit((unsigned char)r->at[*r->at == '-']);
}

int litmus_take_number(struct litmus_reader *r, int64_t *ret)
{
	int64_t number = 0;
	bool is_negative;

	if (!at_number(r)) {
		return litmus_expected(r, "a number");
	}
	is_negative = *r->at == '-';
	for (r->at += is_negative; isdigit((unsigned char)*r->at); r->at++) {
		NVW_FAIL_IF(__builtin_mul_overflow(number, 10, &number) ||
				    __builtin_add_overflow(number, *r->at - '0', &number),
			NVW_E_INPUT, "%s:%u: the number is too large for 64 bits", r->file, r->line);
	}
	*ret = is_negative ? -number : number;
	return 0;
}

int litmus_take_small(struct litmus_reader *r, unsigned *ret)
{
	int64_t number = 0;

	NVW_TRY(litmus_take_number(r, &number));
	NVW_FAIL_IF(number < 0 || number > 255, NVW_E_INPUT,
		"%s:%u: expected a number from 0 to 255, found %lld", r->file, r->line, (long long)number);
	*ret = (unsigned)number;
	return 0;
}

int litmus_take_choice(struct litmus_reader *r, const char *const *names, const char *what)
{
	litmus_skip(r);
	for (int i = 0; names[i]; i++) {
		const size_t n = strlen(names[i]);

		if (!strncmp(r->at, names[i], n) &&
			!(litmus_is_word(names[i][n - 1]) && litmus_is_word(r->at[n]))) {
			r->at += n;
			return i;
		}
	}
	return litmus_expected(r, what);
}

/* ---- Names ------------------------------------------------------------------------------------------ */

int litmus_find_variable(const struct litmus_test *t, const char *name)
{
	for (unsigned v = 0; v < t->variable_count; v++) {
		if (!strcmp(t->variable[v].name, name)) {
			return (int)v;
		}
	}
	return -1;
}

int litmus_take_variable(struct litmus_reader *r, unsigned *ret)
{
	char name[LITMUS_WORD];
	struct litmus_test *const t = r->test;

	NVW_TRY(litmus_take_word(r, name, "a variable"));
	int v = litmus_find_variable(t, name);
	NVW_FAIL_IF(v < 0 && t->variable_count == LITMUS_VARIABLES, NVW_E_INPUT,
		"%s:%u: more than %d variables", r->file, r->line, LITMUS_VARIABLES);
	if (v < 0) {
		v = (int)t->variable_count++;
		memcpy(t->variable[v].name, name, sizeof name);
	}
	*ret = (unsigned)v;
	return 0;
}

int litmus_find_register(const struct litmus_thread *t, const char *name)
{
	for (unsigned i = 0; i < t->register_count; i++) {
		if (!strcmp(t->register_name[i], name)) {
			return (int)i;
		}
	}
	return -1;
}

int litmus_take_register(struct litmus_reader *r, struct litmus_thread *t, const char *what, int *ret)
{
	char name[LITMUS_WORD];

	NVW_TRY(litmus_take_word(r, name, what));
	*ret = litmus_find_register(t, name);
	if (*ret >= 0 || !strcmp(name, "_")) {
		return 0;
	}
	NVW_FAIL_IF(t->register_count == LITMUS_REGISTERS, NVW_E_INPUT,
		"%s:%u: more than %d registers in a thread", r->file, r->line, LITMUS_REGISTERS);
	memcpy(t->register_name[t->register_count], name, sizeof name);
	*ret = (int)t->register_count++;
	return 0;
}

int litmus_take_source(struct litmus_reader *r, struct litmus_thread *t, const char *what, int *ret)
{
	NVW_TRY(litmus_take_register(r, t, what, ret));
	NVW_FAIL_IF(*ret < 0, NVW_E_INPUT, "%s:%u: _ has no value", r->file, r->line);
	return 0;
}

int litmus_take_value(struct litmus_reader *r, struct litmus_thread *t, struct litmus_value *ret)
{
	ret->register_number = -1;
	if (at_number(r)) {
		return litmus_take_number(r, &ret->number);
	}
	return litmus_take_source(r, t, "a number or a register", &ret->register_number);
}

static const char *const relations[] = {
#define X(name, text) text,
	LITMUS_RELATIONS(X)
#undef X
		NULL};

int litmus_take_relation(struct litmus_reader *r, enum litmus_relation *ret)
{
	const int i = litmus_take_choice(r, relations, "one of == != <= >= < >");

	if (i < 0) {
		return i;
	}
	*ret = (enum litmus_relation)i;
	return 0;
}
