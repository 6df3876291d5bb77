/* SPDX-License-Identifier: BSD-3-Clause */
/* Words, numbers and names of litmus tests. See words.h. */
#include <ctype.h>
#include <string.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/print.h"
#include "words.h"
#include "core/each.h"

/* ---- Characters and words --------------------------------------------------------------------------- */

int litmus_expected(const struct litmus_reader *r, const char *what)
{
	const int n = (int)strcspn(r->at, " \t\r\n");

	LITMUS_FAIL_IF(r, !*r->at, "expected %s, found the end of the file", what);
	return LITMUS_FAIL(r, "expected %s, found \"%.*s\"", what, (int)nvw_min(24, nvw_max(n, 1)), r->at);
}

void litmus_skip(struct litmus_reader *r)
{
	for (;; r->at++) {
		if (*r->at == '#') {
			r->at += strcspn(r->at, "\n");
		}
		if (!isspace((unsigned char)*r->at)) {
			return;
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

	if (litmus_accept(r, text)) {
		return 0;
	}
	NVW_PRINT(what, "\"%s\"", text);
	return litmus_expected(r, what);
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
	LITMUS_FAIL_IF(
		r, n >= LITMUS_WORD, "\"%.20s...\" is longer than %d characters", r->at, LITMUS_WORD - 1);
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

static int add_digit(struct litmus_reader *r, int64_t *number)
{
	LITMUS_FAIL_IF(r,
		__builtin_mul_overflow(*number, 10, number) ||
			__builtin_add_overflow(*number, *r->at - '0', number),
		"the number is too large for 64 bits");
	return 0;
}

int litmus_take_number(struct litmus_reader *r, int64_t *ret)
{
	int64_t number = 0;

	if (!at_number(r)) {
		return litmus_expected(r, "a number");
	}
	const bool is_negative = *r->at == '-';

	for (r->at += is_negative; isdigit((unsigned char)*r->at); r->at++) {
		NVW_TRY(add_digit(r, &number));
	}
	*ret = number;
	if (is_negative) {
		*ret = -number;
	}
	return 0;
}

int litmus_take_small(struct litmus_reader *r, unsigned *ret)
{
	int64_t number = 0;

	NVW_TRY(litmus_take_number(r, &number));
	LITMUS_FAIL_IF(r, number < 0 || number > 255, "expected a number from 0 to 255, found %lld",
		(long long)number);
	*ret = (unsigned)number;
	return 0;
}

/* Whether the name comes next; a word only if it ends there. */
static bool at_name(const struct litmus_reader *r, const char *name)
{
	const size_t n = strlen(name);

	NVW_INVARIANT(n > 0);
	return !strncmp(r->at, name, n) && !(litmus_is_word(name[n - 1]) && litmus_is_word(r->at[n]));
}

int litmus_take_choice(struct litmus_reader *r, const char *const *names, const char *what, unsigned *ret)
{
	litmus_skip(r);
	for (unsigned i = 0; names[i]; i++) {
		if (at_name(r, names[i])) {
			r->at += strlen(names[i]);
			*ret = i;
			return 0;
		}
	}
	return litmus_expected(r, what);
}

/* ---- Names ------------------------------------------------------------------------------------------ */

int litmus_find_variable(const struct litmus_test *t, const char *name)
{
	NVW_INVARIANT(t->variable_count <= LITMUS_VARIABLES);
	NVW_FOR(v, t->variable_count) {
		if (!strcmp(t->variable[v].name, name)) {
			return (int)v;
		}
	}
	return -1;
}

static int add_variable(struct litmus_reader *r, const char name[LITMUS_WORD], unsigned *ret)
{
	struct litmus_test *const t = r->test;

	LITMUS_FAIL_IF(r, t->variable_count == LITMUS_VARIABLES, "more than %d variables", LITMUS_VARIABLES);
	*ret = t->variable_count++;
	memcpy(t->variable[*ret].name, name, LITMUS_WORD);
	return 0;
}

int litmus_take_variable(struct litmus_reader *r, unsigned *ret)
{
	char name[LITMUS_WORD];

	NVW_TRY(litmus_take_word(r, name, "a variable"));
	const int v = litmus_find_variable(r->test, name);

	if (v < 0) {
		return add_variable(r, name, ret);
	}
	*ret = (unsigned)v;
	return 0;
}

int litmus_find_register(const struct litmus_thread *t, const char *name)
{
	NVW_INVARIANT(t->register_count <= LITMUS_REGISTERS);
	NVW_FOR(i, t->register_count) {
		if (!strcmp(t->register_name[i], name)) {
			return (int)i;
		}
	}
	return -1;
}

static int add_register(struct litmus_reader *r, const char name[LITMUS_WORD], int *ret)
{
	struct litmus_thread *const t = r->thread;

	LITMUS_FAIL_IF(r, t->register_count == LITMUS_REGISTERS, "more than %d registers in a thread",
		LITMUS_REGISTERS);
	memcpy(t->register_name[t->register_count], name, LITMUS_WORD);
	*ret = (int)t->register_count++;
	return 0;
}

int litmus_take_register(struct litmus_reader *r, const char *what, int *ret)
{
	char name[LITMUS_WORD];

	NVW_TRY(litmus_take_word(r, name, what));
	*ret = litmus_find_register(r->thread, name);
	if (*ret >= 0 || !strcmp(name, "_")) {
		return 0;
	}
	return add_register(r, name, ret);
}

int litmus_take_source(struct litmus_reader *r, const char *what, int *ret)
{
	NVW_TRY(litmus_take_register(r, what, ret));
	LITMUS_FAIL_IF(r, *ret < 0, "_ has no value");
	return 0;
}

int litmus_take_value(struct litmus_reader *r, struct litmus_value *ret)
{
	ret->register_number = -1;
	if (at_number(r)) {
		return litmus_take_number(r, &ret->number);
	}
	return litmus_take_source(r, "a number or a register", &ret->register_number);
}

static const char *const relations[] = {
#define X(name, text) text,
	LITMUS_RELATIONS(X)
#undef X
		NULL};

int litmus_take_relation(struct litmus_reader *r, enum litmus_relation *ret)
{
	unsigned i;

	NVW_TRY(litmus_take_choice(r, relations, "one of == != <= >= < >", &i));
	*ret = (enum litmus_relation)i;
	return 0;
}
