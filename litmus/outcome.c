/* SPDX-License-Identifier: BSD-3-Clause */
/* The outcome that a litmus test asks about: terms, and their combinations. See parse.h. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "words.h"

enum { NESTING_MAX = 64 };

static int add_term(struct litmus_reader *r, struct litmus_term term)
{
	NVW_FAIL_IF(r->test->term_count == LITMUS_TERMS, NVW_E_INPUT,
		"%s:%u: the outcome has more than %d terms", r->file, r->line, LITMUS_TERMS);
	r->test->term[r->test->term_count++] = term;
	return 0;
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
	NVW_FAIL_IF(term.thread >= r->test->thread_count, NVW_E_INPUT,
		"%s:%u: the outcome names thread %u; the number of threads is %u", r->file, r->line,
		term.thread, r->test->thread_count);
	i = litmus_find_register(&r->test->thread[term.thread], name);
	NVW_FAIL_IF(i < 0, NVW_E_INPUT, "%s:%u: the outcome names register %s, which thread %u does not use",
		r->file, r->line, name, term.thread);
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
	NVW_FAIL_IF(v < 0, NVW_E_INPUT, "%s:%u: the outcome names variable %s, which no thread uses", r->file,
		r->line, name);
	term.index = (unsigned)v;
	return add_term(r, term);
}

static int take_comparison(struct litmus_reader *r)
{
	struct litmus_term number = {.kind = LITMUS_TERM_NUMBER};
	enum litmus_relation relation;

	litmus_skip(r);
	if (isdigit((unsigned char)*r->at)) {
		NVW_TRY(take_register_term(r));
	} else {
		NVW_TRY(take_memory_term(r));
	}
	NVW_TRY(litmus_take_relation(r, &relation));
	NVW_TRY(litmus_take_number(r, &number.number));
	NVW_TRY(add_term(r, number));
	return add_term(r, (struct litmus_term){.kind = LITMUS_TERM_RELATION, .index = relation});
}

static int take_any(struct litmus_reader *r, unsigned depth);

static int take_one(struct litmus_reader *r, unsigned depth)
{
	NVW_FAIL_IF(depth > NESTING_MAX, NVW_E_INPUT, "%s:%u: the outcome is nested more than %d deep",
		r->file, r->line, NESTING_MAX);
	if (litmus_accept(r, "!")) {
		NVW_TRY(take_one(r, depth + 1));
		return add_term(r, (struct litmus_term){.kind = LITMUS_TERM_NOT});
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
		NVW_TRY(add_term(r, (struct litmus_term){.kind = LITMUS_TERM_AND}));
	}
	return 0;
}

static int take_any(struct litmus_reader *r, unsigned depth)
{
	NVW_TRY(take_all(r, depth));
	while (litmus_accept(r, "||")) {
		NVW_TRY(take_all(r, depth));
		NVW_TRY(add_term(r, (struct litmus_term){.kind = LITMUS_TERM_OR}));
	}
	return 0;
}

int litmus_take_outcome(struct litmus_reader *r)
{
	const char *from;
	int n;

	litmus_skip(r);
	from = r->at;
	NVW_TRY(take_any(r, 0));
	for (n = (int)(r->at - from); n && isspace((unsigned char)from[n - 1]); n--) {
	}
	snprintf(r->test->outcome_text, sizeof r->test->outcome_text, "%.*s", n, from);
	for (char *c = r->test->outcome_text; *c; c++) {
		if (isspace((unsigned char)*c)) {
			*c = ' ';
		}
	}
	return 0;
}
