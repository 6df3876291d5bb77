/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text form of litmus tests, parsed by recursive descent (docs/litmus.md has the grammar). Table columns
 * are read by the same functions. words.c has words and names, operations.c the threads, outcome.c the
 * outcome.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/invariant.h"
#include "core/array.h"
#include "core/each.h"
#include "core/print.h"
#include "words.h"

/* ---- Parts ------------------------------------------------------------------------------------------ */

/* Whether another word follows, behind any of these characters. */
static bool has_more(struct litmus_reader *r, const char *between)
{
	r->at += strspn(r->at, between);
	return litmus_is_word(*r->at);
}

/* x=1 y=2, optionally with commas */
int litmus_take_init(struct litmus_reader *r)
{
	do {
		unsigned v;

		NVW_TRY(litmus_take_variable(r, &v));
		NVW_TRY(litmus_expect(r, "="));
		NVW_TRY(litmus_take_number(r, &r->test->variable[v].initial));
	} while (has_more(r, " \t,;"));
	return 0;
}

/* forbidden, allowed; in a persist test followed by the persistency models that it applies to */
/* The verdicts under the persistency models that are listed. */
static int take_models(struct litmus_reader *r, enum litmus_verdict verdict)
{
	static const char *const models[] = {
#define MACHINE_MODEL(id, symbol, name) name,
#define STATE_MODEL(id, symbol, name)
#include <persist/models.def>
#undef MACHINE_MODEL
#undef STATE_MODEL
		NULL};

	NVW_INVARIANT(verdict != LITMUS_UNSAID);
	while (has_more(r, " \t,")) {
		unsigned model;

		NVW_TRY(litmus_take_choice(
			r, models, "a persistency model: strict, epoch or buffered-epoch", &model));
		LITMUS_FAIL_IF(r, r->test->under[model], "a second verdict for %s", models[model]);
		r->test->under[model] = verdict;
	}
	return 0;
}

int litmus_take_verdict(struct litmus_reader *r)
{
	static const char *const verdicts[] = {"forbidden", "allowed", NULL};
	static const enum litmus_verdict said[] = {LITMUS_FORBIDDEN, LITMUS_ALLOWED};
	unsigned i;

	NVW_TRY(litmus_take_choice(r, verdicts, "forbidden or allowed", &i));
	NVW_INVARIANT(i < NVW_COUNT(said));
	if (!r->test->verdict) {
		r->test->verdict = said[i];
	}
	return take_models(r, said[i]);
}

int litmus_check_model(const struct litmus_reader *r)
{
	const char *near = NULL;

	if (litmus_model_is_known(r->test->model, &near)) {
		return 0;
	}
	LITMUS_FAIL_IF(r, near, "there is no memory model \"%.60s\"; did you mean %s?", r->test->model, near);
	return LITMUS_FAIL(
		r, "there is no memory model \"%.60s\"; docs/litmus.md lists them", r->test->model);
}

/* What the test lacks; NULL: nothing. */
static const char *missing_part(const struct litmus_test *t)
{
	const struct {
		bool is_there;
		const char *name;
	} parts[] = {
		{*t->model, "model (\"model none\" says that it has none)"},
		{t->thread_count, "thread"},
		{t->term_count, "outcome"},
		{t->verdict != LITMUS_UNSAID, "verdict"},
	};

	NVW_EACH_IN(part, parts) {
		if (!part->is_there) {
			return part->name;
		}
	}
	return NULL;
}

/* Registers and DRAM are lost in a crash. */
static bool is_lost(const struct litmus_term *term)
{
	return term->kind == LITMUS_TERM_REGISTER || term->kind == LITMUS_TERM_MEMORY;
}

static int check_terms(const struct litmus_reader *r, struct litmus_test *t)
{
	const bool is_persist = litmus_is_persist(t);

	NVW_EACH(term, t->term, t->term_count) {
		NVW_FAIL_IF(is_persist && is_lost(term), NVW_E_INPUT,
			"%s:%u: test %s: the outcome is over NVRAM after a crash: it may name only nvm: "
			"variables, since registers and DRAM are lost",
			r->file, t->line, t->name);
		if (term->kind == LITMUS_TERM_NVRAM) {
			t->variable[term->index].is_nvram = true;
		}
	}
	return 0;
}

static bool has_verdict_under_a_model(const struct litmus_test *t)
{
	NVW_EACH(under, t->under, LITMUS_PERSISTENCY_COUNT) {
		if (*under != LITMUS_UNSAID) {
			return true;
		}
	}
	return false;
}

