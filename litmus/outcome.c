/* SPDX-License-Identifier: BSD-3-Clause */
/* The outcome that a litmus test asks about: terms, and their combinations. See parse.h. */
#include <ctype.h>
#include <string.h>

#include "core/invariant.h"
#include "core/print.h"
#include "words.h"

enum { NESTING_MAX = 64 };

static int add_term(struct litmus_reader *r, struct litmus_term term)
{
	LITMUS_FAIL_IF(
		r, r->test->term_count == LITMUS_TERMS, "the outcome has more than %d terms", LITMUS_TERMS);
	r->test->term[r->test->term_count++] = term;
	return 0;
}

static int add_operator(struct litmus_reader *r, enum litmus_term_kind kind)
{
	return add_term(r, (struct litmus_term){.kind = kind});
}

/* 0:r0 */
static int take_register_term(struct litmus_reader *r)
{
	struct litmus_term term = {.kind = LITMUS_TERM_REGISTER};
	char name[LITMUS_WORD];
	int i;

	NVW_TRY(litmus_take_small(r, &term.thread));
	NVW_TRY(litmus_expect(r, ":"));
	NVW_TRY(litmus_take_word(r, name, "a register"));
	LITMUS_FAIL_IF(r, term.thread >= r->test->thread_count,
		"the outcome names thread %u; the number of threads is %u", term.thread,
		r->test->thread_count);
	i = litmus_find_register(&r->test->thread[term.thread], name);
	LITMUS_FAIL_IF(
		r, i < 0, "the outcome names register %s, which thread %u does not use", name, term.thread);
	term.index = (unsigned)i;
	return add_term(r, term);
}

/* x, nvm:x */
static int take_memory_term(struct litmus_reader *r)
{
	struct litmus_term term = {.kind = litmus_accept(r, "nvm:") ? LITMUS_TERM_NVRAM : LITMUS_TERM_MEMORY};
	char name[LITMUS_WORD];

	NVW_TRY(litmus_take_word(r, name, "a variable, or thread:register"));
	const int v = litmus_find_variable(r->test, name);
	LITMUS_FAIL_IF(r, v < 0, "the outcome names variable %s, which no thread uses", name);
	term.index = (unsigned)v;
	return add_term(r, term);
}

static int take_comparison(struct litmus_reader *r)
{
	struct litmus_term number = {.kind = LITMUS_TERM_NUMBER};
	enum litmus_relation relation;

	litmus_skip(r);
	NVW_TRY(isdigit((unsigned char)*r->at) ? take_register_term(r) : take_memory_term(r));
	NVW_TRY(litmus_take_relation(r, &relation));
	NVW_TRY(litmus_take_number(r, &number.number));
	NVW_TRY(add_term(r, number));
	return add_term(r, (struct litmus_term){.kind = LITMUS_TERM_RELATION, .index = relation});
}

static int take_any(struct litmus_reader *r, unsigned depth);

static int take_one(struct litmus_reader *r, unsigned depth)
{
	LITMUS_FAIL_IF(r, depth > NESTING_MAX, "the outcome is nested more than %d deep", NESTING_MAX);
	if (litmus_accept(r, "!")) {
		NVW_TRY(take_one(r, depth + 1));
		return add_operator(r, LITMUS_TERM_NOT);
	}
	if (litmus_accept(r, "(")) {
		NVW_TRY(take_any(r, depth + 1));
		return litmus_expect(r, ")");
	}
	return take_comparison(r);
}

static int take_all(struct litmus_reader *r, unsigned depth)
{
	NVW_TRY(take_one(r, depth));
	while (litmus_accept(r, "&&")) {
		NVW_TRY(take_one(r, depth));
		NVW_TRY(add_operator(r, LITMUS_TERM_AND));
	}
	return 0;
}

static int take_any(struct litmus_reader *r, unsigned depth)
{
	NVW_TRY(take_all(r, depth));
	while (litmus_accept(r, "||")) {
		NVW_TRY(take_all(r, depth));
		NVW_TRY(add_operator(r, LITMUS_TERM_OR));
	}
	return 0;
}

/* The text as a line of a report. */
static void keep_text(struct litmus_test *test, const char *text, int n)
{
	NVW_INVARIANT(n >= 0);
	while (n && isspace((unsigned char)text[n - 1])) {
		n--;
	}
	NVW_PRINT(test->outcome_text, "%.*s", n, text);
	for (char *c = test->outcome_text; *c; c++) {
		if (isspace((unsigned char)*c)) {
			*c = ' ';
		}
	}
}

int litmus_take_outcome(struct litmus_reader *r)
{
	NVW_INVARIANT(r->test->term_count == 0);
	litmus_skip(r);
	const char *const from = r->at;

	NVW_TRY(take_any(r, 0));
	keep_text(r->test, from, (int)(r->at - from));
	return 0;
}
