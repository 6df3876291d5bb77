/* SPDX-License-Identifier: BSD-3-Clause */
/* The outcome that a litmus test asks about: terms, and their combinations. See parse.h. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "words.h"

enum { NESTING_MAX = 64 };

static int add_term(struct litmus_reader *r, struct litmus_term term)
{
	if (r->test->term_count == LITMUS_TERMS) {
		return nvw_fail(NVW_E_INPUT, "%s:%u: the outcome has more than %d terms", r->file, r->line,
			LITMUS_TERMS);
	}
	r->test->term[r->test->term_count++] = term;
	return 0;
}

/* 0:r0 */
static int take_register_term(struct litmus_reader *r)
{
	struct litmus_term term = {.kind = LITMUS_TERM_REGISTER};
	char name[LITMUS_WORD];
	int error = litmus_take_small(r, &term.thread), i;

	error = error ? error : litmus_expect(r, ":");
	error = error ? error : litmus_take_word(r, name, "a register");
	if (error) {
		return error;
	}
	if (term.thread >= r->test->thread_count) {
		return nvw_fail(NVW_E_INPUT,
			"%s:%u: the outcome names thread %u; the number of threads is %u", r->file, r->line,
			term.thread, r->test->thread_count);
	}
	i = litmus_find_register(&r->test->thread[term.thread], name);
	if (i < 0) {
		return nvw_fail(NVW_E_INPUT,
			"%s:%u: the outcome names register %s, which thread %u does not use", r->file,
			r->line, name, term.thread);
	}
	term.index = (unsigned)i;
	return add_term(r, term);
}

/* x, nvm:x */
static int take_memory_term(struct litmus_reader *r)
{
	struct litmus_term term = {.kind = litmus_accept(r, "nvm:") ? LITMUS_TERM_NVRAM : LITMUS_TERM_MEMORY};
	char name[LITMUS_WORD];
	const int error = litmus_take_word(r, name, "a variable, or thread:register");
	const int v = error ? -1 : litmus_find_variable(r->test, name);

	if (error) {
		return error;
	}
	if (v < 0) {
		return nvw_fail(NVW_E_INPUT, "%s:%u: the outcome names variable %s, which no thread uses",
			r->file, r->line, name);
	}
	term.index = (unsigned)v;
	return add_term(r, term);
}

static int take_comparison(struct litmus_reader *r)
{
	struct litmus_term number = {.kind = LITMUS_TERM_NUMBER};
	enum litmus_relation relation;
	int error;

	litmus_skip(r);
	error = isdigit((unsigned char)*r->at) ? take_register_term(r) : take_memory_term(r);
	error = error ? error : litmus_take_relation(r, &relation);
	error = error ? error : litmus_take_number(r, &number.number);
	error = error ? error : add_term(r, number);
	return error ? error :
		       add_term(r, (struct litmus_term){.kind = LITMUS_TERM_RELATION, .index = relation});
}

static int take_any(struct litmus_reader *r, unsigned depth);

static int take_one(struct litmus_reader *r, unsigned depth)
{
	int error;

	if (depth > NESTING_MAX) {
		return nvw_fail(NVW_E_INPUT, "%s:%u: the outcome is nested more than %d deep", r->file,
			r->line, NESTING_MAX);
	}
	if (litmus_accept(r, "!")) {
		error = take_one(r, depth + 1);
		return error ? error : add_term(r, (struct litmus_term){.kind = LITMUS_TERM_NOT});
	}
	if (litmus_accept(r, "(")) {
		error = take_any(r, depth + 1);
		return error ? error : litmus_expect(r, ")");
	}
	return take_comparison(r);
}

static int take_all(struct litmus_reader *r, unsigned depth)
{
	int error = take_one(r, depth);

	while (!error && litmus_accept(r, "&&")) {
		error = take_one(r, depth);
		error = error ? error : add_term(r, (struct litmus_term){.kind = LITMUS_TERM_AND});
	}
	return error;
}

static int take_any(struct litmus_reader *r, unsigned depth)
{
	int error = take_all(r, depth);

	while (!error && litmus_accept(r, "||")) {
		error = take_all(r, depth);
		error = error ? error : add_term(r, (struct litmus_term){.kind = LITMUS_TERM_OR});
	}
	return error;
}

int litmus_take_outcome(struct litmus_reader *r)
{
	const char *from;
	int error, n;

	litmus_skip(r);
	from = r->at;
	error = take_any(r, 0);
	for (n = (int)(r->at - from); n && isspace((unsigned char)from[n - 1]); n--) {
	}
	snprintf(r->test->outcome_text, sizeof r->test->outcome_text, "%.*s", n, from);
	for (char *c = r->test->outcome_text; *c; c++) {
		*c = isspace((unsigned char)*c) ? ' ' : *c;
	}
	return error;
}