int litmus_complete(struct litmus_reader *r)
{
	struct litmus_test *const t = r->test;
	const bool is_persist = litmus_is_persist(t), has_models = has_verdict_under_a_model(t);

	NVW_TRY(check_terms(r, t));
	NVW_FAIL_IF(has_models && !is_persist, NVW_E_INPUT,
		"%s:%u: test %s: a verdict under a persistency model needs an outcome over NVRAM (nvm:)",
		r->file, t->line, t->name);
	if (is_persist && !has_models) {
		t->under[LITMUS_EPOCH] = t->verdict;
	}
	const char *const missing = missing_part(t);

	NVW_FAIL_IF(missing, NVW_E_INPUT, "%s:%u: test %s has no %s", r->file, t->line, t->name, missing);
	return 0;
}

/* ---- The file form ---------------------------------------------------------------------------------- */

/* Takes the rest of the line. */
static int take_line(struct litmus_reader *r, char *text, size_t room)
{
	int n;

	r->at += strspn(r->at, " \t");
	n = (int)strcspn(r->at, "\n#");
	snprintf(text, room, "%.*s", n, r->at);
	r->at += n;
	for (n = (int)strlen(text); n && isspace((unsigned char)text[n - 1]); n--) {
		text[n - 1] = 0;
	}
	return *text ? 0 : litmus_expected(r, "text");
}

static int take_model(struct litmus_reader *r)
{
	NVW_TRY(take_line(r, r->test->model, sizeof r->test->model));
	return litmus_check_model(r);
}

static int take_note(struct litmus_reader *r)
{
	char note[8];

	return take_line(r, note, sizeof note);
}

static int take_racy(struct litmus_reader *r)
{
	r->test->is_racy = true;
	return 0;
}

static int take_nvram(struct litmus_reader *r)
{
	do {
		unsigned v;

		NVW_TRY(litmus_take_variable(r, &v));
		r->test->variable[v].is_nvram = true;
	} while (has_more(r, " \t,"));
	return 0;
}

static int take_outcome(struct litmus_reader *r)
{
	LITMUS_FAIL_IF(r, r->test->term_count, "test %s has a second outcome", r->test->name);
	return litmus_take_outcome(r);
}

static int take_part(struct litmus_reader *r)
{
	static const char *const names[] = {
		"model", "note", "init", "nvram", "outcome", "verdict", "racy", NULL};
	static int (*const takes[])(struct litmus_reader *) = {take_model, take_note, litmus_take_init,
		take_nvram, take_outcome, litmus_take_verdict, take_racy};
	unsigned i;

	if (*r->at == 'P' && isdigit((unsigned char)r->at[1])) {
		return litmus_take_threads(r);
	}
	NVW_TRY(litmus_take_choice(
		r, names, "a thread, or test, model, note, init, nvram, outcome, verdict or racy", &i));
	NVW_INVARIANT(i < NVW_COUNT(takes));
	return takes[i](r);
}

static bool at_test(const struct litmus_reader *r)
{
	return !strncmp(r->at, "test", 4) && !litmus_is_word(r->at[4]);
}

/* "test NAME" and its parts, up to the next test. */
static int take_test(struct litmus_reader *r)
{
	r->test->line = r->line;
	if (!at_test(r)) {
		return litmus_expected(r, "test NAME");
	}
	r->at += strlen("test");
	NVW_TRY(take_line(r, r->test->name, sizeof r->test->name));
	for (litmus_skip(r); *r->at && !at_test(r); litmus_skip(r)) {
		NVW_TRY(take_part(r));
	}
	return litmus_complete(r);
}

int litmus_list_add(struct litmus_list *list, const char *file, struct litmus_test **ret)
{
	NVW_ALLOCATED(NVW_ROOM(list->test, list->capacity, list->count + 1),
		"no memory for more than %u litmus tests", list->count);
	NVW_INVARIANT(list->count < list->capacity);
	*ret = &list->test[list->count];
	memset(*ret, 0, sizeof **ret);
	NVW_PRINT((*ret)->file, "%s", file);
	return 0;
}

int litmus_parse(const char *name, const char *text, struct litmus_list *list)
{
	struct litmus_reader r = {.file = name, .line = 1, .at = text};

	for (litmus_skip(&r); *r.at; litmus_skip(&r)) {
		NVW_TRY(litmus_list_add(list, name, &r.test));
		NVW_TRY(take_test(&r));
		list->count++;
	}
	return 0;
}

void litmus_list_free(struct litmus_list *list)
{
	free(list->test);
	*list = (struct litmus_list){0};
}
